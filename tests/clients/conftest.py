"""What the tests of clients may ask for."""

from collections.abc import Iterator

import pytest

from service.app import create_app
from service.content.files import bundled_content
from tests.api.play import serve, settings_for


@pytest.fixture(scope="module")
def village_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The sample village, as a rehearsal, on a real uvicorn."""
    settings = settings_for(tmp_path_factory.mktemp("village"), bundled_content(), llm={"provider": "rehearsal"})
    with serve(create_app(settings)) as url:
        yield url
