"""Owns the SQL tables. Every row carries its `world_id`; every time is a world time in minutes unless it says
otherwise. Each declares its policy (store/policy.py).
"""

from typing import Annotated, Any, NamedTuple

from pydantic import Strict
from sqlalchemy import JSON, BigInteger, Column, ColumnElement, ForeignKeyConstraint, Index, MetaData, inspect, text
from sqlalchemy.orm import aliased
from sqlmodel import AutoString, Field, Relationship, SQLModel, col, select

from service.content.profile import Emotion, Importance, PersonKind
from service.store.client_event_kinds import SuggestedLine
from service.store.ids import new_id
from service.store.phase import (
    Audience,
    CallState,
    CommitmentState,
    EndReason,
    Loudness,
    Modulator,
    Phase,
    Speaker,
    TurnForm,
    TurnPolicy,
)
from service.store.policy import GoesWith, Policy, TableT
from service.store.shown import WorldMinute
from world.ids import MAIN_WORLD as MAIN_WORLD

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


class JobKey(NamedTuple):
    """Which job: `kind` says what is done (store/jobs.py), `key` whose, and what else tells it from others, behind a
    colon. It is the primary key of its row.
    """

    world_id: str
    kind: str
    key: str


class _OfWorld(SQLModel):
    world_id: str = Field(primary_key=True)


class OfPerson(_OfWorld):
    """A row that is a person's."""

    person_id: str = Field(primary_key=True)
    """whose it is"""


class _Leased(SQLModel):
    runner: str | None = None


class _Spent(SQLModel):
    calls: int = 0
    """how often a model was called; more than once: an answer could not be used"""
    prompt_tokens: int = 0
    """tokens of the prompt it was made of"""
    completion_tokens: int = 0
    """tokens the model wrote for it"""


class _Answered(_Spent):
    model: str
    """which model made it: openai:gpt-4.1-mini, rehearsal"""
    cached_tokens: int = 0
    """tokens of the prompt that the provider had in its cache"""
    duration_ms: int
    """how long the model took, in real milliseconds"""


class SpentToday(SQLModel):
    """What the model calls of `day` (UTC, 2026-04-01) have taken."""

    day: str = ""
    calls: int = 0
    tokens: int = Field(default=0, sa_type=BigInteger)
    money: float = 0.0


@Policy(copied=False)
class InstallationRow(SpentToday, table=True):
    """Which installation of the service this database belongs to, in the only row there is. What it writes elsewhere
    bears `id`; replicas on one database are one installation.

    `calls`, `tokens` and `money` are what its model calls have cost on `day`, over all worlds: a budget's day is the
    machine's, in UTC (2026-04-01). Counted only where a limit is set. Calls that are out count with all they
    may come to.
    """

    __tablename__ = "installation"

    number: int = Field(default=1, primary_key=True)
    id: str = Field(default_factory=new_id)


@Policy(copied=False)
class ApiKeyRow(SQLModel, table=True):
    """A key that was given out (store/keys.py), by the SHA-256 of its secret. Where it names a world or a player it is
    for that one alone; `made_at` is the machine's time, in UTC.
    """

    __tablename__ = "api_keys"

    digest: str = Field(primary_key=True)
    name: str = Field(unique=True)
    scope: str
    only_world: str | None = None
    only_player: str | None = None
    made_at: str


