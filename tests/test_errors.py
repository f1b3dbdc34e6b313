"""Owns the test that the error tree is drawn as it is."""

import inspect
import re

import service.errors
import world.errors
from service.errors import KataribeError
from world.errors import WorldError


def drawn(text: str) -> list[tuple[int, str, str]]:
    """Each line of a drawn tree: how deep it stands, the error, and its status."""
    found = re.finditer(r"^((?:│   |    )*)[├└]── (\w+) +(\d{3})?", text, re.MULTILINE)
    return [(len(line[1]) // 4, line[2], line[3] or "") for line in found]


def declared(error: type[Exception], module: str, depth: int = 0) -> list[tuple[int, str, str]]:
    """The same of the classes, in the order in which they stand."""
    found = list[tuple[int, str, str]]()
    for one in sorted(error.__subclasses__(), key=lambda one: inspect.getsourcelines(one)[1]):
        if one.__module__ == module:
            status = str(one.status) if issubclass(one, KataribeError) else ""
            found += [(depth, one.__name__, status), *declared(one, module, depth + 1)]
    return found


def test_the_errors_of_the_service_are_drawn_as_they_are() -> None:
    assert sorted(drawn(service.errors.__doc__ or "")) == sorted(declared(KataribeError, "service.errors"))


def test_the_errors_of_the_world_are_drawn_as_they_are() -> None:
    assert drawn(world.errors.__doc__ or "") == declared(WorldError, "world.errors")
