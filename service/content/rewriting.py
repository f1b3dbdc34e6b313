"""Owns how values are changed in the text of a content file: what is not changed stays as its author wrote it, with its
comments, its order and its quotes.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import yaml

from service.content.fields import Key
from service.content.files import Unreadable, node_of, values_of

MOST_EDITS = 200
"""How many places of a file are changed at once."""

_Edit = tuple[int, int, str]
"""From which letter to which is replaced, and by what."""
_Span = tuple[int, int]
_WORD = re.compile(r"[a-z_][A-Za-z0-9_./-]*")
"""A text that YAML needs no quotes for, as ids and keys are written."""
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""Half of a letter in JSON, which YAML does not know."""


class _Dumper(yaml.SafeDumper):
    """Writes as an author would: no references (``&id001``), lists indented, texts in double quotes or as blocks."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow)

    def text(self, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None if _WORD.fullmatch(text) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.text)


def as_yaml(values: Any, *, in_one_line: bool = False) -> str:
    """As an author would write it."""
    how: dict[str, Any] = {"Dumper": _Dumper, "allow_unicode": True, "sort_keys": False, "width": 10**9}
    return str(yaml.dump(values, default_flow_style=in_one_line, **how))


def rewritten(text: str, suffix: str, key: Key, value: object) -> str:
    """The text of a file of that suffix, changed so that it says that value at that key.

    Raises:
        Unreadable: it is no JSON or YAML; or it cannot be changed so, as where it has references (``*id``).
    """
    values, line_break = values_of(text, suffix), "\r\n" if "\r\n" in text else "\n"
    wanted = _with(values, key, value)
    for _ in range(MOST_EDITS):
        if values == wanted:
            return text
        try:
            start, end, new = _Text(text, suffix == ".json").edit(values, wanted)
            text = text[:start] + re.sub(r"\r?\n", line_break, new) + text[end:]
            values = values_of(text, suffix)
        except (Unreadable, yaml.YAMLError, LookupError) as exc:
            raise Unreadable("content.not_rewritten") from exc
    raise Unreadable("content.not_rewritten")


def _with(values: Any, key: Key, value: object) -> Any:
    """The values with another one at that key."""
    if not key:
        return value
    step, *rest = key
    inside = values.items() if isinstance(values, dict) else enumerate(values)
    changed = {name: _with(one, tuple(rest), value) if name == step else one for name, one in inside}
    return changed if isinstance(values, dict) else [*changed.values()]


class _Text:
    """The text of a file, and where in it its values stand."""

    def __init__(self, text: str, is_json: bool) -> None:
        self._text, self._is_json = text, is_json
        self._root = node_of(_HALF.sub(r"\\u0041", text) if is_json else text)

    def edit(
        self, old: Any, new: Any, node: yaml.Node | None = None, above: yaml.CollectionNode | None = None
    ) -> _Edit:
        """The first edit on the way from the old values, which the node (None: all of the text) says, to the new ones.

        Raises: LookupError: it has none.
        """
        node = node or self._root
        found: _Edit | None = None
        if new and isinstance(node, yaml.MappingNode) and isinstance(old, dict) and isinstance(new, dict):
            found = self._in_mapping(node, old, new)
        elif new and isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list):
            found = self._in_list(node, old, new)
        return found or self._instead(node, new, above)

    def _in_mapping(self, node: yaml.MappingNode, old: Mapping[str, Any], new: Mapping[str, Any]) -> _Edit | None:
        spans = [(key.start_mark.index, self._end(value)) for key, value in node.value]
        for place, (key, value) in enumerate(node.value):
            if key.value not in new:
                return self._without(node, spans, place)
            if old[key.value] != new[key.value]:
                return self.edit(old[key.value], new[key.value], value, node)
        added = {name: value for name, value in new.items() if name not in old}
        name = next(iter(added))
        return self._with(node, spans, len(spans), {name: added[name]})

    def _in_list(self, node: yaml.SequenceNode, old: Sequence[Any], new: Sequence[Any]) -> _Edit | None:
        spans = [(self._begin(node, item), self._end(item)) for item in node.value]
        told, wanted = ([json.dumps(one, default=str, sort_keys=True) for one in side] for side in (old, new))
        matched = SequenceMatcher(None, told, wanted, autojunk=False)
        kind, place, _, other, _ = next(one for one in matched.get_opcodes() if one[0] != "equal")
        if kind == "replace":
            return self.edit(old[place], new[other], node.value[place], node)
        if kind == "delete":
            return self._without(node, spans, place)
        return self._with(node, spans, place, [new[other]])

    def _without(self, node: yaml.CollectionNode, spans: Sequence[_Span], place: int) -> _Edit | None:
        """Take an entry out; None: it shares its line with something that stays, or is the only one."""
        start, end = spans[place]
        if len(spans) == 1:
            return None
        if node.flow_style:
            is_last = place == len(spans) - 1
            return (spans[place - 1][1], end, "") if is_last else (start, spans[place + 1][0], "")
        begin = self._line(start)
        return None if self._text[begin:start].strip() else (begin, self._next_line(end), "")

    def _with(self, node: yaml.CollectionNode, spans: Sequence[_Span], place: int, entry: Any) -> _Edit | None:
        """Put an entry, in a mapping or list of its own, before the one at that place; None: there is none to tell how
        it is written.
        """
        if not spans:
            return None
        if node.flow_style:
            lead, piece = self._text[node.start_mark.index + 1 : spans[0][0]], self._flow(entry)[1:-1]
            space = lead if "\n" in lead and lead.isspace() else " "
            at = spans[place - 1][1] if place else spans[0][0]
            return (at, at, f",{space}{piece}" if place else f"{piece},{space}")
        at = self._next_line(spans[place - 1][1]) if place else self._line(spans[0][0])
        before = "" if self._text[:at].endswith("\n") or at == 0 else "\n"
        return (at, at, before + _block(entry, node))

    def _instead(self, node: yaml.Node, new: Any, above: yaml.CollectionNode | None) -> _Edit:
        """Write another value in the place of the node's."""
        if above is None:
            raise LookupError("a file is a mapping")
        start, end = node.start_mark.index, self._end(node)
        if above.flow_style:
            return (start, end, self._flow(new))
        is_mapping = isinstance(above, yaml.MappingNode)
        column = above.start_mark.column
        piece = _block({"x": new} if is_mapping else [new], above)[column + (2 if is_mapping else 1) :].rstrip("\n")
        if start < end and "\n" not in piece and isinstance(node, yaml.ScalarNode):
            return (start, end, piece.strip())
        before = self._text[:start].rstrip()
        if not before.endswith((":", "-")):
            raise LookupError("a comment stands in the way")
        return (len(before), end, piece)

    def _begin(self, node: yaml.SequenceNode, item: yaml.Node) -> int:
        """Where an entry of the list begins: at its dash."""
        at: int = item.start_mark.index
        return at if node.flow_style else self._text.rindex("-", 0, at)

    def _end(self, node: yaml.Node) -> int:
        """Where the last letter of a value stands; the parser counts what follows a block to it."""
        if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        end: int = node.end_mark.index
        is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        return len(self._text[:end].rstrip()) if is_block else end

    def _line(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        return self._text.find("\n", at) + 1 or len(self._text)

    def _flow(self, value: Any) -> str:
        """In one line."""
        if self._is_json:
            return json.dumps(value, ensure_ascii=False)
        return as_yaml([value], in_one_line=True).strip()[1:-1]


def _block(entry: Any, node: yaml.CollectionNode) -> str:
    """Lines of YAML, indented as the entries of the node are."""
    return textwrap.indent(as_yaml(entry), " " * node.start_mark.column)
