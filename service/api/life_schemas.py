"""Owns what travels over HTTP about how people live: needs, what they do and mean to do, what is possible for them."""

from typing import Annotated, Literal

from pydantic import Field

from service.api.dependencies import Change, In, MayBeLeftOut, Now, Out, Slug, Text, Whole, WorldTimeText
from service.content.profile import Mood
from service.locales import Language
from service.people.worlds import Notice
from service.store.event_kinds import PlannedBlock, Stopped
from world.actions import Option, Refusal
from world.life import Segment
from world.needs import Need

ClockMode = Annotated[Literal["manual", "running"], Field(description="manual: by ticks alone; running: by itself")]
ClockPace = Annotated[
    Literal["exact", "realtime"],
    Field(
        description="exact: the clock waits for what is decided and said; realtime: it does not, and drops answers "
        "that come too late"
    ),
]
How = Literal["model", "routine", "client"]
Level = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1_000_000_000, le=1_000_000_000)]
Levels = Annotated[dict[str, Level], Field(min_length=1, max_length=50)]
Affinities = Annotated[dict[str, Annotated[Whole, Field(ge=-100, le=100)]], Field(min_length=1, max_length=1000)]
Items = Annotated[list[Text], Field(max_length=50)]


class SleepIn(In, examples={"sleep": {"type": "sleep"}}):
    """Sleep: the day's conversations are cleared."""

    type: Literal["sleep"] = Field(description="says that it sleeps")


class MoveIn(In, examples={"walk up to an NPC": {"type": "move", "npc_id": "npc_taro"}}):
    """Walk to exactly one of a node, a facility or an NPC (up to a place beside it)."""

    type: Literal["move"] = Field(description="says that it walks")
    node_id: Slug | None = Field(default=None, description="walk to that node")
    facility_id: Slug | None = Field(default=None, description="walk to that facility")
    npc_id: Slug | None = Field(default=None, description="walk up to that NPC, to a node beside it")


class DoIn(In, examples={"do something where it is nearest": {"type": "do", "action_id": "eat_out"}}):
    """Do an action of actions.json, where it is nearest or in that facility; the character walks there if it must."""

    type: Literal["do"] = Field(description="says that it does an action")
    action_id: Slug = Field(examples=["eat_out"], description="an action of actions.json")
    facility_id: Slug | None = Field(
        default=None, description="do it in that facility; left out: wherever it is nearest"
    )


ActionIn = Annotated[SleepIn | MoveIn | DoIn, Field(discriminator="type")]


class SleptOut(Out):
    """What sleep did."""

    type: Literal["sleep"] = Field(default="sleep", description="says that it slept")
    at: WorldTimeText = Field(description="the world time at which it slept")
    cleared_conversations: int = Field(description="how many conversations of the day it no longer has in mind")


class MovedOut(Out, of=Segment, shows="path"):
    """The way that is walked now: `path[i]` is reached at `times[i]`."""

    type: Literal["move"] = Field(default="move", description="says that it walks")
    times: list[WorldTimeText] = Field(description="the world time at which each node of `path` is reached")
    arrives_at: WorldTimeText = Field(description="the world time at which it is there")
    minutes: int = Field(description="world minutes the whole way takes")


class ActingOut(Out, of=Option, shows="action_id facility_id"):
    """An action, and where it is done."""


class DoingOut(ActingOut):
    """What the character does from now on: it is at `node_id` at `arrives_at`, and done at `until` if nothing cuts
    it.
    """

    type: Literal["do"] = Field(default="do", description="says that it does an action")
    node_id: str = Field(description="the node where it does it")
    arrives_at: WorldTimeText = Field(description="the world time at which it is there and begins")
    until: WorldTimeText = Field(description="the world time at which it is done, if nothing cuts it")


ActedOut = Annotated[SleptOut | MovedOut | DoingOut, Field(discriminator="type")]


class CharacterIn(
    Change,
    examples={
        "put it somewhere, hungry": {"node_id": "quay_pier", "needs": {"satiety": 20}},
        "give it something": {"give": ["a letter to Taro"]},
        "let it decide by routine": {"decision": "routine"},
    },
):
    """What an author changes about a character."""

    decision: How | None = Field(
        default=None, description="how it decides from now on; null: as its file or its world says"
    )
    node_id: MayBeLeftOut[Slug] = Field(default=None, description="the node it stands on from now on")
    needs: MayBeLeftOut[Levels] = Field(
        default=None, description="levels by the id of the need, cut off at the need's bounds"
    )
    give: Items = Field(default=[], description="things it carries from now on, in words")
    take: Items = Field(default=[], description="things it carries no longer, in the words it has them")


