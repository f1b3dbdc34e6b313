"""Owns which tests must run in one process: those that share a server or a module's fixture, so that it is made once.

`pytest -n` with `--dist loadgroup` deals the groups first, the biggest before the others, then all other tests one by
one.
"""

import pytest

# PostgreSQL is not among them: it starts in seconds, and its tests are too many for one process.
SHARED = ("neo4j_server", "smollm2", "chromium_browser")


@pytest.hookimpl(tryfirst=True)  # before xdist writes the groups into the names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test that shares something its group, and let those marked `long` begin first."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.no_cover)
        group = _group(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str | None:
    names = getattr(item, "fixturenames", ())
    server = next((name for name in SHARED if name in names), None)
    return server or _module(item)


def _module(item: pytest.Item) -> str | None:
    info = getattr(item, "_fixtureinfo", None)
    definitions = info.name2fixturedefs.values() if info is not None else ()
    shares = any(definition[-1].scope == "module" for definition in definitions if definition)
    return item.nodeid.partition("::")[0] if shares else None
