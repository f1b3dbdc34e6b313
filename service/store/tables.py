"""Owns the SQL tables. Every row carries its `world_id`; every time is a world time in minutes unless it says
otherwise. Each declares its policy (store/policy.py).
"""

from typing import Any, NamedTuple

from sqlalchemy import JSON, BigInteger, Column, ColumnElement, ForeignKeyConstraint, Index, MetaData, inspect
from sqlalchemy.orm import aliased
from sqlmodel import AutoString, Field, Relationship, SQLModel, col

from service.content.profile import PersonKind
from service.store.ids import new_id
from service.store.phase import CommitmentState, Loudness, Modulator, Speaker, TurnForm, TurnPolicy
from service.store.policy import GoesWith, Policy, TableT

SQLModel.metadata.naming_convention = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
).naming_convention


def shared_alias(table: type[TableT]) -> type[TableT]:
    """An alias of a table, for many threads. SQLAlchemy indexes an alias's columns when one is looked for first: two
    threads that look at once would find the index half made, and the alias would name the wrong table for good.
    """
    alias: type[TableT] = aliased(table)
    inspect(alias).selectable.corresponding_column(next(iter(inspect(table).columns)))
    return alias


def _json() -> Any:
    return Field(sa_column=Column(JSON, nullable=False))


class ConversationKey(NamedTuple):
    """Which conversation of which world: ids are a world's own. It is the primary key of its row."""

    world_id: str
    conversation_id: str


def _of_conversation() -> ForeignKeyConstraint:
    """What goes with its conversation."""
    return ForeignKeyConstraint(
        ["world_id", "conversation_id"], ["conversations.world_id", "conversations.id"], ondelete="CASCADE"
    )


MAIN_WORLD = "main"
"""The world of whoever names none."""


class _OfWorld(SQLModel):
    world_id: str = Field(primary_key=True)


class OfPerson(_OfWorld):
    """A row that is a person's."""

    person_id: str = Field(primary_key=True)


@Policy(copied=False)
class InstallationRow(SQLModel, table=True):
    """Which installation of the service this database belongs to, in the only row there is. What it writes elsewhere
    bears `id`; replicas on one database are one installation.

    `calls` and `tokens` are what its model calls have cost on `day`, over all worlds: a budget's day is the machine's,
    in UTC (2026-04-01). Counted only where a limit is set. Calls that are out count with all they may come to.
    """

    __tablename__ = "installation"

    number: int = Field(default=1, primary_key=True)
    id: str = Field(default_factory=new_id)
    day: str = ""
    calls: int = 0
    tokens: int = Field(default=0, sa_type=BigInteger)


@Policy(exported=False)
class WorldRow(SQLModel, table=True):
    """One running world and its clock.

    All before `now` has happened and is told; `target` is how far the world was told to go (None: no
    farther): until the clock is there the world moves. People may have lived ahead of the clock; nothing has been
    decided or said at the minute `reached` or later. `decision`: how characters decide that say nothing of their own
    (None: as the settings say). `clock_mode`, `clock_speed` (world minutes a real minute) and `clock_pace` are the
    running clock's; `clock_stopped` is why the service itself has stopped it (None: it has not).
    `flags` is what the game holds to be so (GET /world/flags), by name. `notices` are what authors announced, such as a
    festival: everybody knows of each `text` from its `at` until before its `until`.
    `revision` grows with every write of the living state, `people_revision` where people were made, changed or removed
    at run time (0: never): no two casts of any world bear the same. `timeline` changes where the world is brought back
    to what it was: what was asked before is of no use any more. `branched_from` is the world that this one was until
    its minute `branched_at` (None: it began by itself). `lease_until` is machine time: until then the process named in
    `runner` moves it; until `wanted_until` another one waits for the world to stand, to change it. `clock_runner` and
    `clock_lease_until` say of the process that runs its clock what `runner` and `lease_until` say.
    """

    __tablename__ = "worlds"

    id: str = Field(primary_key=True)
    language: str
    started_at: int = Field(sa_type=BigInteger)
    now: int = Field(sa_type=BigInteger)
    target: int | None = Field(default=None, sa_type=BigInteger)
    reached: int = Field(default=0, sa_type=BigInteger)
    decision: str | None = None
    weather: str = ""
    flags: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    notices: list[dict[str, Any]] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    clock_mode: str = "manual"
    clock_speed: float = 1.0
    clock_pace: str = "exact"
    clock_stopped: str | None = None
    revision: int = 0
    people_revision: int = Field(default=0, sa_type=BigInteger)
    timeline: int = Field(default=0, sa_type=BigInteger)
    branched_from: str | None = None
    branched_at: int | None = Field(default=None, sa_type=BigInteger)
    runner: str | None = None
    lease_until: float = 0.0
    wanted_until: float = 0.0
    clock_runner: str | None = None
    clock_lease_until: float = 0.0


