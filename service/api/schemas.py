"""Owns what travels over HTTP. Times are world times, ``YYYY-MM-DDTHH:MM`` without a zone."""

from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args

from pydantic import BeforeValidator, Field, computed_field

from service.api.fields import Change, In, MayBeLeftOut, Out, Slug, Text, Whole, WorldTimeText
from service.api.life_schemas import ActivityOut, AnnounceIn, AnnouncementOut, ClockOut, LifeOut
from service.content.profile import Decides, Importance, Mood
from service.conversation.prompt import Emotion
from service.locales import Language
from service.memory.extraction import Mode
from service.store.event_kinds import Payload, RejectionReason, for_every_kind
from service.store.phase import EndReason, Phase

Weather = Annotated[str, Field(max_length=80, pattern=r"^[^\u0000]*$")]


class StartIn(In):
    """Who talks to whom, and why. Without a goal the character sets one itself."""

    character_id: Slug
    partner_id: Slug | None = Field(default=None, description="whom it talks to: an NPC, or another character")
    npc_id: Slug | None = Field(default=None, description="an older name of `partner_id`")
    goal: Text | None = Field(default=None, examples=["最近の様子を聞きたい"])
    success_criteria: Text | None = Field(default=None, examples=["近況を1つ以上聞けたら達成"])
    max_turns: Annotated[Whole, Field(ge=1, le=50)] | None = None


class TickIn(In):
    """How many ticks to advance; a tick is the service's `tick_minutes` (default 1) world minutes.

    `wait`: answer when the world is there, not at once.
    """

    ticks: Whole = Field(default=1, ge=1, le=10_000_000)
    wait: bool = Field(default=True, strict=True)


class WorldIn(Change):
    """What of a world can be changed; what is left out stays as it is.

    `decision`: how characters decide that say nothing of their own (null: as the service's settings say). `weather`: in
    words, empty for none. `announce`: something everybody knows of from now on.
    """

    language: MayBeLeftOut[Language] = None
    decision: Decides | None = None
    weather: MayBeLeftOut[Weather] = None
    announce: MayBeLeftOut[AnnounceIn] = None


class GoalOut(Out):
    """What the character wants of the conversation."""

    goal: str
    success_criteria: str
    given: bool = Field(description="False: the character set it itself")


def _known(emotion: object) -> object:
    return emotion if emotion in get_args(Emotion) else "neutral"


class TurnOut(Out):
    """One utterance. `turn` counts from 0; `model` says who made it."""

    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    emotion: Annotated[Emotion, BeforeValidator(_known)]
    at: WorldTimeText
    model: str
    prompt_tokens: int
    completion_tokens: int
    duration_ms: int


class FailureOut(Out):
    """What went wrong: the problem's type, whose model call it was, and a sentence in the world's language."""

    type: str
    role: str
    detail: str


