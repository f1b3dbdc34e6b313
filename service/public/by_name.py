"""Owns how the Python API is imported: a name's own module only when the name is first asked for (PEP 562)."""

import ast
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def by_name(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose imports stand under ``if TYPE_CHECKING``: it makes the one that is needed,
    so that `kataribe check` does not wait for what talks need.
    """
    tree = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    froms = [node for node in tree if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    homes = {one.asname or one.name: (str(node.module), one.name) for node in froms for one in node.names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, own_name = homes[name]
        found = getattr(import_module(home), own_name)
        setattr(sys.modules[module], name, found)
        return found

    return find