@Policy(whose="person_id", goes=GoesWith.PERSON, passing_columns=("life", "agent_state"))
class PersonRow(OfPerson, table=True):
    """What changes about a person of any kind. `sleeps` counts its nights: a conversation belongs to the day it began
    in.

    `decision`: model, routine, or client while a client controls it (None: as its file or its world says). `items`:
    what it carries. `busy`: of a player whom nobody speaks to first. Of somebody who lives, `life` is as the world's
    core holds it (people/life_record.py), and `agent_state` what is on its mind (decision/agent_state.py).
    """

    __tablename__ = "people"

    sleeps: int = 0
    decision: str | None = None
    items: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    busy: bool = False
    life: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    agent_state: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


@Policy(whose="person_id", exported=False)
class MadePersonRow(OfPerson, table=True):
    """A person that was made at run time, beside those of the content: `profile` is as it was given, as JSON
    (content/made.py).

    `removed`: it is not in the world any more, and its name stays for those who remember it.
    """

    __tablename__ = "made_people"

    kind: PersonKind = Field(sa_type=AutoString)
    profile: str
    removed: bool = False


@Policy(conversation="conversation_id", passing=True)
class TalkRow(_OfWorld, table=True):
    """A conversation as the world's core holds it; kept while somebody may still look back to it."""

    __tablename__ = "talks"

    talk_id: str = Field(primary_key=True)
    conversation_id: str
    talk: dict[str, Any] = _json()


@Policy(passing=True)
class PendingEventRow(_OfWorld, table=True):
    """An event worked out ahead of the world's clock; it is told (moves to `events`) when the clock has passed it.

    `rank`, `person_id` and `key` order the events of one minute, see store/events.py.
    """

    __tablename__ = "pending_events"
    __table_args__ = (Index("ix_pending_events_order", "world_id", "at", "rank"),)

    id: str = Field(default_factory=new_id, primary_key=True)
    at: int = Field(sa_type=BigInteger)
    rank: int
    person_id: str
    key: str
    kind: str
    data: dict[str, Any] = _json()


@Policy(whose="character_id", goes=GoesWith.PERSON, known="starts_at", exported=False)
class MovementRow(_OfWorld, table=True):
    """A segment of a character's way: it reaches `path[i]` at `times[i]`. Past ones are kept; of those that begin in
    the same minute only the last is ever walked, and stays.
    """

    __tablename__ = "movements"

    character_id: str = Field(primary_key=True)
    starts_at: int = Field(sa_type=BigInteger, primary_key=True)
    path: list[str] = _json()
    times: list[int] = _json()