@Policy(exported=False)
class WorldRow(_Leased, table=True):
    """One running world and its clock.

    All before `now` has happened and is told; `target` is how far the world was told to go (None: no
    farther): until the clock is there the world moves. People may have lived ahead of the clock; nothing has been
    decided or said at the minute `reached` or later. `decision`: how characters decide that say nothing of their own
    (None: as the settings say). `context_tokens`: about how many tokens a prompt of a talk may take in it (None: as the
    settings say). `clock_mode`, `clock_speed` (world minutes a real minute) and `clock_pace` are the
    running clock's; `clock_stopped` is why the service itself has stopped it (None: it has not).
    `flags` is what the game holds to be so (GET /world/flags), by name. `notices` are what authors announced, such as a
    festival: everybody knows of each `text` from its `at` until before its `until`.
    `revision` grows with every write of the living state, `people_revision` where people were made, changed or removed
    at run time (0: never): no two casts of any world bear the same. `timeline` changes where the world is brought back
    to what it was: what was asked before is of no use any more. `branched_from` is the world that this one was until
    its minute `branched_at` (None: it began by itself). `runner` is the process that owns it, as long as that lives: it
    alone moves the world and runs its clock. While `is_moving` nobody else may change the world; `is_wanted`: somebody
    else waits for it to stand.
    """

    __tablename__ = "worlds"

    id: str = Field(primary_key=True)
    language: str
    started_at: WorldMinute = Field(sa_type=BigInteger)
    """the world time at which its story begins"""
    now: int = Field(sa_type=BigInteger)
    target: int | None = Field(default=None, sa_type=BigInteger)
    reached: int = Field(default=0, sa_type=BigInteger)
    decision: str | None = None
    context_tokens: int | None = None
    """about how many tokens a prompt of a talk may take in it; null: as the settings say"""
    weather: str = ""
    """the weather in words; empty: there is nothing to say of it"""
    flags: dict[str, Any] = Field(default={}, sa_column=Column(JSON, nullable=False))
    notices: list[dict[str, Any]] = Field(default=[], sa_column=Column(JSON, nullable=False))
    clock_mode: str = "manual"
    clock_speed: float = 1.0
    clock_pace: str = "exact"
    clock_stopped: str | None = None
    revision: int = 0
    people_revision: int = Field(default=0, sa_type=BigInteger)
    timeline: int = Field(default=0, sa_type=BigInteger)
    branched_from: str | None = None
    """the world that it was before they went on apart; null: it began by itself"""
    branched_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """up to this world time they are the same; null: it began by itself"""
    is_moving: bool = False
    is_wanted: bool = False


@Policy(whose="person_id", goes=GoesWith.PERSON, passing_columns=("life", "agent_state"))
class PersonRow(OfPerson, table=True):
    """What changes about a person of any kind. `sleeps` counts its nights: a conversation belongs to the day it began
    in.

    `decision`: model, routine, or client while a client controls it (None: as its file or its world says). `items`:
    what it carries. `busy`: of a player whom nobody speaks to first. Of somebody who lives, `life` is as the world's
    core holds it (people/person.py), and `agent_state` what is on its mind (decision/situation.py).
    """

    __tablename__ = "people"

    sleeps: int = 0
    decision: str | None = None
    items: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    busy: bool = False
    life: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    agent_state: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


@Policy(whose="person_id")
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


