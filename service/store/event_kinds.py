"""Owns what may happen in a world: a class for every kind of event, with what is told of it. The log, the API, the
feed, exports and docs/events.md share them.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Unpack

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.content.fields import Flag
from service.content.profile import Importance, Mood, PersonKind
from service.store.phase import Audience, EndReason
from world.actions import Reason
from world.life import Because

Envelope = TypeVar("Envelope", bound=BaseModel)

FailedCall = Literal["decision", "plan"]
DecidedBy = Literal["model", "rehearsal", "plan", "routine", "client", "fallback"]
Stopped = Literal["budget_exhausted"]
"""Why the service has stopped a clock."""

DropReason = Literal["no_evidence", "known"]
"""Why an insight is not kept."""

ActionId = Annotated[str, Field(description="of actions.json, or built in (walk, talk, wait)", examples=["work"])]
NodeId = Annotated[str, Field(description="the node where it is then", examples=["quay"])]
ConversationId = Annotated[str, Field(description="of GET /conversations/{id}", examples=["6f1c0a94d2b7"])]


class RejectionReason(StrEnum):
    """Why something was not stored."""

    NO_SUCH_TURN = "no_such_turn"
    NO_SUCH_REF = "no_such_ref"
    NO_SUCH_DATE = "no_such_date"
    NOT_PERCEIVED = "not_perceived"
    EMPTY = "empty"
    OTHER_NUMBER = "other_number"
    CONTRADICTED = "contradicted"
    NOT_SAID = "not_said"


def left_out(description: str, example: object) -> Any:
    """A field that is left out of the JSON where it has no value."""
    return Field(default=None, exclude_if=lambda value: value is None, description=description, examples=[example])


class Payload(BaseModel, frozen=True, extra="forbid"):
    """What is told of an event beside its kind, its world time and its person. Its `kind` is its name in small letters
    (DayBegan: day_began), where it names none.
    """

    kind: ClassVar[str]
    audience: ClassVar[Audience] = Audience.WORLD

    def __init_subclass__(cls, kind: str = "", **config: Unpack[ConfigDict]) -> None:
        super().__init_subclass__(**config)
        cls.kind = kind or re.sub(r"\B(?=[A-Z])", "_", cls.__name__).lower()

    def stored(self) -> dict[str, Any]:
        """As its row keeps it."""
        return self.model_dump(mode="json")


class DayBegan(Payload):
    """A world day began, at the hour the settings say. Nobody's event."""

    day: str = Field(description="the date", examples=["2026-04-02"])


class MemoryExpired(Payload):
    """A mid-term memory of the person is over."""

    content: str = Field(description="what it was", examples=["Bring Taro the net before the tide turns."])
    importance: Importance = Field(description="how long it was to last", examples=["high"])


class DroppedInsight(BaseModel, frozen=True, extra="forbid"):
    """An insight that was not kept."""

    text: str = Field(description="what it said", examples=["Taro has sold three boats."])
    reason: DropReason = Field(
        description="why it was not kept: it names nothing that the person lived through (no_evidence), or the person "
        "thinks so already (known)",
        examples=["no_evidence"],
    )


class Reflected(Payload):
    """The person has thought over what it lived through since the last time."""

    insights: tuple[str, ...] = Field(
        description="what it has come to think", examples=[["Taro misses the time when his boat was new."]]
    )
    dropped: tuple[DroppedInsight, ...] = Field(description="what was not kept, and why")


class OfCommitment(Payload):
    commitment_id: str = Field(
        description="of GET /people/{id}/commitments", examples=["9f0a3c52-7d1e-5b7c-a1d4-2f6f0c9be811"]
    )
    to_id: str = Field(description="to whom the person promised it", examples=["npc_taro"])
    what: str = Field(description="what was promised", examples=["come to the pier with the net"])
    place: str = Field(description="where, as it was said; empty: no place was", examples=["the pier"])
    node_id: str | None = left_out("where, if that is on the map", "pier")
    due_at: str | None = left_out(
        "when: a minute, or the end of the day, or of the part of it, that was said", "2026-04-02T17:00"
    )


class CommitmentDue(OfCommitment):
    """The moment has come for which the person promised something."""


class CommitmentKept(OfCommitment):
    """The person kept its promise: both were there, or it was said so."""


class CommitmentMoved(OfCommitment):
    """The two agreed on another time: another promise stands in the place of this one."""

    moved_to: str = Field(description="the id of that one", examples=["5b1d7f0e-2c64-5f0a-9a53-0b8d1c2e7a44"])


class CommitmentReleased(OfCommitment):
    """The promise was taken back; nothing follows."""


class CommitmentBroken(OfCommitment):
    """The person broke its promise: it was not there, or it was said so."""


class Arrived(Payload):
    """The person has come to where it went."""

    node_id: NodeId


class OfActivity(Payload):
    action_id: ActionId
    facility_id: str | None = left_out("where, if it is in a facility", "inn")


class ActivityEnded(OfActivity):
    """The person has stopped doing something."""

    because: Because = Field(
        description="it was done; somebody spoke to it (cut); a need became critical; a time that it had set itself "
        "came (alarm); an author, a client or the clock stopped it (roused)",
        examples=["done"],
    )