@Policy(conversation="id", exported=False)
class ConversationRow(_OfWorld, table=True):
    """A conversation and where it stands. The row is the workflow: whoever finds it in a phase can go on from there.

    `clock_policy` says what world time its turns take (see store/phase.py). `talk_id` is set where it is a talk of the
    living world. `lease_until` is machine time (seconds since 1970): until then the runner named in `runner` works on
    it. `awaits`: the person whose words a human is to find next (None: nobody waits for a human); silence ends it at
    `silent_at` (machine time) or at the world time `silent_at_minute`, 0: never. `attempts`: how often somebody set
    about its next turn, or its closing. `chat_idle_minutes` (of the machine) is set where it is a chat client's (see
    conversation/chat.py): so long may its user be silent. `holds_clock`: the world's clock stands while it runs. `told`
    is what the game said was going on when it began, line by line. `actions`: ids of all that may be asked of the game
    in it (None: what the content allows). `choices`: so many lines are suggested to the player after each turn of a
    model. `opened_for`: why somebody spoke to a player first, by the world's rule (phase.OpenedFor; None: a client
    began it, or the living world), and `matter` what of. `form`: what a turn is made of, `turn_policy`: who is next,
    `modulator`: who perceives a turn (all in store/phase.py); before its turn a speaker is shown the newest
    `perceptions` of what it has perceived since its last. `place`: in words, where it is at no node of the map.
    `stands_at`: before that turn it stands until somebody lets it go on (None: it goes on by itself).
    """

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_started", "world_id", "started_at"),
        Index("ix_conversations_phase", "phase"),
    )

    id: str = Field(primary_key=True)
    node_id: str
    clock_policy: str = "none"
    talk_id: str | None = None
    language: str
    goal: str | None = None
    success_criteria: str | None = None
    goal_given: bool = False
    goal_achieved: bool = False
    max_turns: int
    phase: str
    end_reason: str | None = None
    failure: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    started_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    closed_at: int | None = Field(default=None, sa_type=BigInteger)
    models: dict[str, str] = _json()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    changes: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    awaits: str | None = None
    silent_at: float = 0.0
    silent_at_minute: int = Field(default=0, sa_type=BigInteger)
    attempts: int = 0
    chat_idle_minutes: float | None = None
    told: list[str] | None = Field(default=None, sa_column=Column(JSON))
    holds_clock: bool = False
    actions: list[str] | None = Field(default=None, sa_column=Column(JSON))
    choices: int = 0
    opened_for: str | None = None
    matter: str = ""
    form: str = TurnForm.TALK
    turn_policy: str = TurnPolicy.IN_ORDER
    modulator: str = Modulator.ALL
    perceptions: int = 3
    place: str = ""
    stands_at: int | None = None
    runner: str | None = None
    lease_until: float = 0.0

    participants: list["ParticipantRow"] = Relationship(
        cascade_delete=True,
        passive_deletes=True,
        sa_relationship_kwargs={"lazy": "joined", "innerjoin": True, "order_by": "ParticipantRow.seat"},
    )

    @property
    def key(self) -> ConversationKey:
        """Its primary key."""
        return ConversationKey(self.world_id, self.id)

    @property
    def has_human(self) -> bool:
        """A human speaks for one of those who take part."""
        return any(one.speaker == Speaker.HUMAN for one in self.participants)

    @property
    def opener_id(self) -> str:
        """Who opened it: the goal is this person's."""
        return self.participants[0].person_id

    @property
    def partner_id(self) -> str:
        """Whom the opener talks to."""
        return self.participants[1].person_id

    @property
    def person_ids(self) -> tuple[str, ...]:
        """Everybody, in the order of their seats."""
        return tuple(participant.person_id for participant in self.participants)

    def seat_of(self, person_id: str) -> int:
        """Raises: ValueError: the person takes no part."""
        return self.person_ids.index(person_id)


@Policy(whose="person_id", conversation="conversation_id", exported=False)
class ParticipantRow(_OfWorld, table=True):
    """Somebody who takes part in a conversation. `seat` 0 opened it; whoever joins takes the next.

    `speaker`: who finds its words, a model or a human. `night` is the day of its life in which it joined:
    to that day the conversation belongs. `joined_turn` is the first turn that it hears, `left_turn` the first that it
    does not hear any more (None: it stays to the end). `engaged`: it talks now, and can begin no other conversation;
    whoever begins one holds the world's row, so that nobody does so twice at once. In a scene it has a `goal` and a
    `plan` of its own, and stands at a `spot` ("": where the others are).
    """

    __tablename__ = "participants"
    __table_args__ = (
        _of_conversation(),
        Index("ix_participants_person", "world_id", "person_id"),
        Index("ix_participants_engaged", "world_id", "engaged"),
    )

    conversation_id: str = Field(primary_key=True)
    person_id: str = Field(primary_key=True)
    seat: int
    speaker: str = Speaker.MODEL
    joined_turn: int = 0
    left_turn: int | None = None
    night: int = 0
    engaged: bool = False
    goal: str = ""
    plan: str = ""
    spot: str = ""


