"""Owns what travels over HTTP about how people live: needs, what they do and mean to do, what is possible for them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.api.fields import Change, In, MayBeLeftOut, Out, Slug, Text, Whole, WorldTimeText
from service.content.profile import Mood
from service.locales import Language
from service.store.event_kinds import PlannedBlock, Stopped

How = Literal["model", "routine", "client"]
Level = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1_000_000_000, le=1_000_000_000)]
Items = Annotated[list[Text], Field(max_length=50)]


class SleepIn(In):
    """Sleep: the day's conversations are cleared."""

    type: Literal["sleep"]


class MoveIn(In):
    """Walk to exactly one of a node, a facility or an NPC (up to a place beside it)."""

    type: Literal["move"]
    node_id: Slug | None = None
    facility_id: Slug | None = None
    npc_id: Slug | None = None


class DoIn(In):
    """Do an action of actions.json, where it is nearest or in that facility; the character walks there if it must."""

    type: Literal["do"]
    action_id: Slug = Field(examples=["eat_out"])
    facility_id: Slug | None = None


ActionIn = Annotated[SleepIn | MoveIn | DoIn, Field(discriminator="type")]


class SleptOut(Out):
    """What sleep did."""

    type: Literal["sleep"] = "sleep"
    at: WorldTimeText
    cleared_conversations: int


class MovedOut(Out):
    """The way that is walked now: `path[i]` is reached at `times[i]`."""

    type: Literal["move"] = "move"
    path: list[str]
    times: list[WorldTimeText]
    arrives_at: WorldTimeText
    minutes: int


class DoingOut(Out):
    """What the character does from now on: it is at `node_id` at `arrives_at`, and done at `until` if nothing cuts
    it.
    """

    type: Literal["do"] = "do"
    action_id: str
    node_id: str
    facility_id: str | None
    arrives_at: WorldTimeText
    until: WorldTimeText


ActedOut = Annotated[SleptOut | MovedOut | DoingOut, Field(discriminator="type")]


class CharacterIn(Change):
    """What an author changes about a character.

    `decision`: how it decides from now on (null: as its file or its world says). `node_id`: it stands there now.
    `needs`: levels by id, cut off at the need's bounds. `give` and `take` are things it carries.
    """

    decision: How | None = None
    node_id: MayBeLeftOut[Slug] = None
    needs: MayBeLeftOut[Annotated[dict[str, Level], Field(min_length=1, max_length=50)]] = None
    give: Items = []
    take: Items = []


class NpcIn(Change):
    """What an author changes about an NPC: its mood from now on, its affinity towards characters."""

    mood: MayBeLeftOut[Mood] = None
    affinity: MayBeLeftOut[
        Annotated[dict[str, Annotated[Whole, Field(ge=-100, le=100)]], Field(min_length=1, max_length=1000)]
    ] = None


class AnnounceIn(In):
    """Something everybody knows of for so many world minutes from now on, such as a festival."""

    text: Text
    minutes: Whole = Field(ge=1, le=100_000)


class ClockIn(In):
    """How the world's clock runs; what is left out stays as it is. `speed`: world minutes a real minute."""

    mode: MayBeLeftOut[Literal["manual", "running"]] = None
    speed: MayBeLeftOut[Annotated[float, Field(ge=0.001, le=100_000, allow_inf_nan=False, strict=True)]] = None
    pace: MayBeLeftOut[Literal["exact", "realtime"]] = None


class StoppedOut(Out):
    """Why the service has stopped a running clock; `detail` is a sentence in the world's language."""

    reason: Stopped
    detail: str


class ClockOut(Out):
    """How the world's clock runs. `manual`: by ticks alone. `exact`: it waits for what is decided and said."""

    mode: Literal["manual", "running"]
    speed: float = Field(description="world minutes a real minute")
    pace: Literal["exact", "realtime"]
    stopped: StoppedOut | None = Field(
        default=None, description="why it stands, where the service itself has stopped it; null once it was set again"
    )


class AnnouncementOut(Out):
    """Something everybody knows of from `at` until before `until`."""

    text: str
    at: WorldTimeText
    until: WorldTimeText


class NeedOut(Out):
    """A character's level of a need now, between `lowest` and `highest`. At `critical` or below it is urgent."""

    id: str
    name: str
    level: float
    lowest: float
    highest: float
    critical: float | None


class ActivityOut(Out):
    """What a character does now. `until`: null while nobody knows, as in a talk."""

    action_id: str
    name: str = Field(description="as the author calls it, in the world's language")
    node_id: str
    facility_id: str | None
    since: WorldTimeText
    until: WorldTimeText | None
    talking_in: str | None = Field(description="id of the conversation")


class _Named(Out):
    action_id: str
    name: str
    facility_id: str | None
    facility_name: str | None
    target_id: str | None
    target_name: str | None


class OptionOut(_Named):
    """Something possible now: `walk_minutes` to `node_id`, then it for `minutes` (0: until it is over)."""

    node_id: str
    place: str
    target_id: str | None = Field(description="who would be spoken to")
    walk_minutes: int
    minutes: int
    text: str = Field(description="all of this in a line", examples=["Eat out: Chidori Tavern (walk 5, 40 min)"])


class RefusalOut(_Named):
    """Something that is not possible now: `reason` is a stable word, `facts` what it is about, `text` a sentence."""

    reason: str = Field(examples=["closed", "too_little"])
    facts: dict[str, Any]
    text: str


class PossibilitiesOut(Out):
    """What a character could do now if it stopped what it does, and what not, and why."""

    character_id: str
    now: WorldTimeText
    language: Language
    options: list[OptionOut]
    refusals: list[RefusalOut]


class LifeOut(Out):
    """How a character lives, at the world's clock. `plan` is today's; empty: its routine is the plan."""

    decision: How = Field(description="how it decides now: a model is asked, by routine, or a client says")
    needs: list[NeedOut]
    activity: ActivityOut | None = Field(description="null: it decides next")
    thought: str = Field(description="what it thought when it last decided; empty while a client decides")
    plan: list[PlannedBlock]
    routine: list[PlannedBlock]
    items: list[str]
