"""Owns what travels over HTTP. Times are world times, ``YYYY-MM-DDTHH:MM`` without a zone."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar, Union, get_args

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from service.api.dependencies import (
    PLAIN,
    ChangeIn,
    FlagIn,
    In,
    MayBeLeftOut,
    Now,
    Out,
    Slug,
    Text,
    Whole,
    WorldTimeText,
)
from service.content.profile import (
    CharacterProfile,
    Decides,
    Emotion,
    Mood,
    PersonaLine,
    PersonKind,
    Profile,
    Secret,
)
from service.conversation.acting import MOST as CHOICES_MAX
from service.conversation.human import MESSAGE_MAX, WORDS_MAX
from service.conversation.prompt import Goal
from service.llm.chat import Message
from service.locales import Language
from service.memory.closing.write import Changes
from service.memory.mind import MidTerm
from service.memory.record import Kind, Mode, Recalled, Source, Support
from service.people.attitude import Attitude
from service.people.worlds import Notice, WorldView
from service.runtime.world_session import DecidingBy
from service.settings import ContextTokens
from service.store.client_event_kinds import SuggestedLine, Talker
from service.store.event_kinds import DayBlock, Payload, Stopped, for_every_kind
from service.store.phase import EndReason, Loudness, Phase
from service.store.shown import OutWithValues
from service.store.tables import (
    ActionCallRow,
    CommitmentRow,
    ConversationRow,
    EventRow,
    MemoryRow,
    SummaryRow,
    TurnRow,
    UsageRow,
)
from service.store.usage import CostOut
from world.actions import Option
from world.life import Position
from world.needs import Need
from world.places import Edge, Facility, Node

Item = TypeVar("Item")


CONTEXT_MAX = 500
"""Most characters of what a game says is going on."""


class ContextIn(In):
    """What the game says is going on: it stands in the prompts of this conversation as data, is never an order to a
    model, and is not remembered.
    """

    text: Annotated[str, Field(max_length=300), PLAIN] = Field(
        default="", description="in words", examples=["Ken is wounded and carries the blue jar."]
    )
    data: Annotated[dict[Annotated[str, Field(pattern=r"^[\w.-]{1,40}$")], FlagIn], Field(max_length=10)] = Field(
        default_factory=dict, description="and as values, each under a name", examples=[{"hp": 3, "night": True}]
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        most = sum(map(len, self.told))
        if most > CONTEXT_MAX:
            raise PydanticCustomError("context_too_long", "too long", {"count": most, "most": CONTEXT_MAX})
        return self

    @property
    def told(self) -> tuple[str, ...]:
        """Line by line."""
        shown = (value if isinstance(value, str) else json.dumps(value) for value in self.data.values())
        values = ", ".join(f"{name}: {value}" for name, value in zip(self.data, shown, strict=True))
        return tuple(filter(None, (self.text, values)))


class StartIn(
    In,
    examples={
        "about what the character chooses": {"character_id": "aoi", "partner_id": "npc_taro"},
        "as a player": {"mode": "player", "player_id": "ken", "partner_id": "npc_taro"},
        "as a player who may choose": {"mode": "player", "player_id": "ken", "partner_id": "npc_taro", "choices": 3},
        "with a goal": {
            "character_id": "aoi",
            "partner_id": "npc_taro",
            "goal": "Hear how the boat is coming along",
            "success_criteria": "He has said when it will be done",
            "max_turns": 8,
        },
    },
):
    """Who talks to whom, and why. Without a goal the character sets one itself; a player has none."""

    mode: Literal["models", "player"] = Field(
        default="models", description="models: a character begins, models speak for both; player: a player begins"
    )
    character_id: Slug | None = Field(
        default=None, description="id of the character that begins the talk; of no use with a player"
    )
    player_id: Slug | None = Field(default=None, description="id of the player that begins the talk, in mode player")
    clock: Literal["goes_on", "hold"] = Field(
        default="goes_on", description="in mode player; hold: the world's clock stands until the talk is over"
    )
    partner_id: Slug | None = Field(default=None, description="whom it talks to: an NPC, or another character")
    npc_id: Slug | None = Field(default=None, description="an older name of `partner_id`")
    goal: Text | None = Field(
        default=None,
        examples=["最近の様子を聞きたい"],
        description="what the character wants of the talk; left out, with `success_criteria`: it sets itself a goal",
    )
    success_criteria: Text | None = Field(
        default=None,
        examples=["近況を1つ以上聞けたら達成"],
        description="how to tell that the goal is reached; given exactly where `goal` is",
    )
    max_turns: Annotated[Whole, Field(ge=1, le=50)] | None = Field(
        default=None,
        description="after so many turns the talk ends at the latest; left out: as the service's settings say",
    )
    context: ContextIn | None = Field(default=None, description="what is going on when they begin to talk")
    actions: Annotated[list[Slug], Field(max_length=50)] | None = Field(
        default=None,
        description="ids of `gameActions` that people may ask for in this talk, where a human speaks; left out: all "
        "that the content allows",
    )
    choices: Annotated[Whole, Field(ge=0, le=CHOICES_MAX)] = Field(
        default=0,
        description="in mode player: after each turn of the other so many lines are suggested to the player "
        "(`choices` of the turn, and the event `choices`), in the same model call; 0: none",
    )


class ActionResultIn(
    In,
    examples={
        "done": {"ok": True},
        "not done": {"ok": False, "message": "The door is bolted from inside."},
    },
):
    """What became of something that a speaker asked of the game."""

    ok: bool = Field(strict=True, description="true: it is done, and will be remembered; false: it did not happen")
    message: str = Field(
        default="",
        max_length=MESSAGE_MAX,
        description="a word about it, which the speaker is told",
        examples=["The door is bolted from inside."],
    )


class SayIn(
    In,
    examples={
        "a question": {"text": "How is the boat coming along?", "message_id": "m-17"},
        "a whisper": {"text": "Do not tell her.", "to": "npc_harue", "loudness": "whisper"},
    },
):
    """What a human says."""

    text: str = Field(max_length=WORDS_MAX, description="the words", examples=["How is the boat coming along?"])
    message_id: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="the client's own name for the message: sent twice, it is said once"
    )
    person_id: Slug | None = Field(
        default=None, description="for whom the human speaks; left out: the one whose words are awaited"
    )
    context: ContextIn | None = Field(default=None, description="what is going on now: told before the next turn")
    to: Slug | None = Field(
        default=None,
        description="id of one who is there, and who answers; left out: who is named in the words, else whose turn it "
        "is",
        examples=["npc_harue"],
    )
    loudness: Literal["normal", "whisper"] = Field(
        default="normal", description="whisper: nobody but `to` hears it, remembers it, or hears the answer"
    )


class ChooseIn(In, examples={"the first line": {"choice_id": "1.0"}}):
    """Which of the lines that were suggested a human says."""

    choice_id: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="`id` of one of `choices`", examples=["1.0"]
    )
    message_id: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="the client's own name for the message: sent twice, it is said once; left out: the choice is the "
        "name",
    )


class PlaybackIn(In, examples={"still playing": {"utterance_id": "6f1c0a94d2b75c0e9a41b3d8e7f2.1.0"}}):
    """What is being played to the human."""

    utterance_id: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="as the conversation's events name it"
    )


class InterruptIn(
    PlaybackIn,
    examples={
        "by characters": {"utterance_id": "6f1c0a94d2b75c0e9a41b3d8e7f2.1.0", "heard_chars": 17},
        "by words": {"utterance_id": "6f1c0a94d2b75c0e9a41b3d8e7f2.1.0", "heard_text": "Good morning, Mr."},
    },
):
    """Where a human cuts in: how much was heard of an utterance, in one of two ways."""

    heard_chars: Annotated[Whole, Field(ge=0, le=100_000)] | None = Field(
        default=None, description="how many Unicode code points of it were heard", examples=[17]
    )
    heard_text: Annotated[str, Field(max_length=WORDS_MAX)] | None = Field(
        default=None, description="the words of it that were heard", examples=["Good morning, Mr."]
    )

    @model_validator(mode="after")
    def _heard_once(self) -> Self:
        if (self.heard_chars is None) == (self.heard_text is None):
            raise PydanticCustomError("heard_one", "exactly one of heard_chars and heard_text")
        return self


class SpeakerIn(In, examples={"a character": {"person_id": "aoi"}}):
    """For whom a human speaks from now on, or no longer."""

    person_id: Slug = Field(description="id of one who takes part")


class SeatIn(In, examples={"the player": {"person_id": "ken"}, "somebody beside": {"person_id": "npc_harue"}}):
    """Who sits down, or gets up."""

    person_id: Slug = Field(description="id of the player, or of somebody else", examples=["ken"])


class TickIn(
    In,
    examples={
        "an hour, told when it is over": {"ticks": 60},
        "a day, answered at once": {"ticks": 1440, "wait": False},
    },
):
    """How far the clock is advanced."""

    ticks: Whole = Field(
        default=1,
        ge=1,
        le=10_000_000,
        description="how many ticks to advance; a tick is `tick_minutes` world minutes, see GET /world (1 by default)",
    )
    wait: bool = Field(
        default=True,
        strict=True,
        description="true: answer when all of it has happened; false: answer at once, while the world is on its way",
    )


ClockMode = Annotated[Literal["manual", "running"], Field(description="manual: by ticks alone; running: by itself")]


ClockPace = Annotated[
    Literal["exact", "realtime"],
    Field(
        description="exact: the clock waits for what is decided and said; realtime: it does not, and drops answers "
        "that come too late"
    ),
]


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


class WorldIn(
    ChangeIn,
    examples={
        "the weather": {"weather": "A fine rain"},
        "an announcement": {"announce": {"text": "The harbour festival begins at dusk.", "minutes": 600}},
        "language and decisions": {"language": "en", "decision": "routine"},
    },
):
    """What of a world can be changed; what is left out stays as it is."""

    language: MayBeLeftOut[Language] = Field(
        default=None, description="the language of the world's texts and talks from now on"
    )
    decision: Decides | None = Field(
        default=None,
        description="how characters decide that say nothing of their own; null: as the service's settings say",
    )
    context_tokens: ContextTokens | None = Field(
        default=None,
        description="about how many tokens a prompt of a talk may take in this world; null: as the service's settings "
        "say",
    )
    weather: MayBeLeftOut[Annotated[str, Field(max_length=80, pattern=r"^[^\u0000]*$")]] = Field(
        default=None, description="the weather in words, as every prompt says it; empty: there is nothing to say of it"
    )
    announce: MayBeLeftOut[AnnounceIn] = Field(default=None, description="something everybody knows of from now on")


class GoalOut(Out, of=Goal, shows="goal success_criteria"):
    """What the character wants of the conversation."""

    given: bool = Field(description="False: the character set it itself")


def _known(emotion: object) -> object:
    return emotion if emotion in get_args(Emotion) else "neutral"


def _usually(value: Any, description: str, example: object) -> Any:
    """A field that is left out where it has its usual value."""
    return Field(
        default=value, exclude_if=lambda given: bool(given == value), description=description, examples=[example]
    )


class TurnOut(
    Out,
    of=TurnRow,
    shows="speaker_id speaker_name text model prompt_tokens completion_tokens duration_ms at",
):
    """One utterance."""

    turn: int = Field(description="its place in the conversation, counted from 0")
    emotion: Annotated[Emotion, BeforeValidator(_known)] = Field(
        description="how the speaker shows itself while saying it"
    )
    choices: list[SuggestedLine] = Field(
        validation_alias="suggestions",
        description="lines that were suggested for the answer: one of them can be chosen until something else is said",
    )
    think: str = _usually("", "what its speaker thinks, in a scene; nobody perceives it", "She knows.")
    act: str = _usually("", "what its speaker does", "puts down the lamp")
    addressed: list[str] | None = _usually(None, "ids of those to whom it is said; left out: to all", ["mio"])
    loudness: Loudness = _usually(Loudness.NORMAL, "how loud it is said; left out: as people talk", "whisper")
    is_sketched: bool = _usually(False, "one call made the whole talk, for nobody looked", True)
    seen_by: list[str] | None = _usually(None, "ids of those who see the act; left out: all who are there", ["mio"])
    heard_by: list[str] | None = _usually(None, "ids of those who hear the words; left out: all there", ["mio"])


class FailureOut(Out):
    """What went wrong: the problem's type, whose model call it was, and a sentence in the world's language."""

    type: str = Field(description="the last part of the problem's type, such as model-timeout")
    role: str = Field(description="whose call failed: character, npc, closing, decision, moderator, modulator, quality")
    detail: str = Field(description="what happened, as a sentence in the world's language")
    next_try_at: str | None = Field(
        default=None,
        description="of a closing, or of a talk whose model is away: when it is tried again by itself (the machine's "
        "time, in UTC); null: it is not",
    )


class CommitmentIn(In, examples={"it was kept": {"state": "kept"}}):
    """What became of a promise."""

    state: Literal["kept", "broken", "released"] = Field(
        description="what became of it: kept, broken, or released (taken back; nothing follows)"
    )


class CommitmentOut(
    Out,
    of=CommitmentRow,
    shows="id by_id to_id what place node_id has_hour ended_in moved_to conversation_id turn due_at since_at "
    "made_at expires_at ended_at state",
):
    """A promise. What was not said is empty, or null."""

    moves: bool = Field(description="it has a place and an hour, or a part of a day: who made it goes there")


class HeldOut(
    Out,
    of=ConversationRow,
    shows="max_turns started_at models",
):
    """What is told of a conversation of any kind."""

    phase: Phase = Field(description="where it stands: spoken, being remembered, remembered, or the remembering failed")
    end_reason: EndReason | None = Field(description="why nothing more is said; null: it goes on")
    failure: FailureOut | None = Field(description="what went wrong with a model; null: nothing")
    rehearsal: bool = Field(description="true where no language model spoke, but the rehearsal")
    cost: CostOut = Field(description="what its model calls came to")


class _WithPartner(Out):
    partner_id: str = Field(description="id of the one spoken with")
    partner_name: str = Field(description="name of the one spoken with")

    npc_id: str = Field(default_factory=lambda told: told["partner_id"], description="an older name of `partner_id`")
    npc_name: str = Field(
        default_factory=lambda told: told["partner_name"], description="an older name of `partner_name`"
    )


class ConversationOut(
    _WithPartner,
    HeldOut,
    of=ConversationRow,
    shows="id awaits node_id goal_achieved ended_at closed_at",
):
    """A conversation without its turns."""

    character_id: str = Field(description="id of the character, or player, that began it")
    character_name: str = Field(description="name of who began it")
    partner_kind: Literal["npc", "character", "player"] = Field(
        description="who the partner is: two characters can talk, too"
    )
    character_kind: Literal["character", "npc", "player"] = Field(description="who began it is")
    mode: Literal["models", "player"] = Field(description="player: a human speaks in it; models: models speak for both")
    living: bool = Field(description="true where the living world holds it, a minute a turn; false: a client began it")
    goal: GoalOut | None = Field(description="null: the character has not set itself one yet")
    people: list[Talker] = Field(description="who is there, or was to the end, in the order of their seats")
    links: dict[str, str] = Field(description="addresses: `self` is this conversation, `events` its live stream")


class PromptOut(OutWithValues, of=TurnRow, shows="turn speaker_id speaker_name text model"):
    """What a speaker was sent when it was asked for a turn, letter by letter: why it said that."""

    messages: list[Message] = Field(description="the messages in the order in which they were sent")


class ActionCallOut(
    Out, of=ActionCallRow, shows="id person_id action_id args words why message awaited deadline state"
):
    """Something that a speaker asked of the game."""

    turn: int = Field(description="the turn with which it was asked, from 0")
    reason: Literal["client", "not_offered", "arguments"] | None = Field(
        description="why it failed: the game said so, it may not be asked now, or its arguments do not fit; null: it "
        "did not fail"
    )


class SaidOut(Out):
    """What a human said, and what was answered."""

    turn: TurnOut = Field(description="the human's turn")
    answer: TurnOut | None = Field(description="the answer, with wait=true; null: there is none yet, or it is over")
    action: ActionCallOut | None = Field(description="what the game is asked with the answer; null: nothing")
    conversation: ConversationOut = Field(description="the conversation as it stands")


class ConversationDetail(ConversationOut):
    """A conversation with its turns and, once closed, what it changed."""

    turns: list[TurnOut] = Field(description="all that was said so far, in order")
    actions: list[ActionCallOut] = Field(description="what was asked of the game so far, in order")
    changes: Changes | None = Field(description="what it has changed; null: it is not closed yet")


NextPage = Annotated[str | None, Field(description="the `after` of the next page; null: this is the last")]


class Page(Out, Generic[Item]):
    """A part of a list. `next` is the cursor of the page that follows; null on the last."""

    next: NextPage = None
    items: list[Item] = Field(description="what is on this page")


class EventOut(Out, of=EventRow, shows="id at kind person_id"):
    """Something that happened, `data` as its `kind` has it; see docs/events.md."""

    data: Payload = Field(description="what is told of an event of that kind")


EVENTS = for_every_kind(EventOut)
"""How an event of each kind travels."""

if TYPE_CHECKING:
    AnyEventOut = EventOut
else:
    AnyEventOut = Annotated[Union[tuple(EVENTS.values())], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


class EventPage(Page[AnyEventOut]):
    """Events in the order asked for."""

    timeline: int = Field(
        description="where it is another one than on the page before, the world was brought back to an earlier moment "
        "meanwhile (`POST /world/restore`): read its events anew",
        examples=[0],
    )


class TickOut(Out):
    """What a step of time brought. `now` is where the clock is, `until` where it goes; `next` is the `after` with which
    `GET /world/events` tells the events that are not here.
    """

    next: NextPage = None
    before: WorldTimeText = Field(description="the world time at which the clock stood before")
    now: Now
    until: WorldTimeText = Field(description="the world time to which the clock goes; `now` where it is there")
    ticks: int = Field(description="how many ticks were asked for")
    events: list[AnyEventOut] = Field(description="what happened in that time, oldest first")


class PositionOut(Out, of=Position, shows="node_id toward progress"):
    """On `node_id`, or on the way from it `toward` the next one, of which `progress` (0 up to 1) is done."""

    place: str = Field(description="name of that node and its surroundings")
    walking_to: str | None = Field(default=None, description="the node where its way ends; null: it stands")
    arrives_at: WorldTimeText | None = Field(
        default=None, description="the world time at which it is there; null: it stands"
    )


class NeedOut(Out, of=Need, shows="name lowest highest critical"):
    """A character's level of a need now, between `lowest` and `highest`. At `critical` or below it is urgent."""

    id: str = Field(description="id of the need in actions.json")
    level: float = Field(description="how full it is now")