def engaged_in(world_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of participants: those of the world who talk now."""
    return col(ParticipantRow.world_id) == world_id, col(ParticipantRow.engaged).is_(True)


class Suggestion(NamedTuple):
    """A line that was suggested with a turn."""

    id: str
    text: str


@Policy(conversation="conversation_id", turn="turn", known="at", exported=False)
class TurnRow(_OfWorld, table=True):
    """One utterance. `turn` counts from 0; `duration_ms` is the model's share in machine time. `note` is the block that
    its speaker was shown before it, as it was sent (see PromptRow), and `recalled` the block of memories, which no
    later prompt repeats; `reminded` refers to those (memory/refs.py). Where a human found its words, `model` is
    "human" and nothing was called; `message_id` is the client's own name for it, and `told` what the game said with it
    was going on, line by line. `choices` are the lines that its speaker suggested for the answer (None: none).

    In a scene a turn is what its speaker thinks, does (`act`) and says (`text`), each of which may be "". It is said to
    those `addressed` (None: to all), with that `loudness` (store/phase.py); `seen_by` perceive the act, `heard_by` the
    words (None: everybody there). `urgency`: how much its speaker wants to go on, 0 to 10. `shifts`: by how much it
    likes whom more or less for it: [person id, -3 to 3]. `not_to_quote`: the closing found an attack or a slip in it,
    and no prompt ever shows it word for word.
    """

    __tablename__ = "turns"
    __table_args__ = (_of_conversation(),)

    conversation_id: str = Field(primary_key=True)
    turn: int = Field(primary_key=True)
    speaker_id: str
    speaker_name: str
    text: str
    emotion: str
    goal_achieved: bool = False
    wants_to_end: bool = False
    note: str = ""
    recalled: str = ""
    reminded: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    at: int = Field(sa_type=BigInteger)
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    duration_ms: int
    message_id: str | None = None
    told: list[str] | None = Field(default=None, sa_column=Column(JSON))
    choices: list[str] | None = Field(default=None, sa_column=Column(JSON))
    think: str = ""
    act: str = ""
    addressed: list[str] | None = Field(default=None, sa_column=Column(JSON))
    loudness: str = Loudness.NORMAL
    seen_by: list[str] | None = Field(default=None, sa_column=Column(JSON))
    heard_by: list[str] | None = Field(default=None, sa_column=Column(JSON))
    urgency: int | None = None
    not_to_quote: bool = False
    shifts: list[tuple[str, int]] | None = Field(default=None, sa_column=Column(JSON))

    @property
    def suggestions(self) -> list[Suggestion]:
        """Its choices, with their ids."""
        return [Suggestion(f"{self.turn}.{number}", text) for number, text in enumerate(self.choices or ())]


@Policy(conversation="conversation_id")
class SceneRow(_OfWorld, table=True):
    """A scene that a writer set up: what was in its file (`definition`), and its conversation. `id` is the file's, with
    a number behind it where it was played before (`S001.2`). `carried` is the summary of the scene before it.
    """

    __tablename__ = "scenes"
    __table_args__ = (_of_conversation(),)

    id: str = Field(primary_key=True)
    conversation_id: str
    definition: dict[str, Any] = _json()
    carried: str = ""
    at: int = Field(sa_type=BigInteger)


@Policy(conversation="conversation_id", turn="before_turn", known="at")
class InterventionRow(_OfWorld, table=True):
    """What a writer did to a scene: the `number`th time, from 0. It holds from turn `before_turn` on. `kind` and
    `details` are in conversation/interventions.py; `target_id` is whom it concerns (None: all). `rule`: which of the
    scene's own it is (None: the writer's hand). `proposals` are what a model proposed where it was
    asked for a long-term update (conversation/long_term.py).
    """

    __tablename__ = "interventions"
    __table_args__ = (_of_conversation(),)

    conversation_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    before_turn: int
    kind: str
    target_id: str | None = None
    details: dict[str, Any] = _json()
    rule: str | None = None
    proposals: list[dict[str, Any]] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    at: int = Field(sa_type=BigInteger)


@Policy(whose="person_id", goes=GoesWith.MEMORY, conversation="conversation_id", known="known_at", exported=False)
class OverheardRow(OfPerson, table=True):
    """The turns of a conversation that a person overheard who took no part in it. It remembers them from `known_at` on.
    `revision`: of the person's memory.
    """

    __tablename__ = "overheard"
    __table_args__ = (_of_conversation(), Index("ix_overheard_revision", "world_id", "person_id", "revision"))

    conversation_id: str = Field(primary_key=True)
    turns: list[int] = _json()
    known_at: int = Field(sa_type=BigInteger)
    revision: int


@Policy(whose="person_id", conversation="conversation_id", turn="turn", known="at")
class ActionCallRow(_OfWorld, table=True):
    """Something that a speaker asked of the game with a turn: the `number`th of its conversation, from 0. `words` say
    what it is, for prompts and memories.

    While it is `requested` the game may say what became of it, until `deadline` (machine time); `awaited`: the next
    turn of a model waits for that. `reason`: why it failed: the game said so (client), it was not offered
    (not_offered), or its arguments do not fit (arguments; `why` says how). `message` is the game's own. `told_turn` is
    the speaker's turn before which it was told what became of it (None: it was not yet).
    """

    __tablename__ = "action_calls"
    __table_args__ = (
        _of_conversation(),
        Index("ix_action_calls_conversation", "world_id", "conversation_id"),
        Index("ix_action_calls_person", "world_id", "person_id"),
        Index("ix_action_calls_state", "state", "deadline"),
    )

    id: str = Field(primary_key=True)
    conversation_id: str
    number: int
    turn: int
    person_id: str
    action_id: str
    args: dict[str, Any] = _json()
    words: str
    state: str
    reason: str | None = None
    why: str = ""
    message: str = ""
    awaited: bool = False
    deadline: float = 0.0
    at: int = Field(sa_type=BigInteger)
    told_turn: int | None = None


@Policy(
    whose="person_id", conversation="conversation_id", goes=GoesWith.MEMORY, words=("system", "context"), shown=True
)
class PromptRow(_OfWorld, table=True):
    """How every prompt of one speaker in one conversation begins, as it was sent: the system message, and the context
    as it was when they met. With the turns and their notes it says what a speaker was asked.

    Both are None, and the notes empty, once the conversation is closed, unless KATARIBE_KEEP_PROMPTS keeps them. `knew`
    stays: what the context held, as conversation/knowledge.py reads it.
    """

    __tablename__ = "prompts"
    __table_args__ = (_of_conversation(),)

    conversation_id: str = Field(primary_key=True)
    person_id: str = Field(primary_key=True)
    system: str | None
    context: str | None
    knew: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


def said_in(key: ConversationKey) -> tuple[bool, bool]:
    """Of turns: those of the conversation."""
    return (TurnRow.world_id == key.world_id, TurnRow.conversation_id == key.conversation_id)


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    names=("partner_id",),
    conversation="conversation_id",
    known="at",
    memory="conversation_id",
    remembered_as="summary",
    text="summary",
    exported=False,
)
class SummaryRow(OfPerson, table=True):
    """What a closed conversation was about, for one of its people: the episode in that person's long-term memory.

    Each of the two has a row of its own. `night` is the day of its life the conversation began in: while it lives that
    day it has it in mind. `importance` is the sum of that of what the person took from it. `revision`: of the person's
    memory, when this was written (MemoryOwnerRow). `support`: whether its sentences were verified (memory/record.py).
    Of more than two, `partner_id` is with whom it shared most of it, and `others` are the rest of those who were there
    with it. `is_read`: graphiti-core's `add_episode` has read it (memory/graphiti/episode.py).
    """

    __tablename__ = "summaries"
    __table_args__ = (
        _of_conversation(),
        Index("ix_summaries_pair", "world_id", "person_id", "partner_id", "at"),
        Index("ix_summaries_revision", "world_id", "person_id", "revision"),
        Index("ix_summaries_conversation", "world_id", "conversation_id"),
    )

    conversation_id: str = Field(primary_key=True)
    partner_id: str
    summary: str
    topics: list[str] = _json()
    at: int = Field(sa_type=BigInteger)
    night: int = 0
    importance: int = 0
    others: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    support: str = "model"
    is_read: bool = False
    revision: int


@Policy(whose="person_id", exported=False)
class MemoryOwnerRow(OfPerson, table=True):
    """A person that remembers. Every transaction that writes into its memory locks this row and counts `revision` up;
    what it writes bears that number. `epoch` changes when something is taken away or changed: whoever holds the memory
    in mind reads it anew. `embedder` made all its vectors, each `dimensions` wide ("": it has none yet).
    `vectors_due` counts how often something was given to it, or changed, whose vectors are to be made (0: all are).
    Neo4j holds it as it was at `projected_epoch` and `projected_revision` (-1: it never was there). What failed, with
    `projection_error`, is tried again at `projection_due` (machine time).
    """

    __tablename__ = "memory_owners"

    revision: int
    epoch: int = Field(sa_type=BigInteger)
    embedder: str = ""
    dimensions: int = 0
    vectors_due: int = 0
    projected_epoch: int = Field(default=0, sa_type=BigInteger)
    projected_revision: int = -1
    projection_attempts: int = 0
    projection_due: float = 0.0
    projection_error: str = ""


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    known="at",
    ended="known_at",
    unended={"phase": "due", "dropped": [], "failure": None},
)
class ReflectionRow(OfPerson, table=True):
    """A person thinks over what it lived through after `since` and until `at`: it fell asleep then, or much had come
    together.

    The row is the workflow: `phase` is due, done or failed (`failure` says why). What comes of it is known from
    `known_at`. `dropped` are the insights that were kept out, and why. `lease_until` is machine time: until then the
    process named in `runner` works on it.
    """

    __tablename__ = "reflections"
    __table_args__ = (Index("ix_reflections_phase", "phase"),)

    at: int = Field(sa_type=BigInteger, primary_key=True)
    since: int = Field(sa_type=BigInteger)
    known_at: int = Field(sa_type=BigInteger)
    phase: str
    dropped: list[dict[str, str]] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    failure: str | None = None
    runner: str | None = None
    lease_until: float = 0.0


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    names=("partner_id", "subject_id", "told_by", "via"),
    conversation="conversation_id",
    known="known_from",
    ended="known_until",
    unended={"valid_to": None, "known_until": None, "replaced_by": None},
    ended_by="replaced_by",
    memory="id",
    remembered_as="kind",
    text="text",
)
class MemoryRow(OfPerson, table=True):
    """Something that a person remembers (see Memory in memory/record.py). Rows are only ever added; what becomes of one
    later is when it ended.

    Of a past that was given, `kind` may be turn or summary: `id` is then that of the view it stands for, `about` the
    name of who spoke, `told_by` its id ("": nobody of this world). A turn of a conversation that was held here stands
    here too where an author has corrected it. `deleted`: it is remembered no more, and must not come back. `given_id`
    and `given_in` are the caller's names for a line that was given and its talk, `fingerprint` is of what the line
    said: the same line again changes nothing. `revision`: of the person's memory, when it was written or ended.
    """

    __tablename__ = "memories"
    __table_args__ = (
        Index("ix_memories_revision", "world_id", "person_id", "revision"),
        Index("ix_memories_conversation", "world_id", "conversation_id"),
        Index("ix_memories_expiry", "world_id", "expires_at"),
    )

    id: str = Field(primary_key=True)
    kind: str
    text: str
    about: str = ""
    subject_id: str | None = None
    told_by: str | None = None
    via: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    mode: str = "stated"
    quote: str = ""
    importance: int = 5
    slot: str = ""
    support: str
    source: str
    conversation_id: str = ""
    turns: list[int] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    evidence: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    topics: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    partner_id: str = ""
    valid_from: int = Field(sa_type=BigInteger)
    valid_to: int | None = Field(default=None, sa_type=BigInteger)
    known_from: int = Field(sa_type=BigInteger)
    known_until: int | None = Field(default=None, sa_type=BigInteger)
    replaced_by: str | None = None
    expires_at: int | None = Field(default=None, sa_type=BigInteger)
    level: str | None = None
    deleted: bool = False
    given_id: str = ""
    given_in: str = ""
    fingerprint: str = ""
    revision: int


@Policy(whose="person_id", goes=GoesWith.MEMORY, memory="item_id", exported=False)
class VectorRow(OfPerson, table=True):
    """What an embedding model makes of a memory's text or of a summary (`kind`): float16, as bytes."""

    __tablename__ = "vectors"
    __table_args__ = (Index("ix_vectors_revision", "world_id", "person_id", "revision"),)

    kind: str = Field(primary_key=True)
    item_id: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    vector: bytes
    revision: int