@Policy(
    conversation="id",
    here=(
        "clock_policy",
        "talk_id",
        "awaits",
        "silent_at",
        "silent_at_minute",
        "attempts",
        "chat_idle_minutes",
        "holds_clock",
        "stands_at",
        "asked_with",
    ),
)
class ConversationRow(_Spent, _OfWorld, table=True):
    """A conversation and where it stands. The row is the workflow: whoever finds it in a phase can go on from there.

    `clock_policy` says what world time its turns take (see store/phase.py). `talk_id` is set where it is a talk of the
    living world, or was until a player sat down. `awaits`: the person whose words a human is to
    find next (None: nobody waits for a human); silence ends it at `silent_at` (machine time) or at the world time
    `silent_at_minute`, 0: never. `attempts`: how often its closing was tried again.
    `chat_idle_minutes` (of the machine) is set where it is a chat client's: so long may its user be silent.
    `holds_clock`: the world's clock stands while it runs. `told` is what the game said was going on when it began, line
    by line. `actions`: ids of all that may be asked of the game in it (None: what the content allows). `choices`: so
    many lines are suggested to the player after each turn of a model. `opened_for`: why somebody spoke to a player
    first, by the world's rule (phase.OpenedFor; None: a client began it, or the living world), and `matter` what of.
    `form`: what a turn is made of, `turn_policy`: who is next, `modulator`: who perceives a turn (all in
    store/phase.py); before its turn a speaker is shown the newest `perceptions` of what it has perceived since its
    last. `place`: in words, where it is at no node of the map. `stands_at`: before that turn it stands until somebody
    lets it go on (None: it goes on by itself). Of a scene that a writer set up `definition` is what was in its file and
    `scene_id` the file's id, with a number behind it where it was played before (`S001.2`); `carried` is the summary of
    the scene before it.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_started", "world_id", "started_at"),
        Index("ix_conversations_scene", "world_id", "scene_id", unique=True),
        Index("ix_conversations_phase", "phase"),
    )

    id: str = Field(primary_key=True)
    """id of the conversation"""
    node_id: str
    """the node at which the character stands"""
    clock_policy: str = "none"
    talk_id: str | None = None
    language: str
    goal: str | None = None
    success_criteria: str | None = None
    goal_given: bool = False
    goal_achieved: bool = False
    """what the character wanted of it has been reached"""
    max_turns: int
    """after so many turns it ends at the latest"""
    phase: Annotated[str, Phase]
    """where it stands: spoken, being remembered, remembered, or the remembering failed"""
    end_reason: Annotated[str, EndReason] | None = None
    """why nothing more is said; null: it goes on"""
    failure: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    started_at: WorldMinute = Field(sa_type=BigInteger)
    """the world time it began at"""
    ended_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """the world time of its end; null: it goes on"""
    closed_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """the world time from which both remember it; null: they do not yet"""
    models: dict[str, str] = _json()
    """who answers per role: openai:gpt-4.1-mini, rehearsal"""
    changes: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    awaits: str | None = None
    """id of the person whose words a human is to find next; null: nobody's"""
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
    turn_policy: Annotated[str, TurnPolicy] = TurnPolicy.IN_ORDER
    """who is next"""
    modulator: Annotated[str, Modulator] = Modulator.ALL
    """what decides who perceives a turn"""
    perceptions: int = 3
    """so many of what it perceived last a speaker goes by"""
    place: str = ""
    stands_at: int | None = None
    scene_id: str | None = None
    definition: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    carried: str = ""
    """the summary of the scene before it; empty: there is none"""
    asked_with: str = ""
    """the name of the key that it was begun with; empty: none"""

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
        return bool(self.humans)

    @property
    def humans(self) -> list[str]:
        """Those for whom a human speaks, and who have not left."""
        return [one.person_id for one in self.participants if one.speaker == Speaker.HUMAN and one.left_turn is None]

    @property
    def waits_for_model(self) -> bool:
        """Nothing is said, for the model of who is to speak is away."""
        return self.phase == Phase.RUNNING and (self.failure or {}).get("next_try_at") is not None

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


@Policy(whose="person_id", conversation="conversation_id", here=("engaged",))
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
    """id of the person"""
    seat: int
    speaker: str = Speaker.MODEL
    joined_turn: int = 0
    """the first turn, from 0, that it may perceive"""
    left_turn: int | None = None
    """the first turn that it does not perceive any more; null: it is there"""
    night: int = 0
    engaged: bool = False
    goal: str = ""
    """what it wants of this scene; empty: nothing was said"""
    plan: str = ""
    """how it means to get it; empty: nothing was said"""
    spot: str = ""
    """where it stands; empty: where the others are"""


def engaged_in(world_id: str) -> tuple[ColumnElement[bool], ...]:
    """Of participants: those of the world who talk now."""
    return col(ParticipantRow.world_id) == world_id, col(ParticipantRow.engaged).is_(True)


def takes_part(person_id: str, seat: int | None = None) -> ColumnElement[bool]:
    """The condition that the person takes part in a conversation, in that seat (None: in any)."""
    part = select(ParticipantRow.person_id).where(
        ParticipantRow.world_id == ConversationRow.world_id,
        ParticipantRow.conversation_id == ConversationRow.id,
        ParticipantRow.person_id == person_id,
    )
    return (part if seat is None else part.where(ParticipantRow.seat == seat)).exists()