class OfConversation(Payload):
    """What happens in a conversation."""

    conversation_id: ConversationId


class _OfTwo(OfConversation):
    partner_id: str = Field(description="whom the person speaks with, of whatever kind", examples=["npc_taro"])


class ConversationEnded(_OfTwo):
    """Nothing more is said in a conversation; what is remembered of it comes next. The person opened it."""

    reason: EndReason = Field(description="why it ended", examples=["goal_achieved"])
    goal_achieved: bool = Field(description="what the person wanted of it has been reached", examples=[True])


class ConversationLeft(OfConversation):
    """The person goes from a conversation of more than two, which goes on without it."""


class ConversationClosed(_OfTwo):
    """Both remember the conversation. The person opened it."""

    attitudes: dict[str, dict[str, int]] | None = left_out(
        "of two: how each stands to the other from now on, by person id: `affinity` -100..100; `power`, `intimacy` and "
        "`task_oriented` -3..3, where they were judged",
        {"aoi": {"affinity": 12, "power": -1, "intimacy": 2, "task_oriented": 0}},
    )
    towards: dict[str, dict[str, dict[str, int]]] | None = left_out(
        "of more than two: the same by the id of who stands so, and then by the id of to whom",
        {"aoi": {"npc_taro": {"affinity": 12}, "ken": {"affinity": -3, "power": 1, "intimacy": 0, "task_oriented": 1}}},
    )


class ClosingFailed(_OfTwo):
    """Nothing could be remembered of the conversation this time: the model failed. It is tried again, until it succeeds
    or somebody gives it up. The person opened it.
    """

    error: str = Field(
        description="the `type` of the problem, as problems of the API have it", examples=["model-timeout"]
    )


class FactRejected(OfConversation):
    """A statement that the model wanted remembered was kept out of the person's memory."""

    statement: str = Field(description="what was not kept", examples=["Taro sells his boat."])
    turn: int | None = Field(
        description="the turn it is said to have been said in, from 0; null: none was named", examples=[3]
    )
    reason: RejectionReason = Field(description="why it was not kept", examples=["not_perceived"])


class CommitmentMade(OfCommitment, OfConversation):
    """The person promised something."""


class DayBlock(BaseModel, frozen=True, extra="forbid"):
    """What a character means to do from `starts` (``HH:MM``) on. Without a facility: at home."""

    starts: str = Field(description="the time of day", examples=["07:30"])
    activity: str = Field(description="in the words of the plan", examples=["Mend the nets"])
    facility_id: str | None = Field(description="null: at home", examples=["inn"])
    action_id: str | None = Field(description="null: what fits the place", examples=["work"])


class Planned(Payload):
    """The person has made, or changed, its plan of the day."""

    blocks: tuple[DayBlock, ...] = Field(description="from now to the end of the day, in order")


class Decided(OfActivity):
    """The person has decided what it does next."""

    node_id: str = Field(description="where it will do it", examples=["quay"])
    target_id: str | None = left_out("whom it will speak to", "npc_taro")
    by: DecidedBy | None = left_out(
        "who decided: its model, the rehearsal in its place, its plan or routine with which it goes on unasked, a "
        "client, or the routine as a fallback because the model failed",
        "model",
    )
    thought: str | None = left_out("what it thought, empty where no model was asked", "The tide is low.")
    failure: str | None = left_out("the `type` of the problem that `failed_call` met", "model-timeout")
    failed_call: FailedCall | None = left_out(
        "which call of the model failed: the one for this decision (the routine decided, as a fallback), or the one "
        "for its plan of the day (the routine stands in for the plan; `by` says who decided)",
        "plan",
    )


class Departed(Payload):
    """The person sets out."""

    from_node_id: str = Field(description="the node it leaves", examples=["quay"])
    to_node_id: str = Field(description="the node it goes to", examples=["inn_door"])
    arrives_at: str = Field(description="the world time at which it will be there", examples=["2026-04-01T07:36"])


class ActionFailed(OfActivity):
    """The person could not do what it had chosen; it waits a little and decides anew."""

    reason: Reason = Field(description="why it could not", examples=["busy"])
    target_id: str | None = left_out("whom it wanted to speak to", "npc_taro")


class ActivityStarted(OfActivity):
    """The person begins to do something."""

    node_id: NodeId
    until: str = Field(
        description="the world time at which it is done, if nothing cuts it", examples=["2026-04-01T12:00"]
    )


class Slept(Payload):
    """The person went to sleep: the next day of its life begins without this one's conversations."""

    cleared: int = Field(description="how many conversations it no longer has in mind", examples=[2])


class ConversationStarted(_OfTwo):
    """Two people begin to speak. The person opened it."""

    node_id: str = Field(description="where the person stands", examples=["quay"])


class ConversationJoined(OfConversation):
    """The person takes part in a conversation that others have begun."""