@Policy(whose="person_id", goes=GoesWith.MEMORY, known="at", memory="memory_id", words=("before", "after"))
class MemoryAuditRow(OfPerson, table=True):
    """What an author did to a person's memory: `action` on one memory (`kind`, `memory_id`), or `seeded` with how many
    lines. `at` is world time; `written_at` is the machine's, in UTC. `author` is the name the caller gave.
    """

    __tablename__ = "memory_audit"

    id: str = Field(primary_key=True)
    action: str
    kind: str | None = None
    memory_id: str | None = None
    before: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    after: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    author: str = ""
    reason: str = ""
    at: int = Field(sa_type=BigInteger)
    written_at: str


@Policy(whose="owner_id", goes=GoesWith.MEMORY, names=("other_id",), conversation="conversation_id", known="at")
class AttitudeChangeRow(_OfWorld, table=True):
    """What a conversation, or the author, changed about how the owner stands to the other; only ever added.

    `id` is the conversation's, or a fresh one. `met`: the two have talked. `power`, `intimacy` and `task_oriented` are
    -3..3; what is None leaves that as it was (see people/attitude.py).
    """

    __tablename__ = "attitude_changes"
    __table_args__ = (Index("ix_attitude_changes_time", "world_id", "owner_id", "at"),)

    owner_id: str = Field(primary_key=True)
    other_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    at: int = Field(sa_type=BigInteger)
    conversation_id: str | None = None
    affinity_delta: int = 0
    met: bool = False
    power: int | None = None
    intimacy: int | None = None
    task_oriented: int | None = None