@Policy(whose="speaker_id", conversation="conversation_id", turn="turn", known="at")
class TurnRow(_Answered, _OfWorld, table=True):
    """One utterance. `note` is the block that its speaker was shown before it, as it was sent (see PromptRow); its
    first lines tell what happened, and stood before the lines of those `note_turns` (None: nothing had). `recalled` is
    the block of memories, which no later prompt repeats; `reminded` refers to those (memory/telling.py).
    Where a human found its words, `model` is "human", where its author did, "author", and no call of a model is the
    turn's; `message_id` is the client's own name
    for it, and `told` what the game said with it was going on, line by line. `choices` are the lines that its
    speaker suggested for the answer (None: none).

    In a scene a turn is what its speaker thinks, does (`act`) and says (`text`), each of which may be "". It is said to
    those `addressed` (None: to all), with that `loudness` (store/phase.py); `seen_by` perceive the act, `heard_by` the
    words (None: everybody there). `urgency`: how much its speaker wants to go on, 0 to 10. `shifts`: by how much it
    likes whom more or less for it: [person id, -3 to 3]. `draft`: one call made it with its whole talk, and of that the
    first turn keeps the rest (None: it was asked for alone). `spot`: it stands there from this turn on (None: where it
    stood). `not_to_quote`: the closing found an attack or a slip in it,
    and no prompt ever shows it word for word. `kept_from`: something was told in it in confidence (see MemoryRow).
    """

    __tablename__ = "turns"
    __table_args__ = (_of_conversation(),)

    conversation_id: str = Field(primary_key=True)
    turn: int = Field(primary_key=True)
    """its place in the conversation, counted from 0"""
    speaker_id: str
    """id of the person who says it"""
    speaker_name: str
    """name of the person who says it"""
    text: str
    """what is said, in the world's language; in a scene empty where nothing is"""
    emotion: Annotated[str, Emotion]
    """how its speaker shows itself while saying it"""
    goal_achieved: bool = False
    wants_to_end: bool = False
    note: str = ""
    """what its speaker was told before it; empty: nothing, or it is not kept any more"""
    note_turns: list[int] | None = Field(default=None, sa_column=Column(JSON))
    recalled: str = ""
    reminded: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time at which it is said"""
    message_id: str | None = None
    told: list[str] | None = Field(default=None, sa_column=Column(JSON))
    choices: list[str] | None = Field(default=None, sa_column=Column(JSON))
    think: str = ""
    """what its speaker thinks, in a scene; nobody else perceives that; empty: nothing"""
    act: str = ""
    """what its speaker does; empty: nothing"""
    addressed: list[str] | None = Field(default=None, sa_column=Column(JSON))
    """ids of those to whom it is said; null: to all"""
    loudness: Annotated[str, Loudness] = Loudness.NORMAL
    """how loud it is said"""
    seen_by: list[str] | None = Field(default=None, sa_column=Column(JSON))
    heard_by: list[str] | None = Field(default=None, sa_column=Column(JSON))
    urgency: int | None = None
    """how much its speaker wants to go on, 0 to 10; null: it was not asked"""
    spot: str | None = None
    draft: list[dict[str, Any]] | None = Field(default=None, sa_column=Column(JSON))
    not_to_quote: bool = False
    kept_from: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    shifts: list[Annotated[tuple[str, int], Strict(False)]] | None = Field(default=None, sa_column=Column(JSON))

    @property
    def is_sketched(self) -> bool:
        """Whether one call made it with its whole talk."""
        return self.draft is not None

    @property
    def suggestions(self) -> list[SuggestedLine]:
        """Its choices, with their ids."""
        return [SuggestedLine(id=f"{self.turn}.{number}", text=text) for number, text in enumerate(self.choices or ())]


@Policy(conversation="conversation_id", turn="before_turn", known="at")
class InterventionRow(_OfWorld, table=True):
    """What a writer did to a scene: the `number`th time, from 0. It holds from turn `before_turn` on. `kind` and
    `details` are in conversation/interventions.py; `target_id` is whom it concerns (None: all). `rule`: which of the
    scene's own it is (None: the writer's hand). `proposals` are what a model proposed where it was
    asked for a long-term update (conversation/interventions.py).
    """

    __tablename__ = "interventions"
    __table_args__ = (_of_conversation(),)

    conversation_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    """its place among them, from 0"""
    before_turn: int
    """the first turn, from 0, for which it holds"""
    kind: str
    target_id: str | None = None
    details: dict[str, Any] = _json()
    rule: str | None = None
    """id of the scene's own rule that did it; null: its writer's hand"""
    proposals: list[dict[str, Any]] = Field(default=[], sa_column=Column(JSON, nullable=False))
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time"""