class CostOut(Out):
    """Model calls and tokens."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class StepOut(Out):
    """A number or word before and after."""

    before: int | str
    after: int | str


class KeptFactOut(Out):
    """A fact that was stored, with the turn it was said in."""

    id: str
    statement: str
    turn: int


class MidTermOut(Out):
    """Something that affects the character's next days. A `commitment` is an open promise, by the person or to it, or
    what became of one.
    """

    content: str
    importance: Importance
    expires_at: WorldTimeText
    created_at: WorldTimeText | None = None
    partner_id: str | None = Field(default=None, description="of whom, or with whom, it came")
    conversation_id: str | None = None
    kind: str = Field(default="conversation", examples=["conversation", "commitment"])

    @computed_field(description="an older name of `partner_id`")  # type: ignore[prop-decorator]
    @property
    def source_npc_id(self) -> str | None:
        """An older name of `partner_id`."""
        return self.partner_id


class CommitmentIn(In):
    """What became of a promise."""

    state: Literal["kept", "broken", "released"]


class CommitmentOut(Out):
    """A promise, in the words it was made in. What was not said is empty, or null."""

    id: str
    by_id: str
    to_id: str
    words: str
    state: Literal["open", "kept", "broken", "released", "lapsed"]
    place: str = Field(description="where, as it was said")
    node_id: str | None = Field(description="where, if that is on the map")
    due_at: WorldTimeText | None = Field(description="when: a minute, or the end of the day that was said")
    has_hour: bool = Field(description="an hour was said, not a day alone")
    moves: bool = Field(description="it was planned for a place and an hour: who made it goes there")
    made_at: WorldTimeText
    expires_at: WorldTimeText = Field(description="until when it is open, if nothing ends it before")
    ended_at: WorldTimeText | None
    conversation_id: str
    turn: int


class RejectedOut(Out):
    """Something the model claimed that was not stored, and why."""

    statement: str
    turn: int | None
    reason: RejectionReason


class _SideChanges(Out):
    summary: str
    topics: list[str]
    affinity: StepOut
    stance: str
    facts: list[KeptFactOut]
    mid_term: list[MidTermOut]
    rejected: list[RejectedOut]


class PartnerChangesOut(_SideChanges):
    """What a talk of two characters has changed for the one that was spoken to."""

    affinity: StepOut = Field(description="of the one who began the talk, towards this one")


class ChangesOut(_SideChanges):
    """What a closed conversation has changed. Between two characters it is the one's who began; `partner` the
    other's.
    """

    mood: StepOut
    learned_facts: list[KeptFactOut] = Field(
        description="what the NPC told about itself that it did not have as a fact"
    )
    facts: list[KeptFactOut] = Field(description="what the character now remembers")
    partner: PartnerChangesOut | None = None


class _WithPartner(Out):
    partner_id: str
    partner_name: str

    @computed_field(description="an older name of `partner_id`")  # type: ignore[prop-decorator]
    @property
    def npc_id(self) -> str:
        """An older name of `partner_id`."""
        return self.partner_id

    @computed_field(description="an older name of `partner_name`")  # type: ignore[prop-decorator]
    @property
    def npc_name(self) -> str:
        """An older name of `partner_name`."""
        return self.partner_name


class ConversationOut(_WithPartner):
    """A conversation without its turns."""

    id: str
    character_id: str
    character_name: str
    partner_kind: Literal["npc", "character"] = Field(description="who the partner is: two characters can talk, too")
    living: bool = Field(description="true where the living world holds it, a minute a turn; false: a client began it")
    node_id: str
    phase: Phase
    goal: GoalOut | None
    goal_achieved: bool
    end_reason: EndReason | None
    failure: FailureOut | None
    started_at: WorldTimeText
    ended_at: WorldTimeText | None
    closed_at: WorldTimeText | None
    max_turns: int
    models: dict[str, str] = Field(description="who answers per role: openai:gpt-4.1-mini, rehearsal")
    rehearsal: bool = Field(description="true where no language model spoke, but the rehearsal")
    cost: CostOut
    links: dict[str, str]


class MessageOut(Out):
    """One message of a prompt. `assistant` is what the speaker itself said before."""

    role: Literal["system", "user", "assistant"]
    content: str


class PromptOut(Out):
    """What a speaker was sent when it was asked for a turn, letter by letter: why it said that."""

    turn: int
    speaker_id: str
    speaker_name: str
    model: str = Field(description="who answered")
    text: str = Field(description="what it said")
    messages: list[MessageOut]


class ConversationDetail(ConversationOut):
    """A conversation with its turns and, once closed, what it changed."""

    turns: list[TurnOut]
    changes: ChangesOut | None


class Page(Out):
    """A part of a list. `next` is the cursor of the page that follows; null on the last."""

    next: str | None = Field(default=None, description="the `after` of the next page; null: this is the last")


class ConversationPage(Page):
    """Conversations, newest first."""

    items: list[ConversationOut]


class EventOut(Out):
    """Something that happened, `data` as its `kind` has it; see docs/events.md."""

    id: int
    at: WorldTimeText
    kind: str
    person_id: str | None
    data: Payload


EVENTS = for_every_kind(EventOut)
"""How an event of each kind travels."""

if TYPE_CHECKING:
    AnyEventOut = EventOut
else:
    AnyEventOut = Annotated[Union[tuple(EVENTS.values())], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


class AgendaPage(Page):
    """Promises, those that are open first."""

    items: list[CommitmentOut]


class EventPage(Page):
    """Events in the order asked for."""

    items: list[AnyEventOut]


class TickOut(Page):
    """What a step of time brought. `now` is where the clock is, `until` where it goes; `next` is the `after` with which
    `GET /world/events` tells the events that are not here.
    """

    before: WorldTimeText
    now: WorldTimeText
    until: WorldTimeText
    ticks: int
    events: list[AnyEventOut]


class PositionOut(Out):
    """On `node_id`, or on the way from it `toward` the next one, of which `progress` (0 up to 1) is done."""

    node_id: str
    place: str
    toward: str | None = None
    progress: float = 0.0
    walking_to: str | None = None
    arrives_at: WorldTimeText | None = None


class PersonOut(Out):
    """Somebody and where."""

    id: str
    name: str
    kind: Literal["character", "npc"]
    position: PositionOut
    talking_in: str | None = Field(description="id of the conversation the person is in")
    activity: ActivityOut | None = Field(default=None, description="what a character does now; null at a past moment")


class PeopleOut(Page):
    """Everybody at one moment, characters first."""

    at: WorldTimeText
    people: list[PersonOut]


class WorldOut(Out):
    """A world's clock and how it is played."""

    id: str
    name: str
    language: Language
    started_at: WorldTimeText
    now: WorldTimeText
    label: str
    tick_minutes: int
    models: dict[str, str]
    rehearsal: bool
    memory: str
    characters: int
    npcs: int
    conversations_running: int
    memories_waiting: int = Field(description="closed conversations the long-term memory has yet to be given")
    until: WorldTimeText = Field(description="where the clock was told to go; `now` where it stands")
    moving: bool = Field(description="the world is on its way from `now` to `until`")
    calls_in_flight: int = Field(description="questions to models that this process has asked and not had answered")
    clock: ClockOut
    decision: Decides = Field(description="how characters decide that say nothing of their own")
    weather: str
    announcements: list[AnnouncementOut]
    circumstances: str = Field(description="date, time, weather and announcements as every prompt says them")