@Policy(whose="person_id", goes=GoesWith.MEMORY, conversation="conversation_id", known="at")
class MoodRow(OfPerson, table=True):
    """The mood a conversation, or the author, put a person in at `at`; it cools from there. Only ever added.

    `id` is the conversation's, or a fresh one.
    """

    __tablename__ = "moods"
    __table_args__ = (Index("ix_moods_time", "world_id", "person_id", "at"),)

    id: str = Field(primary_key=True)
    at: int = Field(sa_type=BigInteger)
    mood: str
    conversation_id: str | None = None


@Policy(
    whose="by_id",
    goes=GoesWith.MEMORY,
    names=("to_id",),
    conversation="conversation_id",
    known="made_at",
    ended="ended_at",
    ended_in="ended_in",
    unended={"state": CommitmentState.OPEN.value, "ended_at": None, "ended_in": None, "moved_to": None},
)
class CommitmentRow(_OfWorld, table=True):
    """What one person promised another: `what`, where, and by when (None: no time was said).

    `place` is as it was said, `node_id` where that is on the map. `due_at` is the moment that was said (`has_hour`), or
    the end of the part of a day that began at `since_at`, or of a day. It is open until `expires_at`, or `ended_at`
    where something ended it before: the conversation `ended_in`, the clock or a client. `state` says what came of it,
    `moved_to` is the promise that stands in its place.
    """

    __tablename__ = "commitments"
    __table_args__ = (
        Index("ix_commitments_conversation", "world_id", "conversation_id"),
        Index("ix_commitments_expiry", "world_id", "expires_at"),
    )

    id: str = Field(primary_key=True)
    by_id: str
    to_id: str
    what: str
    place: str = ""
    node_id: str | None = None
    due_at: int | None = Field(default=None, sa_type=BigInteger)
    since_at: int | None = Field(default=None, sa_type=BigInteger)
    has_hour: bool = False
    conversation_id: str
    turn: int
    made_at: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    state: str = CommitmentState.OPEN
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    ended_in: str | None = None
    moved_to: str | None = None


