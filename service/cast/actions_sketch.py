"""Owns what can be made out in actions.json where its form may be wrong: needs, actions, and what they name."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from service.cast.actions_file import ActionEntry, NeedEntry
from service.cast.files import Written, number_up_to
from service.cast.problem import Key
from service.cast.read import Document
from service.cast.sketch import Reference, mappings, text
from world.actions import Where

ACTIONS_FILE = "actions.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class NeedSketch:
    """A need. A number that could not be made out, or is not there, is None."""

    key: Key
    id: str | None
    lowest: float | None
    highest: float | None
    start: float | None
    critical: float | None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest, if both could be made out and are the right way round."""
        if self.lowest is None or self.highest is None or self.highest <= self.lowest:
            return None
        return self.lowest, self.highest


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """What an action asks of a need: a level from `least` to `most`, or a cost."""

    need: Reference
    least: float | None
    most: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionSketch:
    """An action. `where`, `tags` and `ends_day` are None where they could not be made out."""

    key: Key
    id: str | None
    where: Where | None
    tags: tuple[str, ...] | None
    seated: bool
    named: tuple[Reference, ...]
    demands: tuple[Demand, ...]
    ends_day: bool | None

    def fits(self, tags: frozenset[str] | None) -> bool:
        """Whether a facility with the tags is the place for it, or may be."""
        return tags is None or self.tags is None or not tags.isdisjoint(self.tags)


@dataclass(frozen=True, kw_only=True)
class ActionsSketch:
    """actions.json. Not `own`: the bundled one. `talk`: the needs that talking names. `clear_needs`, `clear_actions`:
    every one of them could be made out.
    """

    own: bool
    needs: tuple[NeedSketch, ...]
    actions: tuple[ActionSketch, ...]
    talk: tuple[Reference, ...]
    clear_needs: bool
    clear_actions: bool


def sketch_actions(document: Document, *, own: bool) -> ActionsSketch:
    """What can be made out in actions.json."""
    root = document.data if isinstance(document.data, dict) else {}
    needs = tuple(_need(key, entry) for key, entry in mappings(root.get("needs"), ("needs",)))
    actions = tuple(_action(key, entry) for key, entry in mappings(root.get("actions"), ("actions",)))
    talk = root.get("talk")
    return ActionsSketch(
        own=own,
        needs=needs,
        actions=actions,
        talk=tuple(_keys(talk, ("talk",), "effectsPerHour")) if isinstance(talk, dict) else (),
        clear_needs=_clear(root.get("needs"), [need.id for need in needs]),
        clear_actions=_clear(root.get("actions"), [action.id for action in actions]),
    )


def _clear(entries: object, ids: list[str | None]) -> bool:
    return isinstance(entries, list) and len(entries) == len(ids) and None not in ids


def _need(key: Key, entry: dict[object, object]) -> NeedSketch:
    known = _known(NeedEntry, entry)
    return NeedSketch(
        key=key,
        id=text(entry, "id"),
        lowest=_number(entry, "lowest", 0.0 if known else None),
        highest=_number(entry, "highest", 100.0 if known else None),
        start=_number(entry, "start", None),
        critical=_number(entry, "critical", None),
    )


def _action(key: Key, entry: dict[object, object]) -> ActionSketch:
    known = _known(ActionEntry, entry)
    where = entry.get("where", Where.FACILITY if known else None)
    tags = entry.get("tags", [] if known else None)
    readable = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    ends_day = entry.get("endsDay", False if known else None)
    requires, cost = entry.get("requires"), entry.get("cost")
    return ActionSketch(
        key=key,
        id=text(entry, "id"),
        where=Where(where) if isinstance(where, str) and where in set(Where) else None,
        tags=tuple(tags) if readable and isinstance(tags, list) else None,
        seated=entry.get("seats") is not None,
        named=tuple(ref for name in ("requires", "cost", "effects") for ref in _keys(entry, key, name)),
        demands=(
            *(_bounds(requires, ref) for ref in _keys(entry, key, "requires")),
            *(_price(cost, ref) for ref in _keys(entry, key, "cost")),
        ),
        ends_day=ends_day if isinstance(ends_day, bool) else None,
    )


def _bounds(requires: object, ref: Reference) -> Demand:
    bounds = requires.get(ref.id) if isinstance(requires, dict) else None
    if not isinstance(bounds, dict):
        return Demand(need=ref, least=None)
    return Demand(need=ref, least=_number(bounds, "atLeast", -math.inf), most=_number(bounds, "atMost", math.inf))


def _price(cost: object, ref: Reference) -> Demand:
    return Demand(need=ref, least=_number(cost, ref.id or "", None) if isinstance(cost, dict) else None)


def _known(model: type[Written], entry: dict[object, object]) -> bool:
    """Whether every key is known. If not, a key that is not there may be the one that was misspelt."""
    return entry.keys() <= {field.alias for field in model.model_fields.values()}


def _number(entry: dict[object, object], name: str, default: float | None) -> float | None:
    value = entry.get(name, default)
    return float(value) if isinstance(value, int | float) and (number_up_to(value) or value is default) else None


def _keys(entry: dict[object, object], key: Key, name: str) -> Iterator[Reference]:
    """The ids that a mapping from ids names."""
    named = entry.get(name)
    for item in named if isinstance(named, dict) else ():
        if isinstance(item, str):
            yield Reference(key=(*key, name, item), id=item)