class NpcIn(Change, examples={"mood and affinity": {"mood": "happy", "affinity": {"aoi": 20}}}):
    """What an author changes about an NPC."""

    mood: MayBeLeftOut[Mood] = Field(default=None, description="its mood from now on")
    affinity: MayBeLeftOut[Affinities] = Field(
        default=None, description="its affinity by the character's id, -100..100"
    )
    give: Items = Field(default=[], description="things it carries from now on, in words")
    take: Items = Field(default=[], description="things it carries no longer, in the words it has them")


class AnnounceIn(In):
    """Something everybody knows of for so many world minutes from now on, such as a festival."""

    text: Text = Field(description="what everybody knows, as a sentence")
    minutes: Whole = Field(ge=1, le=100_000, description="for so many world minutes from now on")


class ClockIn(
    In,
    examples={
        "a world minute a second": {"mode": "running", "speed": 60, "pace": "exact"},
        "by ticks alone": {"mode": "manual"},
    },
):
    """How the world's clock runs; what is left out stays as it is."""

    mode: MayBeLeftOut[ClockMode] = None
    speed: MayBeLeftOut[Annotated[float, Field(ge=0.001, le=100_000, allow_inf_nan=False, strict=True)]] = Field(
        default=None, description="world minutes that pass in a real minute"
    )
    pace: MayBeLeftOut[ClockPace] = None


class StoppedOut(Out):
    """Why the service has stopped a running clock."""

    reason: Stopped = Field(description="budget_exhausted: the day's budget of model calls is used up")
    detail: str = Field(description="why, as a sentence in the world's language")


class ClockOut(Out):
    """How the world's clock runs."""

    mode: ClockMode
    speed: float = Field(description="world minutes that pass in a real minute")
    pace: ClockPace
    stopped: StoppedOut | None = Field(
        default=None, description="why it stands, where the service itself has stopped it; null once it was set again"
    )


class AnnouncementOut(Out, of=Notice, shows="text at until"):
    """Something everybody knows of from `at` until before `until`."""


class NeedOut(Out, of=Need, shows="name lowest highest critical"):
    """A character's level of a need now, between `lowest` and `highest`. At `critical` or below it is urgent."""

    id: str = Field(description="id of the need in actions.json")
    level: float = Field(description="how full it is now")


class ActivityOut(ActingOut):
    """What a character does now."""

    name: str = Field(description="as the author calls it, in the world's language")
    node_id: str = Field(description="the node where it is done")
    since: WorldTimeText = Field(description="the world time at which it began")
    until: WorldTimeText | None = Field(
        description="the world time at which it is done; null: nobody knows, as in a talk"
    )
    talking_in: str | None = Field(description="id of the conversation")


class _Named(ActingOut, of=Refusal, shows="target_id"):
    name: str = Field(description="the action's name, in the reader's language")
    facility_name: str | None = Field(description="that facility's name; else null")
    target_name: str | None = Field(description="name of the one who would be spoken to; else null")


class OptionOut(_Named, of=Option, shows="node_id walk_minutes minutes"):
    """Something possible now."""

    place: str = Field(description="name of that node and its surroundings")
    text: str = Field(description="all of this in a line", examples=["Eat out: Chidori Tavern (walk 5, 40 min)"])


class RefusalOut(_Named, of=Refusal, shows="facts"):
    """Something that is not possible now."""

    reason: str = Field(examples=["closed", "too_little"], description="why not, as a stable word")
    text: str = Field(description="why not, as a sentence in the reader's language")


class PossibilitiesOut(Out):
    """What a character could do now if it stopped what it does, and what not, and why."""

    character_id: str = Field(description="id of the character")
    now: Now
    language: Language = Field(description="the language of the names and sentences here")
    options: list[OptionOut] = Field(description="what it could do now")
    refusals: list[RefusalOut] = Field(description="what it cannot do now, and why")


class LifeOut(Out):
    """How a character lives, at the world's clock."""

    decision: How = Field(description="how it decides now: a model is asked, by routine, or a client says")
    needs: list[NeedOut] = Field(description="its needs and their levels now")
    activity: ActivityOut | None = Field(description="null: it decides next")
    thought: str = Field(description="what it thought when it last decided; empty while a client decides")
    plan: list[PlannedBlock] = Field(description="what it means to do today; empty: its routine is the plan")
    routine: list[PlannedBlock] = Field(description="what it does on any day, as its author wrote")
    items: list[str] = Field(description="things it carries, in words")