@Policy(whose="person_id", known="at", goes=GoesWith.MEMORY, words=("prompt",), shown=True)
class DecisionRow(OfPerson, table=True):
    """A question to the model of somebody who decides at `at` (`call`: decision, or plan, as in its event), and what it
    cost.

    `basis` is what its prompt held, as decision/basis.py reads it; `prompt` are the messages of the last try, where
    KATARIBE_KEEP_PROMPTS keeps them. `failures` are answers that could not be used.
    """

    __tablename__ = "decisions"

    at: int = Field(sa_type=BigInteger, primary_key=True)
    call: str = Field(primary_key=True)
    basis: dict[str, Any] = _json()
    model: str
    calls: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    duration_ms: int
    prompt: list[dict[str, str]] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


@Policy(known="at", exported=False)
class EventRow(_OfWorld, table=True):
    """Something that happened in a world. `id` counts its events from 1, in the order in which they were told."""

    __tablename__ = "events"

    id: int = Field(sa_type=BigInteger, primary_key=True)
    at: int = Field(sa_type=BigInteger)
    kind: str
    person_id: str | None = None
    data: dict[str, Any] = _json()


@Policy(conversation="conversation_id", known="at", exported=False)
class ClientEventRow(_OfWorld, table=True):
    """Something that games are told of a conversation with a human; `seq` is its number in the world."""

    __tablename__ = "client_events"
    __table_args__ = (
        _of_conversation(),
        Index("ix_client_events_conversation", "world_id", "conversation_id", "seq"),
    )

    seq: int = Field(sa_type=BigInteger, primary_key=True)
    conversation_id: str
    at: int = Field(sa_type=BigInteger)
    kind: str
    data: dict[str, Any] = _json()


