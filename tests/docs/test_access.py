"""docs/reliability.md says which key opens what, as the service itself asks."""

from tests.docs.access import FILE, page


def test_the_table_of_access_is_the_one_that_the_service_goes_by() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.access"