@Policy(whose="person_id", goes=GoesWith.MEMORY, conversation="conversation_id", known="known_at", here=("revision",))
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
    """by which the game says what became of it"""
    conversation_id: str
    number: int
    turn: int
    """the turn with which it was asked, from 0"""
    person_id: str
    """id of the speaker"""
    action_id: str
    """id of the action, of `gameActions` in actions.json"""
    args: dict[str, Any] = _json()
    """its arguments, in the form that actions.json says"""
    words: str
    """what it is, in the talk's language"""
    state: Annotated[str, CallState]
    """requested: the game has still to say what became of it"""
    reason: str | None = None
    why: str = ""
    """what is wrong with the arguments; empty: nothing"""
    message: str = ""
    """the game's own word about it"""
    awaited: bool = False
    """the answer to what is said next waits for the game's word"""
    deadline: float = 0.0
    """until when the game may say so: seconds since 1970, by the machine's clock"""
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
    knew: dict[str, Any] = Field(default={}, sa_column=Column(JSON, nullable=False))


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
    here=("is_read", "revision"),
)
class SummaryRow(OfPerson, table=True):
    """What a closed conversation was about, for one of its people: the episode in that person's long-term memory.

    Each of the two has a row of its own. `night` is the day of its life the conversation began in: while it lives that
    day it has it in mind. `importance` is the sum of that of what the person took from it. `revision`: of the person's
    memory, when this was written (MemoryOwnerRow). `support`: whether its sentences were verified (memory/record.py).
    Of more than two, `partner_id` is with whom it shared most of it, and `others` are the rest of those who were there
    with it. `kept_from`: it holds what was told in confidence (see MemoryRow). `is_read`: graphiti-core's
    `add_episode` has read it (memory/graphiti/episode.py).
    """

    __tablename__ = "summaries"
    __table_args__ = (
        _of_conversation(),
        Index("ix_summaries_pair", "world_id", "person_id", "partner_id", "at"),
        Index("ix_summaries_revision", "world_id", "person_id", "revision"),
        Index("ix_summaries_conversation", "world_id", "conversation_id"),
    )

    conversation_id: str = Field(primary_key=True)
    """id of the conversation"""
    partner_id: str
    summary: str
    """the conversation in a few sentences"""
    topics: list[str] = _json()
    """what was talked about, a few words each"""
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time of the conversation"""
    night: int = 0
    importance: int = 0
    others: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    kept_from: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    support: str = "model"
    is_read: bool = False
    revision: int


@Policy(whose="person_id", exported=False)
class MemoryOwnerRow(OfPerson, table=True):
    """A person that remembers. Every transaction that writes into its memory locks this row and counts `revision` up;
    what it writes bears that number. `epoch` changes when something is taken away or changed: whoever holds the memory
    in mind reads it anew. `embedder` made all its vectors, each `dimensions` wide ("": it has none yet).
    Neo4j holds it as it was at `projected_epoch` and `projected_revision` (-1: it never was there).
    """

    __tablename__ = "memory_owners"

    revision: int
    epoch: int = Field(sa_type=BigInteger)
    embedder: str = ""
    dimensions: int = 0
    projected_epoch: int = Field(default=0, sa_type=BigInteger)
    projected_revision: int = -1


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    known="at",
    ended="known_at",
    unended={"phase": "due", "dropped": []},
)
class ReflectionRow(OfPerson, table=True):
    """A person thinks over what it lived through after `since` and until `at`: it fell asleep then, or much had come
    together.

    `phase` is due or done. What comes of it is known from `known_at`. `dropped`: insights that were kept out, and why.
    """

    __tablename__ = "reflections"
    __table_args__ = (Index("ix_reflections_phase", "phase"),)

    at: int = Field(sa_type=BigInteger, primary_key=True)
    since: int = Field(sa_type=BigInteger)
    known_at: int = Field(sa_type=BigInteger)
    phase: str
    dropped: list[dict[str, str]] = Field(default=[], sa_column=Column(JSON, nullable=False))


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
    here=("revision",),
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
    """what it says, as a sentence: without who told it, so that it alone is no more than that"""
    about: str = ""
    """whom or what it is about, by name; null: nobody"""
    subject_id: str | None = None
    """id of the person it is about; null: it is of nobody of this world"""
    told_by: str | None = None
    """id of who told it, or spoke the turn; null: nobody, several together, or nobody of this world"""
    via: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    """ids of those through whose hands it is known to have come to the teller: who began it first"""
    mode: str = "stated"
    quote: str = ""
    """a line of it, word for word; empty: none"""
    importance: int = 5
    """1, small talk, to 10, what changes a life"""
    slot: str = ""
    """what has one value at a time, as the place of a thing; empty: nothing"""
    support: str
    source: str
    conversation_id: str = ""
    """id of the conversation it comes of; null: it is of none"""
    turns: list[int] = Field(default=[], sa_column=Column(JSON, nullable=False))
    """the turns it was said in, counted from 0; empty: not known, or a whole talk"""
    evidence: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    """what it was drawn from, where that is no turn: talk:6f1c0a94d2b7, memory:9f0a3c52"""
    topics: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    """of a summary: what the talk was about, a few words each"""
    partner_id: str = ""
    """with whom it had to do, or whom the talk was with; null: nobody"""
    kept_from: list[str] = Field(default=[], sa_column=Column(JSON, nullable=False))
    """told in confidence: ids of those who must not hear of it; "*": anybody but the two; empty: it is no secret"""
    valid_from: WorldMinute = Field(sa_type=BigInteger)
    """the world time from which it is true, or at which it was said"""
    valid_to: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """the world time from which it is no longer true; null: none is known"""
    known_from: WorldMinute = Field(sa_type=BigInteger)
    """the world time since which it is known"""
    known_until: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """the world time at which its end was learned; null: none was"""
    replaced_by: str | None = None
    """id of the memory that ended it, without its kind; null: none did"""
    expires_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """of mid_term: the world time at which it is over"""
    level: Annotated[str, Importance] | None = None
    """of mid_term: how much it matters, and how long it lasts"""
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
    """id of this entry; later ones sort after earlier ones"""
    action: str
    kind: str | None = None
    memory_id: str | None = None
    """what the memory is called; null: a past was given"""
    before: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    """what the memory said before; null: a past was given"""
    after: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    """what it says now; of a past how many lines of each kind; null: it is deleted"""
    author: str = ""
    reason: str = ""
    """why, as the caller said; empty: it did not say"""
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time at which it was done"""
    written_at: str
    """the machine's time at which it was done, in UTC: 2026-04-01T12:00:00Z"""


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
    """What one person promised another, and where and by when. It is open until `expires_at`, or `ended_at` where
    something ended it before: a conversation, the clock or a client. `state` says what came of it.
    """

    __tablename__ = "commitments"
    __table_args__ = (
        Index("ix_commitments_conversation", "world_id", "conversation_id"),
        Index("ix_commitments_expiry", "world_id", "expires_at"),
    )

    id: str = Field(primary_key=True)
    """id of the promise"""
    by_id: str
    """id of the person who promised"""
    to_id: str
    """id of the person it was promised to"""
    what: str
    """what was promised"""
    place: str = ""
    """where, as it was said"""
    node_id: str | None = None
    """where, if that is on the map"""
    due_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """when: a minute, or the end of the day, or of the part of it, that was said"""
    since_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """of a part of a day: when it begins"""
    has_hour: bool = False
    """an hour was said"""
    conversation_id: str
    """id of the conversation it was made in"""
    turn: int
    """the turn it was made in, counted from 0"""
    made_at: WorldMinute = Field(sa_type=BigInteger)
    """the world time at which it was made"""
    expires_at: WorldMinute = Field(sa_type=BigInteger)
    """until when it is open, if nothing ends it before"""
    state: Annotated[str, CommitmentState] = CommitmentState.OPEN
    """open, or what became of it; lapsed: its time went by, and nobody said"""
    ended_at: WorldMinute | None = Field(default=None, sa_type=BigInteger)
    """the world time from which it is not open any more; null: it is open"""
    ended_in: str | None = None
    """id of the conversation that ended it; null: none did"""
    moved_to: str | None = None
    """id of the promise that stands in its place; null: it was not moved"""