class ActivityOut(Out, of=Option, shows="action_id facility_id"):
    """What a character does now."""

    name: str = Field(description="as the author calls it, in the world's language")
    node_id: str = Field(description="the node where it is done")
    since: WorldTimeText = Field(description="the world time at which it began")
    until: WorldTimeText | None = Field(
        description="the world time at which it is done; null: nobody knows, as in a talk"
    )
    talking_in: str | None = Field(description="id of the conversation")


class PersonOut(Out, of=Profile, shows="id name"):
    """Somebody and where."""

    kind: PersonKind = Field(
        description="a character moves and decides; an NPC stands at its post; for a player a human speaks"
    )
    position: PositionOut | None = Field(description="where it is at that moment; null: nowhere, and nobody sees it")
    talking_in: str | None = Field(description="id of the conversation it is in; null: it is in none")
    activity: ActivityOut | None = Field(
        default=None, description="what a character does now; null: it decides next, or at a past moment"
    )


class PeopleOut(Out):
    """Everybody at one moment, characters first; players who are nowhere are left out."""

    next: NextPage = None
    at: WorldTimeText = Field(description="the world time that is shown")
    people: list[PersonOut] = Field(description="the people of this page")


class WorldOut(
    OutWithValues,
    of=WorldView,
    shows="id language now started_at label weather decision context_tokens circumstances",
):
    """A world's clock and how it is played."""

    name: str = Field(description="the world's name, as its author calls it")
    characters: int = Field(description="how many characters live in it")
    npcs: int = Field(description="how many NPCs stand in it")
    conversations_running: int = Field(description="how many conversations are being spoken now")
    tick_minutes: int = Field(description="how many world minutes a tick is")
    models: dict[str, str] = Field(description="which model answers per role: openai:gpt-4.1-mini, rehearsal")
    rehearsal: bool = Field(description="true where no language model speaks, but the rehearsal")
    memory: str = Field(description="where long-term memory is kept: sql or graphiti")
    memories_waiting: int = Field(
        description="people of whose memories the graph in Neo4j has yet to be given something"
    )
    until: WorldTimeText = Field(description="where the clock was told to go; `now` where it stands")
    moving: bool = Field(description="the world is on its way from `now` to `until`")
    calls_in_flight: int = Field(description="questions to models that this process has asked and not had answered")
    clock: ClockOut = Field(description="how its clock runs")
    announcements: list[Notice] = Field(description="what everybody knows of now")