@Policy(exported=False)
class ClientEventCountRow(_OfWorld, table=True):
    """The newest number that a client event of the world was given, and the one that was given to the newest restore of
    the world (0: there was none).
    """

    __tablename__ = "client_event_counts"

    newest: int = Field(sa_type=BigInteger)
    restored: int = Field(default=0, sa_type=BigInteger)


@Policy(conversation="conversation_id", known="at")
class CommandRow(_OfWorld, table=True):
    """Something that came to a world from outside (store/commands.py), at the minute that its clock showed."""

    __tablename__ = "commands"
    __table_args__ = (_of_conversation(), Index("ix_commands_conversation", "world_id", "conversation_id"))

    seq: int = Field(sa_type=BigInteger, primary_key=True)
    at: int = Field(sa_type=BigInteger)
    kind: str
    conversation_id: str | None = None
    data: dict[str, Any] = _json()


@Policy(copied=False)
class UsageRow(_OfWorld, table=True):
    """What the language models cost, per world, world day and role. `failures` are calls that gave no answer."""

    __tablename__ = "usage"

    day: int = Field(primary_key=True)
    role: str = Field(primary_key=True)
    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    conversation="conversation_id",
    turn="turn",
    known="at",
    words=("line", "marks", "refused"),
)
class QualityRow(_OfWorld, table=True):
    """A turn (`id` is conversation/turn) or a decision (person@at) that was checked before it counted: the `line` that
    was taken, its `marks` (score and reason by dimension, quality/marks.py; none where the judge failed) and the lowest
    score. `outcome` is in store/quality.py; `refused` are the lines that were not taken, with their marks. `model`
    judged ("": rules alone), to that `threshold`; `failure` is how a call failed. The cost is all that came of the
    check: what was made anew too.
    """

    __tablename__ = "quality"
    __table_args__ = (
        _of_conversation(),
        Index("ix_quality_at", "world_id", "at"),
        Index("ix_quality_conversation", "world_id", "conversation_id"),
    )

    id: str = Field(primary_key=True)
    role: str
    person_id: str
    conversation_id: str | None = None
    turn: int | None = None
    at: int = Field(sa_type=BigInteger)
    line: str
    outcome: str
    lowest: int | None = None
    marks: dict[str, list[Any]] = _json()
    refused: list[dict[str, Any]] = _json()
    failure: str | None = None
    threshold: int
    model: str
    calls: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    duration_ms: int


@Policy(copied=False)
class SnapshotRow(_OfWorld, table=True):
    """A world as it was kept, to be brought back to (runtime/snapshots.py): the `number`th of those that there are, by
    when they were made. It is a mark: what changes after it is kept as it was (KeptRow).

    `at` is the world's time then, `made_at` the machine's, in UTC. `automatic`: it was kept when a day began.
    `schema_revision` is the version of the tables.
    """

    __tablename__ = "snapshots"

    name: str = Field(primary_key=True)
    number: int
    at: int = Field(sa_type=BigInteger)
    made_at: str
    automatic: bool
    schema_revision: str


@Policy(copied=False)
class KeptRow(_OfWorld, table=True):
    """A row as it was at the snapshot of that `number`, and changed before a newer snapshot was made; of those before,
    what holds is the first that has the row. The database writes it by itself (store/kept_rows.py): `key` are its
    primary key's values, `row` its columns, as JSON (None: there was no such row).
    """

    __tablename__ = "kept_rows"

    number: int = Field(primary_key=True)
    table_name: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    row: str | None = None


@Policy(copied=False)
class IdempotencyRow(_OfWorld, table=True):
    """The first answer to a request that may be sent again."""

    __tablename__ = "idempotency_keys"

    key: str = Field(primary_key=True)
    fingerprint: str
    answer: dict[str, Any] = _json()