@Policy(whose="person_id", known="at", goes=GoesWith.MEMORY, words=("prompt",), shown=True)
class DecisionRow(_Answered, OfPerson, table=True):
    """A question to the model of somebody who decides at `at` (`call`: decision, or plan, as in its event), and what it
    cost.

    `basis` is what its prompt held, as decision/choose.py reads it; `prompt` are the messages of the last try, where
    KATARIBE_KEEP_PROMPTS keeps them. `failures` are answers that could not be used.
    """

    __tablename__ = "decisions"

    at: int = Field(sa_type=BigInteger, primary_key=True)
    call: str = Field(primary_key=True)
    basis: dict[str, Any] = _json()
    failures: int
    prompt: list[dict[str, str]] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


@Policy(
    whose="person_id", conversation="conversation_id", known="at", unexported={"audience": Audience.PARTICIPANTS.value}
)
class EventRow(_OfWorld, table=True):
    """Something that happened in a world, was said or done in a conversation with a human, or came from outside:
    `audience` is who is told of it (store/phase.py). `id` counts the events of an audience from 1, in the order in
    which they were told. What is told to participants, and what came to a conversation from outside, goes with its
    conversation; what happened in the world names one in its `data`, and stays.
    """

    __tablename__ = "events"
    __table_args__ = (
        _of_conversation(),
        Index("ix_events_conversation", "world_id", "conversation_id", "audience", "id"),
    )

    audience: str = Field(default=Audience.WORLD.value, primary_key=True)
    id: int = Field(sa_type=BigInteger, primary_key=True)
    """grows within a world; `after` asks for what is later"""
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time at which it happened"""
    kind: str
    """what happened, as a word; it says what `data` is"""
    person_id: str | None = None
    """whose event it is; null: nobody's"""
    conversation_id: str | None = None
    data: dict[str, Any] = _json()