class NodeOut(Out, of=Node, shows="id map_id name x y"):
    """A place to stand on."""

    closed: bool = Field(description="true: an NPC stands there, nobody else can")


class FacilityOut(Out, of=Facility, shows="id map_id name node_ids"):
    """What can be used, from which nodes, and when (``HH:MM-HH:MM``)."""

    tags: list[str] = Field(description="what can be done there: actions of actions.json name these")
    hours: list[str] = Field(description="when it is open, each `HH:MM-HH:MM`")
    open_now: bool = Field(description="true: it is open at the world's clock")


class MapOut(OutWithValues):
    """All maps of the world."""

    maps: dict[str, str] = Field(description="each map's name by its id")
    nodes: list[NodeOut] = Field(description="the places to stand on")
    edges: list[Edge] = Field(description="the ways between nodes")
    facilities: list[FacilityOut] = Field(description="the shops, fields and houses")
    posts: dict[str, str] = Field(description="the node each NPC stands at, by the NPC's id")


class OneMemoryOut(
    Out,
    of=MemoryRow,
    shows="text about? subject_id told_by via importance? level partner_id? conversation_id? quote slot topics turns "
    "evidence replaced_by valid_from valid_to known_from known_until expires_at kept_from",
):
    """Something that a person remembers, of whatever kind. What its kind does not have is null, or empty."""

    id: str = Field(
        description="what it is called here: its kind and its id", examples=["fact.9f0a3c52", "turn.6f1c0a94d2b7.0003"]
    )
    kind: Kind = Field(
        description="fact; observed: it perceived it itself; self: it has told it of itself; insight: it has come to "
        "think it; mid_term: it affects its next days; turn: it was said in a talk; summary: of a talk"
    )
    line: str = Field(
        description="as the person is told of it in a prompt, with its teller and when: true whatever is the case",
        examples=["(yesterday) What Harue has told you: Misaki was her best friend."],
    )
    speaker_name: str | None = Field(description="of a turn: name of who said it")
    mode: Mode | None = Field(description="how it was meant")
    support: Support | None = Field(
        description="what it rests on. author: its author says so; perceived: it was perceived; these stand by "
        "themselves. verified, model, unsure: somebody told it, as a second look at the talk confirms, as a model "
        "wrote it, and as that look did not find it said; null: it is a turn"
    )
    source: Source | None = Field(description="what it came of; null: it is a view of a talk")
    confidence: float | None = Field(
        description="how far it may be relied on, 0..1: 0.8 of what it was before is left after each who told it on",
        examples=[0.64],
    )
    overheard: bool | None = Field(description="of a turn: the person took no part in that conversation")
    ago: str = Field(description="the world time since it is known, in the world's language")
    given_id: str | None = Field(description="the caller's own id of the line it came of; null: it was learned here")
    given_conversation: str | None = Field(
        description="the caller's own id of the talk that line was of; null: it was of none"
    )
    forgotten_at: WorldTimeText | None = Field(
        description="the world time since which it has faded; null: it is remembered"
    )


