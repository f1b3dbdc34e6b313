"""actions.json: its form, and the world's catalogue made of it."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from service.content.fields import (
    LARGEST_NUMBER,
    ContentModel,
    ListOf,
    Minutes,
    NonEmpty,
    Number,
    OpenHours,
    Slug,
    Text,
    refusal,
)
from service.locales import Language
from world.actions import BUILT_IN, ActionDef, Between, Catalogue, Where
from world.needs import Need, Needs
from world.places import ALWAYS_OPEN

_MOST_SEATS = 1_000_000


def _own(action_id: str) -> str:
    if action_id in BUILT_IN:
        raise refusal("built_in")
    return action_id


def _bounded(value: object) -> object:
    if value == {}:
        raise refusal("no_bounds")
    return value


Cost = Annotated[float, Field(ge=0, le=LARGEST_NUMBER, allow_inf_nan=False)]


class NeedEntry(ContentModel):
    """Something a character has more or less of."""

    id: Slug
    name: Text
    lowest: Number = 0.0
    highest: Number = 100.0
    start: Number
    critical: Number | None = None
    drift_per_hour: Number = 0.0


class BoundsEntry(ContentModel):
    """A precondition on one need."""

    at_least: Number = float("-inf")
    at_most: Number = float("inf")


class ActionEntry(ContentModel):
    """Something a character can do. `hours` left out: at any time."""

    id: Annotated[Slug, AfterValidator(_own)]
    name: Text
    where: Annotated[Where, Field(strict=False)] = Where.FACILITY
    tags: ListOf[Slug] = ()
    minutes: Minutes
    seats: Annotated[int, Field(ge=1, le=_MOST_SEATS)] | None = None
    hours: NonEmpty[OpenHours] = ALWAYS_OPEN
    requires: dict[str, Annotated[BoundsEntry, BeforeValidator(_bounded)]] = {}
    cost: dict[str, Cost] = {}
    effects: dict[str, Number] = {}
    interruptible: bool = True
    ends_day: bool = False


class TalkEntry(ContentModel):
    """What talking does to needs."""

    effects_per_hour: dict[str, Number] = {}


class ActionsFile(ContentModel):
    """actions.json."""

    needs: ListOf[NeedEntry]
    talk: TalkEntry = TalkEntry()
    actions: NonEmpty[ActionEntry]


def catalogue(file: ActionsFile, language: Language) -> Catalogue:
    """What can be done, with names in that language.

    Raises:
        ValueError: an id is there twice, a need is not there, or a level lies out of bounds.
    """
    return Catalogue(
        needs=Needs(all=tuple(Need(**need.in_language(language)) for need in file.needs)),
        actions=tuple(_action(action, language) for action in file.actions),
        talk_effects=file.talk.effects_per_hour,
    )


def _action(entry: ActionEntry, language: Language) -> ActionDef:
    requires = (
        Between(need_id=need_id, at_least=bounds.at_least, at_most=bounds.at_most)
        for need_id, bounds in entry.requires.items()
    )
    return ActionDef(**{**entry.in_language(language), "tags": frozenset(entry.tags), "requires": tuple(requires)})