@Policy(exported=False)
class ClientEventCountRow(_OfWorld, table=True):
    """The newest number that an event of the world was given which participants are told."""

    __tablename__ = "client_event_counts"

    newest: int = Field(sa_type=BigInteger)


@Policy(copied=False)
class UsageRow(_Spent, _OfWorld, table=True):
    """What the language models cost, per world, world day and role. `failures` are calls that gave no answer."""

    __tablename__ = "usage"

    day: int = Field(primary_key=True)
    role: str = Field(primary_key=True)
    """what the calls were for: character, npc, closing, decision, attitude, long_term, survey, quality"""
    failures: int = 0
    """calls that gave no answer"""
    cached_tokens: int = 0
    """tokens of `prompt_tokens` that the server had at hand from before"""
    money: float = 0.0
    """what they cost, by the prices of the settings (KATARIBE_LLM__PRICES)"""
    estimated: bool = False
    """true: a server did not report its tokens, and they were estimated"""


@Policy(
    whose="person_id",
    goes=GoesWith.MEMORY,
    conversation="conversation_id",
    turn="turn",
    known="at",
    words=("line", "marks", "refused"),
)
class QualityRow(_Spent, _OfWorld, table=True):
    """A turn (`id` is conversation/turn) or a decision (person@at) that was checked before it counted: the `line` that
    was taken, its `marks` (score and reason by dimension; none where the judge failed) and the lowest
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
    """id of who said or decided it"""
    conversation_id: str | None = None
    """id of the conversation; null: it is a decision"""
    turn: int | None = None
    """its turn, counted from 0; null: it is a decision"""
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time"""
    line: str
    """the words; what is done stands in brackets; of a decision what is done, and why"""
    outcome: str
    lowest: int | None = None
    marks: dict[str, list[Any]] = _json()
    refused: list[dict[str, Any]] = _json()
    failure: str | None = None
    threshold: int
    model: str
    """which model scored; empty: rules alone"""
    failures: int
    duration_ms: int