class TellFromOut(Out):
    """Who may be told a secret; either suffices."""

    affinity: int | None = Field(description="whoever its owner likes at least so much; null: no matter how much")
    person: str | None = Field(description="the person with that id; null: none is named")


class SecretOut(Out, of=Secret, shows="fact"):
    """Something true of a person that its author lets it tell to some only. It is for who makes the game: no player
    need see it.
    """

    tell_from: TellFromOut = Field(description="who may be told")


class MeetingOut(_WithPartner, of=SummaryRow, shows="conversation_id summary topics at"):
    """A closed conversation, as one of those who took part remembers it."""

    elapsed_minutes: int = Field(description="world minutes since then")
    ago: str = Field(description="the world time since, in words", examples=["2日前"])


class PersonDetail(PersonOut, of=CharacterProfile, shows="personality tendencies custom_prompt identity facts home?"):
    """A person of any kind as it stands now. What its kind does not have is null, or empty."""

    made: bool = Field(
        description="true: made at run time, and can be changed and removed; false: in a file of content"
    )
    persona: list[PersonaLine] = Field(description="what else its author wrote; told when the moment asks for it")
    goals: list[dict[str, str]] = Field(
        description="what it wants of life: `goal`, and its `importance` (low, medium, high)"
    )
    secrets: list[SecretOut] = Field(
        description="what is true of it as well, and told to some only; in no prompt of a talk with anybody else"
    )
    learned_facts: list[OneMemoryOut] = Field(
        description="what it has also said of itself since the story began, and what of it holds still; oldest first. "
        "Its author's `facts` stand first"
    )
    mood: Mood = Field(description="how it feels now")
    affinity: dict[str, int] = Field(description="towards each it has had to do with, -100..100")
    conversation_count: int = Field(description="how many conversations it has had, with anybody")
    last_conversation_at: WorldTimeText | None = Field(
        description="the world time of its last conversation; null: it has had none"
    )
    mid_term: list[MidTerm] = Field(description="what is on its mind for the next days")
    today: list[MeetingOut] = Field(description="its conversations of the current day")
    items: list[str] = Field(description="things it carries, in words")
    busy: bool = Field(description="of a player: nobody speaks to it first")
    spawn_node_id: str | None = Field(description="of an NPC: the node it stands at")
    beside: list[str] = Field(description="of a character: ids of people close enough to talk to")
    decision: DecidingBy | None = Field(
        default=None,
        description="of a character: how it decides now: by its model, seldom (sketch), by routine, or by a client",
    )
    needs: list[NeedOut] = Field(default=[], description="of a character: its needs and their levels now")
    thought: str = Field(
        default="",
        description="of a character: what it thought when it last decided; empty while a client decides",
    )
    plan: list[DayBlock] = Field(
        default=[], description="of a character: what it means to do today; empty: its routine is the plan"
    )
    routine: list[DayBlock] = Field(
        default=[], description="of a character: what it does on any day, as its author wrote"
    )


