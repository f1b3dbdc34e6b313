"""What the tests of the HTTP surface may ask for: a village, a script, and clients of the app that plays it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.locales import Language
from tests.api.play import serve, settings_for, write_village
from tests.scripted_model import ScriptedModel
from tests.servers import NO_AUTHORITIES


@pytest.fixture(scope="session")
def millbrook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content directory of the small village."""
    return write_village(tmp_path_factory.mktemp("millbrook"))


@pytest.fixture
def language() -> Language:
    """The language of new worlds; a test may parametrize it."""
    return "en"


@pytest.fixture
def app(tmp_path: Path, millbrook: Path, script: ScriptedModel, language: Language) -> FastAPI:
    """The service, with `script` speaking for everybody."""
    settings = settings_for(tmp_path, millbrook, language=language)
    return create_app(settings, models=Models(dict.fromkeys(ROLES, script)))


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of the app, in process."""
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


@pytest.fixture
def url(app: FastAPI) -> Iterator[str]:
    """The address of the app on a real uvicorn."""
    with serve(app) as address:
        yield address


Connect = Callable[[], httpx.Client]


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """Makes clients of the app on a real uvicorn, each with connections of its own."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(
            httpx.Client(base_url=url, timeout=20, trust_env=False, verify=NO_AUTHORITIES)
        )