@Policy(copied=False, outlives=True)
class SpentRow(SpentToday, _OfWorld, table=True):
    """What the model calls of a part of the installation have cost on `day` (as InstallationRow): of the world, the
    conversation, the player or the key (`world_id` is empty then) of that name. Only of those that have a limit.
    """

    __tablename__ = "spent"

    scope: str = Field(primary_key=True)
    name: str = Field(primary_key=True)


@Policy(copied=False)
class SnapshotRow(_OfWorld, table=True):
    """A world as it was kept, to be brought back to (runtime/snapshots.py): the `number`th of those that there are, by
    when they were made. It is a mark: what changes after it is kept as it was (KeptRow).

    `at` is the world's time then, `made_at` the machine's, in UTC. `automatic`: it was kept when a day began.
    `schema_revision` is the version of the tables.
    """

    __tablename__ = "snapshots"

    name: str = Field(primary_key=True)
    """by which it is restored"""
    number: int
    at: WorldMinute = Field(sa_type=BigInteger)
    """the world time that it is of"""
    made_at: str
    """when it was made: the machine's time, in UTC"""
    automatic: bool
    """kept by itself, when a world day began"""
    schema_revision: str


@Policy(copied=False)
class KeptRow(_OfWorld, table=True):
    """A row as it was at the snapshot of that `number`, and changed before a newer snapshot was made; of those before,
    what holds is the first that has the row. The database writes it by itself (store/world_rows.py): `key` are its
    primary key's values, `row` its columns, as JSON (None: there was no such row).
    """

    __tablename__ = "kept_rows"

    number: int = Field(primary_key=True)
    table_name: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    row: str | None = None


@Policy(copied=False)
class JobRow(_Leased, _OfWorld, table=True):
    """Work that waits, or is being done: what has succeeded is no row. What is due follows from the other tables, so
    that a world brought back begins with jobs of its own.

    `runner` does it, as long as that process lives. Of one `owner` a kind does one at a time, in the order in which
    they were enqueued. The least `priority` goes first. It is not tried before `due_at`, and waits since `created_at`
    (machine time, seconds since 1970); `tries` counts how often it was begun, `asked` how often enqueued. A person has
    cancelled it where it `is_cancelled`.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_order", "priority", "created_at"),
        Index(
            "ix_jobs_one_at_a_time",
            "world_id",
            "kind",
            "owner",
            unique=True,
            sqlite_where=text("runner IS NOT NULL"),
            postgresql_where=text("runner IS NOT NULL"),
        ),
    )

    kind: str = Field(primary_key=True)
    """what is done: a reflection, a snapshot"""
    key: str = Field(primary_key=True)
    """which of that kind it is; it begins with its owner"""
    owner: str
    """whose it is: of one owner one is done at a time; of a reflection the person's id"""
    priority: int
    due_at: float
    created_at: float
    tries: int = 0
    """how often it was begun"""
    asked: int = 1
    is_cancelled: bool = False
    last_error: str = ""
    """why the last try failed; empty: none has"""


@Policy(copied=False, outlives=True)
class IdempotencyRow(_OfWorld, table=True):
    """The first answer to a request that may be sent again."""

    __tablename__ = "idempotency_keys"

    key: str = Field(primary_key=True)
    fingerprint: str
    answer: Any = Field(default=None, sa_column=Column(JSON))
    """what the request was answered, null with nothing; None: not yet, it is still being done"""
    is_read_anew: bool
    """what it was answered is read anew, by `answer`"""
    kept_until: float | None = Field(default=None, index=True)
    """machine time, seconds since 1970; None: as long as its world"""
