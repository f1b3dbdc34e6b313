"""Owns the sandbox in which a game's own templates are rendered: a slip of their author's must not take all memory, or
all time.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import count
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import do_format
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

LARGEST = 1_000_000
"""Letters, entries, rounds of all loops together, or a number that something is repeated by."""


class BoundedSandbox(SandboxedEnvironment):
    """Renders a game's own templates: none of them makes a text, a list or loops beyond what a prompt could hold."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=_small, **options)
        self.filters = {name: _bounded(one) for name, one in self.filters.items()} | {"_counted": _counted}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = _Bounding().visit(super()._parse(source, name, filename))
        return parsed

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Raises: SecurityError: what comes of it is too large."""
        sizes = [len(one) if isinstance(one, str | list | tuple) else one for one in (left, right)]
        of_numbers = all(isinstance(one, int | float) for one in sizes)
        if operator == "%" and isinstance(left, str):
            _require_small(*map(int, re.findall(r"\d+", left)), *([right] if "*" in left else []))
        elif operator == "**":
            _require_small(*(10 * abs(one) ** 2 for one in sizes if isinstance(one, int)))
        elif operator == "*" and of_numbers and (left, right) != tuple(sizes):
            _require_small(math.prod(sizes))
        return _small(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Raises: SecurityError: it is to pad too far."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            _require_small(*map(int, re.findall(r"\d+", value.__self__)))
        return wrapped

    def call(self, context: Context, called: Any, *args: Any, **named: Any) -> Any:
        """Raises: SecurityError: it is to count or to pad too far."""
        _require_small(*args, *named.values())
        return _small(super().call(context, called, *args, **named))


class _Bounding(NodeTransformer):
    """Makes of a template one whose joined texts and loops pass through filters, which are bounded."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - jinja's own name
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja's own name
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_counted")
        return node


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


@pass_context
def _counted(context: Context, several: Iterable[Any]) -> Iterator[Any]:
    """Raises: SecurityError: all loops of the template together have gone round too often."""
    rounds = context.parent.setdefault("_rounds", count())
    for one in several:
        _require_small(next(rounds))
        yield one


def _bounded(work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def run(*args: Any, **named: Any) -> Any:
        _require_small(*args, *named.values())
        widths = re.findall(r"\d+", args[0]) if work is do_format and args else ()
        _require_small(*map(int, widths))
        return _small(work(*args, **named))

    return run


def _small(made: Any) -> Any:
    """What was made. Raises: SecurityError: it is too large."""
    if isinstance(made, str | list | tuple):
        _require_small(len(made))
    return made


def _require_small(*sizes: Any) -> None:
    """Raises: SecurityError."""
    if any(isinstance(one, int | float) and abs(one) > LARGEST for one in sizes):
        raise SecurityError(f"no text or number of more than {LARGEST} is made in a template")