class RecalledOut(OneMemoryOut, of=Recalled, shows="score bears"):
    """Something that a search found."""

    parts: dict[str, float] = Field(
        description="what the score is made of: `words` (its own), `around` (the words beside it in its talk), `cues` "
        "(who speaks, when, question or answer, length), `cosine` (likeness, where there are vectors), `importance`, "
        "`about`",
        examples=[{"words": 1.0, "around": 1.8, "cues": -0.2, "cosine": 0.9, "importance": 0.08, "about": 0.0}],
    )


class RelationOut(Out, of=Attitude, shows="last_met_at power intimacy task_oriented"):
    """How the two stand."""

    affinity: int = Field(description="of the one asked about, towards the one who remembers, -100..100")
    conversation_count: int = Field(description="how many conversations the two have had")
    stance: str = Field(
        description="of the one who remembers, towards the one asked about, in a sentence said to it; empty: nothing "
        "stands out"
    )


Rememberer = Annotated[str, Field(description="id of the one who remembers")]


class MemoryOut(Out, of=WorldView, shows="now"):
    """What a person, NPC or character, remembers. `next` pages the facts."""

    next: NextPage = None
    person_id: Rememberer
    character_id: str = Field(description="an older name of `person_id`")
    npc_id: str | None = Field(description="an older name of `about`")
    group_id: str = Field(description="what the long-term memory is called: the `group_id` of its graph in Neo4j")
    about: str | None = Field(description="about whom it was asked")
    found: bool = Field(
        description="whether a fact or a turn bears on the query (without one: whether anything is remembered); "
        "if not, `facts` are only the nearest there are"
    )
    relation: RelationOut | None = Field(description="how the two stand; null: nobody was named by `about`")
    last_meeting: MeetingOut | None = Field(
        description="the last closed conversation of the two; null: there is none, or nobody was named"
    )
    facts: list[RecalledOut] = Field(description="remembered facts, the ones that fit best first")
    turns: list[RecalledOut] = Field(
        description="with a query: what was said that answers it and no fact tells, the best first; at most ten"
    )
    insights: list[OneMemoryOut] = Field(
        description="what it has come to think: with a query of what bears on it, with `about` of what names that one; "
        "at most ten"
    )
    mid_term: list[MidTerm] = Field(description="what is on its mind for the next days")
    today: list[MeetingOut] = Field(description="its conversations of the current day")
    long_term_available: bool = Field(
        description="false: the memory graph is away, and `facts` is empty for that reason"
    )


class UsageOut(CostOut, of=UsageRow, shows="role failures cached_tokens money estimated"):
    """Model calls, tokens and money of one world day and role."""

    day: str = Field(description="the world day, YYYY-MM-DD")


class HealthOut(Out):
    """Whether the service and what it needs are there."""

    status: Literal["ok", "degraded", "down"] = Field(
        description="ok: all is there; degraded: it serves, and something is missing; down: nothing can be kept"
    )
    degraded: list[str] = Field(default_factory=list, description="the parts that are missing while it serves")
    checks: dict[str, str] = Field(description="by part: ok, or what is wrong and what to do")