class Changed(Payload):
    """An author has changed the person: what is left out stayed as it was."""

    node_id: str | None = left_out("a character stands there now", "quay")
    needs: str | None = left_out("ids of a character's needs that were set, with commas between", "energy, hunger")
    mood: Mood | None = left_out("an NPC's mood from now on", "happy")
    affinity: dict[str, int] | None = left_out("an NPC's affinity by character id, -100..100", {"aoi": 20})


class Announced(Payload):
    """An author has announced something that everybody knows of. Nobody's event."""

    text: str = Field(description="what everybody knows", examples=["The harbour festival begins at dusk."])
    until: str = Field(description="the world time before which it holds", examples=["2026-04-02T00:00"])


class WeatherSet(Payload, kind="weather"):
    """An author has set the weather. Nobody's event."""

    weather: str = Field(description="in words; empty: there is nothing to say of it", examples=["rain"])


class Observed(Payload):
    """The game has told what happened, and who saw it: they remember it. Nobody's event."""

    text: str = Field(description="what was to be seen", examples=["The boathouse burns."])
    seen_by: tuple[str, ...] = Field(description="ids of those who saw it", examples=[["aoi", "npc_taro"]])
    node_id: str | None = left_out("where, if it was told of a node", "quay")
    map_id: str | None = left_out("where, if it was told of a whole map", "harbour")


class FlagValue(BaseModel, frozen=True, extra="forbid"):
    """A flag and what it is."""

    name: str = Field(description="its name", examples=["bell_repaired"])
    value: Flag | None = Field(description="what it is from now on; null: it is gone", examples=[True])


class FlagsSet(Payload, kind="flags"):
    """The game has set flags of the world. Nobody's event."""

    flags: tuple[FlagValue, ...] = Field(description="those that have changed")


class Carries(Payload):
    """An author has given the person things, or taken them."""

    given: tuple[str, ...] = Field(description="what it has got", examples=[["a net"]])
    taken: tuple[str, ...] = Field(description="what it has no longer", examples=[["a letter"]])


class Forgot(Payload):
    """An author made the person forget all that it remembered, and others what they remembered of it."""


class _OfMade(Payload):
    person_kind: PersonKind = Field(description="what it is", examples=["player"])
    name: str = Field(
        description="its name, in the world's language; its id where it was removed with all that is known of it",
        examples=["Mika"],
    )


class PersonMade(_OfMade):
    """A client has made the person while the world runs, or changed its profile."""

    is_new: bool = Field(description="true: it was not in the world; false: its profile was changed", examples=[True])


class PersonPlaced(Payload):
    """A client has put a player somewhere: it stands there, without having walked."""

    node_id: str | None = left_out("the node where it stands; left out: nowhere, and nobody sees it", "quay")


class PersonRemoved(_OfMade):
    """A client has taken the person, who was made while the world ran, out of it again."""


class ClockStopped(Payload):
    """The service itself has stopped the running clock. Nobody's event."""

    reason: Stopped = Field(
        description="budget_exhausted: the day's budget of model calls is used up", examples=["budget_exhausted"]
    )


IN_A_MINUTE: tuple[type[Payload], ...] = (
    DayBegan,
    MemoryExpired,
    Reflected,
    CommitmentDue,
    CommitmentKept,
    CommitmentBroken,
    Arrived,
    ActivityEnded,
    ConversationLeft,
    ConversationEnded,
    ConversationClosed,
    ClosingFailed,
    FactRejected,
    CommitmentMoved,
    CommitmentReleased,
    CommitmentMade,
    Planned,
    Decided,
    Departed,
    ActionFailed,
    ActivityStarted,
    Slept,
    ConversationStarted,
    ConversationJoined,
    Changed,
)
"""The order in which a story tells what happens in one minute."""

PAYLOADS: tuple[type[Payload], ...] = (
    *IN_A_MINUTE,
    Announced,
    WeatherSet,
    Observed,
    FlagsSet,
    Carries,
    Forgot,
    PersonMade,
    PersonPlaced,
    PersonRemoved,
    ClockStopped,
)
"""Every kind of event. The last ones happen at once, when an author or the service acts."""

_BY_KIND = {payload.kind: payload for payload in PAYLOADS}
KINDS = tuple(_BY_KIND)


def payload_of(kind: str, data: Mapping[str, Any]) -> Payload:
    """What a row holds.

    Raises:
        KeyError: there is no such kind.
        ValidationError: it has no such payload.
    """
    return _BY_KIND[kind].model_validate(data)


def for_every_kind(envelope: type[Envelope], payloads: Sequence[type[Payload]] = PAYLOADS) -> dict[str, type[Envelope]]:
    """By kind: the model of what an event is told in, its `kind` that word and its `data` that payload, both described
    as the envelope describes them.
    """
    told = {name: envelope.model_fields[name].description for name in ("kind", "data")}
    return {
        payload.kind: create_model(
            payload.__name__ + envelope.__name__,
            __base__=envelope,
            __doc__=payload.__doc__,
            kind=(Literal[payload.kind], Field(description=told["kind"])),  # type: ignore[arg-type]
            data=(payload, Field(description=told["data"])),
        )
        for payload in payloads
    }