class NodeOut(Out):
    """A place to stand on. `closed`: an NPC stands there."""

    id: str
    map_id: str
    name: str
    x: float
    y: float
    closed: bool


class EdgeOut(Out):
    """A way, walked in `minutes` in either direction."""

    a: str
    b: str
    minutes: int


class FacilityOut(Out):
    """What can be used, from which nodes, and when (``HH:MM-HH:MM``)."""

    id: str
    map_id: str
    name: str
    node_ids: list[str]
    tags: list[str]
    hours: list[str]
    open_now: bool


class MapOut(Out):
    """All maps of the world; `posts` says where each NPC stands."""

    maps: dict[str, str]
    nodes: list[NodeOut]
    edges: list[EdgeOut]
    facilities: list[FacilityOut]
    posts: dict[str, str]


class _Fact(Out):
    id: str
    statement: str
    conversation_id: str
    turn: int | None
    valid_at: WorldTimeText
    invalid_at: WorldTimeText | None
    replaced_by: str | None


class LearnedFactOut(_Fact):
    """A fact an NPC told about itself, in its own words."""

    statement: str = Field(validation_alias="words", description="what it said, and what it was asked before")
    turn: int


class _AuthoredPerson(Out):
    id: str
    name: str
    personality: str
    tendencies: list[str]
    custom_prompt: str
    facts: list[str]
    talking_in: str | None


class NpcOut(_AuthoredPerson):
    """An NPC as it stands now. `facts` are its author's; `learned_facts` what it told since, closed ones last."""

    learned_facts: list[LearnedFactOut]
    mood: Mood
    conversation_count: int
    last_conversation_at: WorldTimeText | None
    spawn_node_id: str
    affinity: dict[str, int] = Field(description="towards each character it has met")


class CharacterOut(_AuthoredPerson, LifeOut):
    """A character as it stands now."""

    goals: list[dict[str, str]]
    home: str
    position: PositionOut
    beside: list[str] = Field(description="ids of people close enough to talk to")
    mid_term: list[MidTermOut]
    today: list["TodayOut"]


