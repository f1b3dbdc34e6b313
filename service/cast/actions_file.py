"""Owns the form of actions.json as an author writes it, and the way from there to what the world's core reads."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, Strict

from service.cast.files import (
    Minutes,
    NotEmpty,
    Number,
    OpenHours,
    Ref,
    Slug,
    Text,
    Written,
    expected,
    number_up_to,
)
from world.actions import BUILT_IN

_MOST_SEATS = 1_000_000


def _amount(value: object) -> object:
    if number_up_to(value, least=0):
        return value
    raise expected(
        "a number of 0 or more (what is gained goes under effects)", "0 以上の数(増える分は effects に書きます)"
    )


def _action_id(value: object) -> object:
    if isinstance(value, str) and value in BUILT_IN:
        names = ", ".join(sorted(BUILT_IN))
        raise expected(f"an id of its own, for {names} are built in", f"組み込みの名前({names})ではないid")
    return value


def _bounds(value: object) -> object:
    if value == {}:
        raise expected('"atLeast", "atMost" or both', '"atLeast" か "atMost" か、その両方')
    return value


def _in_both(text: Text) -> dict[str, str]:
    return {"en": text.of("en"), "ja": text.of("ja")}


Name = Annotated[Text, PlainSerializer(_in_both)]
Levels = dict[Ref, Number]
Switch = Annotated[bool, Strict()]


class NeedEntry(Written):
    """Something a character has more or less of."""

    id: Slug
    name: Name
    lowest: Number = 0.0
    highest: Number = 100.0
    start: Number
    critical: Number | None = None
    drift_per_hour: Number = 0.0


class BoundsEntry(Written):
    """A precondition on one need."""

    at_least: Number = float("-inf")
    at_most: Number = float("inf")


class ActionEntry(Written):
    """Something a character can do. `hours` left out: at any time."""

    id: Annotated[Slug, BeforeValidator(_action_id)]
    name: Name
    where: Literal["facility", "home", "anywhere"] = "facility"
    tags: tuple[Slug, ...] = ()
    minutes: Minutes
    seats: Annotated[int, Strict(), Field(ge=1, le=_MOST_SEATS)] | None = None
    hours: Annotated[tuple[OpenHours, ...], NotEmpty] = ()
    requires: dict[Ref, Annotated[BoundsEntry, BeforeValidator(_bounds)]] = {}
    cost: dict[Ref, Annotated[Number, BeforeValidator(_amount)]] = {}
    effects: Levels = {}
    interruptible: Switch = True
    ends_day: Switch = False


class TalkEntry(Written):
    """What talking does to needs."""

    effects_per_hour: Levels = {}


class ActionsFile(Written):
    """actions.json."""

    needs: tuple[NeedEntry, ...]
    talk: TalkEntry = TalkEntry()
    actions: Annotated[tuple[ActionEntry, ...], NotEmpty]

    def plain(self) -> dict[str, Any]:
        """As `world.actions.read_catalogue` reads it: every name in both languages."""
        return self.model_dump(by_alias=True, exclude_unset=True)