class TodayOut(_WithPartner):
    """A conversation of the character's current day."""

    conversation_id: str
    summary: str
    at: WorldTimeText


class LastMeetingOut(Out):
    """The last closed conversation of the two."""

    conversation_id: str
    summary: str
    topics: list[str]
    at: WorldTimeText
    elapsed_minutes: int
    ago: str = Field(description="the world time since, in the world's language", examples=["2日前"])


class RememberedFact(_Fact):
    """What is said of a remembered fact wherever it is shown."""

    statement: str = Field(
        validation_alias="shown",
        description="what may be said of it: the fact itself where it is `stated`, else the words it was said in",
    )
    words: str = Field(description="who said it, what was asked before, and what was said")
    stated: bool = Field(validation_alias="held", description="the words hold the fact by itself, by a strict check")
    mode: Mode = Field(description="how it was meant")
    importance: int = Field(description="from 1, small talk, to 10, what changes a life")
    tellings: int = Field(description="how often it was told")
    subject: str
    relation: str
    object: str
    learned_at: WorldTimeText
    expired_at: WorldTimeText | None


class FactOut(RememberedFact):
    """A remembered fact: true from `valid_at` to `invalid_at`, known from `learned_at` on, and where it is from."""

    ago: str
    score: float


class HeardTurnOut(Out):
    """A turn the person heard or spoke, as it was said: which turn of which conversation, and how well it answers."""

    conversation_id: str
    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    at: WorldTimeText
    ago: str
    score: float


class RelationOut(Out):
    """How the two stand. `affinity` is that of the one asked about, -100..100; `stance` that of the one who
    remembers.
    """

    affinity: int
    conversation_count: int
    last_met_at: WorldTimeText | None
    stance: str


class PersonMemoryOut(Page):
    """What a person, NPC or character, remembers. `long_term_available` false: the memory graph is away, `facts` empty.
    `next` pages the facts.

    `relation` and `last_meeting` are null where nobody was named by `about`.
    """

    person_id: str
    group_id: str = Field(description="what the long-term memory is called: the `group_id` of its graph in Neo4j")
    about: str | None = Field(description="about whom it was asked")
    now: WorldTimeText
    found: bool = Field(
        description="whether a fact or a turn bears on the query (without one: whether anything is remembered); "
        "if not, `facts` are only the nearest there are"
    )
    relation: RelationOut | None
    last_meeting: LastMeetingOut | None
    facts: list[FactOut]
    turns: list[HeardTurnOut] = Field(
        description="with a query: what was said that answers it and no fact tells, the best first; at most ten"
    )
    mid_term: list[MidTermOut]
    today: list[TodayOut]
    long_term_available: bool


class MemoryOut(PersonMemoryOut):
    """What a character remembers: `person_id` and `about` also go by their older names."""

    character_id: str
    npc_id: str | None


class UsageOut(CostOut):
    """Model calls and tokens of one world day and role. `estimated`: a server did not report tokens."""

    day: str
    role: str
    failures: int
    cached_tokens: int
    estimated: bool


class LeftOut(Out):
    """A limit a day, how much of it is spent, and how much is left."""

    limit: int
    spent: int
    left: int


class BudgetOut(Out):
    """What a day's model calls may cost, over all worlds. `day` and `renews_at` are the machine's, in UTC."""

    day: str = Field(examples=["2026-04-01"])
    renews_at: str = Field(examples=["2026-04-02T00:00:00Z"])
    exhausted: bool = Field(description="no model is asked any more today, but for what is still to be remembered")
    calls: LeftOut | None = Field(description="null: no limit (KATARIBE_LLM__MAX_CALLS_PER_DAY)")
    tokens: LeftOut | None = Field(description="null: no limit (KATARIBE_LLM__MAX_TOKENS_PER_DAY)")


class HealthOut(Out):
    """Whether the service and what it needs are there."""

    status: Literal["ok", "degraded"]
    checks: dict[str, str]
