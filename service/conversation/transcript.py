"""Owns a conversation's rows: reading them, committing turns one by one, ending it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Executable, bindparam, update
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session, col, func, select

from service.conversation.acting import Act
from service.conversation.client_events import tell_choices, tell_ended, tell_next, tell_said, tell_started
from service.conversation.game_actions import ask_game, note_told
from service.conversation.prompt import Goal, Line
from service.conversation.start import release
from service.conversation.turn_taking import (
    FEWEST,
    SHOWN,
    carry_on,
    let_speak,
    next_step,
    reaching,
    those_there,
    told_of,
)
from service.errors import KataribeError, RestoredMeanwhile, WrongPhase, existing
from service.llm.chat import Role
from service.locales import languages
from service.people.worlds import WorldRepository, WorldView
from service.store.event_kinds import ConversationEnded, ConversationLeft
from service.store.events import Command, log_in, publish
from service.store.insert import insert_rows
from service.store.perception import perceives
from service.store.phase import ClockPolicy, EndReason, Phase, TurnForm
from service.store.quality import CheckedAnswer
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    ParticipantRow,
    PromptRow,
    TurnRow,
    WorldRow,
    said_in,
    shared_alias,
    takes_part,
)
from service.store.usage import Purpose, count
from service.usage import Usage
from world.time import MINUTES_PER_DAY, WorldTime

_ONE, _OTHER = shared_alias(ParticipantRow), shared_alias(ParticipantRow)

_SPENT = ("calls", "prompt_tokens", "completion_tokens")
_PAYING = update(ConversationRow.__table__).where(  # type: ignore[attr-defined]
    col(ConversationRow.world_id) == bindparam("of_world"), col(ConversationRow.id) == bindparam("of_conversation")
)
"""Sets those of its columns that it is run with."""

TOLD_MAX = 1000
"""Most characters of what the game told with earlier words, in one prompt: twice what it may tell at once."""

SAID_MINUTES = 14 * MINUTES_PER_DAY
"""How far back a speaker without a model looks for what it has told already."""


def conversation_of(session: Session, world_id: str, conversation_id: str, *, lock: bool = False) -> ConversationRow:
    """The row. With `lock` it is held until the transaction ends.

    Raises:
        NotFound: this world has no such conversation.
    """
    row = session.get(ConversationRow, (world_id, conversation_id), with_for_update=lock or None)
    return existing(row, "conversation", conversation_id)


def phase_of(session: Session, key: ConversationKey) -> Phase:
    """Raises: NotFound: there is no such conversation."""
    found = session.exec(_PHASE, params=key._asdict()).first()
    return Phase(existing(found, "conversation", key.conversation_id))


_PHASE = select(ConversationRow.phase).where(
    ConversationRow.world_id == bindparam("world_id"), ConversationRow.id == bindparam("conversation_id")
)


def conversations_open(session: Session, world_id: str, person_id: str) -> list[ConversationKey]:
    """Conversations of the person that run, or are being closed."""
    query = select(ConversationRow.id).where(
        ConversationRow.world_id == world_id,
        col(ConversationRow.phase).in_((Phase.RUNNING, Phase.CLOSING)),
        takes_part(person_id),
    )
    return [ConversationKey(world_id, found) for found in session.exec(query)]


_TURNS = (
    select(TurnRow)
    .where(TurnRow.world_id == bindparam("world_id"), TurnRow.conversation_id == bindparam("conversation_id"))
    .order_by(col(TurnRow.turn))
)
"""Made once, for it is asked several times a turn."""


def turns_of(session: Session, key: ConversationKey) -> list[TurnRow]:
    """The committed turns in order."""
    return list(session.exec(_TURNS, params=key._asdict()))


def turns_said(session: Session, row: ConversationRow) -> int:
    """How many turns were said."""
    return session.exec(select(func.count()).select_from(TurnRow).where(*said_in(row.key))).one()


def said_between(session: Session, world: WorldView, one_id: str, other_id: str, *, besides: str) -> list[TurnRow]:
    """What both of the two have heard, by the moment of `world`, in conversations `besides` one, oldest first: of the
    last `SAID_MINUTES`.
    """
    query = (
        select(TurnRow, _ONE, _OTHER)
        .join(ConversationRow, col(ConversationRow.id) == TurnRow.conversation_id)
        .join(_ONE, col(_ONE.conversation_id) == ConversationRow.id)
        .join(_OTHER, col(_OTHER.conversation_id) == ConversationRow.id)
        .where(
            *(table.world_id == world.id for table in (TurnRow, ConversationRow, _ONE, _OTHER)),
            _ONE.person_id == one_id,
            _OTHER.person_id == other_id,
            ConversationRow.id != besides,
            ConversationRow.started_at > world.now - SAID_MINUTES,
            TurnRow.at <= world.now,
        )
    )
    found = session.exec(query.order_by(col(TurnRow.at), col(TurnRow.conversation_id), col(TurnRow.turn)))
    return [
        turn
        for turn, *both in found
        if turn.text and all(perceives(one, turn.turn, turn.speaker_id, turn.heard_by) for one in both)
    ]


def drop_prompts(session: Session, key: ConversationKey, turns: Sequence[TurnRow]) -> None:
    """Let go of the text of a conversation's prompts; what it held stays. The `turns` are all that was said."""
    gone: dict[type[PromptRow] | type[TurnRow], dict[str, str | None]] = {PromptRow: {"system": None, "context": None}}
    if any(turn.note or turn.recalled for turn in turns):
        gone[TurnRow] = {"note": "", "recalled": ""}
    for table, values in gone.items():
        mine = (col(table.world_id) == key.world_id, col(table.conversation_id) == key.conversation_id)
        session.execute(update(table).where(*mine).values(**values))


def goal_of(row: ConversationRow) -> Goal | None:
    """The opener's goal; None while it has not set one."""
    if row.goal is None or row.success_criteria is None:
        return None
    return Goal(goal=row.goal, success_criteria=row.success_criteria)


def lines(world: WorldView, turns: Sequence[TurnRow]) -> tuple[Line, ...]:
    """The turns as two who talk see them; with what somebody does or shows it is told who it is. Of what the game told
    with earlier ones no more than `TOLD_MAX` characters stay in the notes: what it told last.
    """
    shown, room = list[Line](), TOLD_MAX
    for before, turn in reversed(list(zip([None, *turns], turns, strict=False))):
        told = [line for line in (before and before.told) or () if line in turn.note]
        room -= sum(map(len, told))
        note, places = turn.note.split("\n"), tuple(turn.note_turns or ())
        rest = [line for line in note[len(places) :] if room >= 0 or not any(one in line for one in told)]
        shown.append(
            Line(
                turn=turn.turn,
                speaker_id=turn.speaker_id,
                speaker_name=turn.speaker_name,
                text=turn.text,
                note="\n".join((*note[: len(places)], *rest)),
                note_turns=places,
                told=told_of(world, turn, turn.text, turn.act) if turn.act or turn.emotion in SHOWN else "",
                act=turn.act,
                emotion=turn.emotion,
            )
        )
    return tuple(reversed(shown))


def lines_for(world: WorldView, row: ConversationRow, person_id: str, turns: Sequence[TurnRow]) -> tuple[Line, ...]:
    """The turns as one of those who take part is shown them. Of two who talk both hear all words."""
    told = lines(world.told_in(row.language), turns)
    if row.form == TurnForm.TALK and len(row.participants) == FEWEST:
        return tuple(line for line in told if line.text or line.speaker_id == person_id)
    return reaching(world, row, person_id, turns, told)


@dataclass(kw_only=True)
class Transcript:
    """A conversation and what was said in it so far. `world` is as it was when this was read, or last written to."""

    row: ConversationRow
    turns: list[TurnRow]
    world: WorldView

    @property
    def next_step(self) -> int | EndReason:
        """The seat that speaks next, or why it is over."""
        return next_step(self.row, self.turns)

    @property
    def is_sketched(self) -> bool:
        """Whether it began as one that is made by one call."""
        return bool(self.turns) and self.turns[0].draft is not None

    @property
    def stands(self) -> bool:
        """Whether it waits for somebody to let it go on."""
        return self.row.stands_at is not None and len(self.turns) >= self.row.stands_at


def read_transcript(session: Session, worlds: WorldRepository, key: ConversationKey) -> Transcript | None:
    """The conversation as it stands; None: it is no more."""
    found = _standing(session, worlds, key)
    return None if found is None else Transcript(row=found[0], turns=turns_of(session, key), world=found[1])


def world_of(row: ConversationRow, world: WorldView, own_time: int | None) -> WorldView:
    """The world at `own_time` where turns take world time; else, and for None, as its clock stands."""
    return world if row.clock_policy == ClockPolicy.NONE or own_time is None else world.at(WorldTime(own_time))


def held(session: Session, worlds: WorldRepository, key: ConversationKey) -> tuple[ConversationRow, WorldView]:
    """The row, held until the transaction ends, and the world as its clock stands.

    Raises:
        NotFound: there is no such conversation.
    """
    return existing(_standing(session, worlds, key, lock=True), "conversation", key.conversation_id)


def log_own(session: Session, row: ConversationRow, world: WorldView, kind: Command, **data: Any) -> None:
    """Log what comes to a conversation from outside, where the living world does not hold it itself."""
    if row.clock_policy == ClockPolicy.NONE:
        log_in(session, row.key, world.now, kind, **data)


def commit_turn(
    session: Session,
    worlds: WorldRepository,
    said: Transcript,
    turn: TurnRow,
    role: Role,
    usage: Usage,
    goal: tuple[str, str] | None,
    at: WorldTime | None = None,
    prompts: Sequence[PromptRow] = (),
    act: Act | None = None,
    told: Sequence[str] = (),
    checked: CheckedAnswer[Any] | None = None,
) -> Transcript | None:
    """Add the turn to what was `said`, and what it cost; where it was the last one, the conversation ends with it.

    `goal` (and criteria) is the one the character set itself. `at`: see `world_of`. `prompts` are how
    everybody's begin, with the first turn. `act` is what the speaker asks of the game, `told` are the calls of which it
    was told what became. `checked`: the turn was, and this is kept of it.

    None, and nothing said, when the conversation was ended meanwhile, or waits for a human who cut in or sat down: the
    cost is counted all the same.
    """
    row, world = held(session, worlds, ConversationKey(turn.world_id, turn.conversation_id))
    require_timeline(world, said.world.timeline)
    then = world_of(row, world, at)
    is_taken = row.clock_policy != said.row.clock_policy  # a player has broken into a talk of the living world
    if row.phase != Phase.RUNNING or row.awaits is not None or is_taken:
        _pay_turn(session, row, then.day, role, usage, checked)
        return None
    # Who was stopped after its turn was committed brings prompts again that are kept already.
    new = (one for one in prompts if session.get(PromptRow, (one.world_id, one.conversation_id, one.person_id)) is None)
    turn.at = then.now  # inserted before the row is changed, so that what is changed is written once
    insert_rows(session, [turn, *(prompts if turn.turn == 0 else new)])
    if checked is not None:
        checked.row.at = then.now
        insert_rows(session, [checked.row])
    log_own(session, row, world, "answered", turn=turn.turn)
    if turn.goal_achieved and turn.turn > 0:
        row.goal_achieved = True
    if row.failure is not None:
        row.failure = None
    if goal is not None:
        row.goal, row.success_criteria = goal
    note_told(session, row.key, told, turn.turn)
    with session.no_autoflush:  # what is changed of the row and what the turn cost are written at once
        now_said = _go_on(session, row, world, Transcript(row=row, turns=[*said.turns, turn], world=then), act=act)
        _pay_turn(session, row, then.day, role, usage, checked)
    return now_said


def _pay_turn(
    session: Session, row: ConversationRow, day: int, role: Role, usage: Usage, checked: CheckedAnswer[Any] | None
) -> None:
    pay(session, row, day, role, usage)
    if checked is not None and checked.usage.calls:
        pay(session, row, day, "quality", checked.usage)


def require_timeline(world: WorldView, timeline: int) -> None:
    """Raises: RestoredMeanwhile: the world is not on that timeline any more, and what was found out on it is void."""
    if world.timeline != timeline:
        raise RestoredMeanwhile(world_id=world.id)


def commit_words(
    session: Session, world: WorldView, said: Transcript, turn: TurnRow, *, cut_short: bool = False
) -> None:
    """Add a turn whose words a human found, or what was heard of an utterance that was cut short; `said` is held until
    the transaction ends.
    """
    turn.at = world.now
    insert_rows(session, [turn])
    words = turn.model_dump(exclude={"world_id", "conversation_id", "at"})
    log_in(session, said.row.key, world.now, "said", words=words, cut_short=cut_short)
    _go_on(
        session, said.row, world, Transcript(row=said.row, turns=[*said.turns, turn], world=world), cut_short=cut_short
    )


def _go_on(
    session: Session,
    row: ConversationRow,
    world: WorldView,
    now_said: Transcript,
    *,
    cut_short: bool = False,
    act: Act | None = None,
) -> Transcript:
    """After a turn: the game is asked, and the conversation ends, or the next one is to speak. Of more than two who are
    there, one who wants to end it leaves.
    """
    tell_said(session, row, world, now_said.turns[-1], cut_short=cut_short)
    last = now_said.turns[-1]
    if act is not None:
        ask_game(session, now_said.world, row, last, act)
    step = now_said.next_step
    if isinstance(step, EndReason):
        end_row(session, row, world, step, said=len(now_said.turns))
    else:
        if last.wants_to_end and len(those_there(row, last.turn)) > FEWEST:
            get_up(session, row, now_said.world, last.speaker_id, last.turn + 1)
        let_speak(row, step, world)
        tell_next(session, row, world, step)
        if row.awaits is not None:
            tell_choices(session, row, world, now_said.turns[-1].suggestions)
    return now_said


def get_up(session: Session, row: ConversationRow, then: WorldView, person_id: str, turn: int) -> None:
    """The person hears that turn no more, and the others go on. It goes no earlier than any talk may end where turns
    take world time.
    """
    row.participants[row.seat_of(person_id)].left_turn = turn
    at = then.now
    if row.clock_policy == ClockPolicy.MINUTE:
        at = WorldTime(max(at + 1, row.started_at + then.setting.rules.talk_min))
    release(row, [person_id])
    publish(session, row, at, ConversationLeft(conversation_id=row.id), person_id)
    tell_started(session, row, then, turns=turn)


def count_calls(
    session: Session,
    worlds: WorldRepository,
    key: ConversationKey,
    role: Purpose,
    usage: Usage,
    at: int | None = None,
) -> None:
    """Count calls that are no turn, if there were any. `at`: see `world_of`."""
    if usage.calls:
        row, world = held(session, worlds, key)
        pay(session, row, world_of(row, world, at).day, role, usage)


def end(
    session: Session,
    worlds: WorldRepository,
    world_id: str,
    conversation_id: str,
    reason: EndReason,
    failure: dict[str, Any] | None = None,
    *,
    spoken_sentences: int | None = None,
    timeline: int | None = None,
) -> ConversationRow:
    """End a running conversation and free both people; its closing is due. Nobody spoke: there is nothing to close.
    Of an utterance in the making so many sentences were told. `timeline`: the world's, when that was found out.

    Raises:
        NotFound: this world has no such conversation.
        WrongPhase: it does not run.
        RestoredMeanwhile: the world is not on that timeline any more.
    """
    row, world = held(session, worlds, ConversationKey(world_id, conversation_id))
    if timeline is not None:
        require_timeline(world, timeline)
    require(row, Phase.RUNNING)
    said = turns_said(session, row)
    log_own(session, row, world, "ended", reason=reason, failure=failure)
    end_row(session, row, world, reason, said=said, failure=failure, spoken_sentences=spoken_sentences)
    carry_on(session, row)
    return row


def end_row(
    session: Session,
    row: ConversationRow,
    world: WorldView,
    reason: EndReason,
    *,
    said: int,
    failure: dict[str, Any] | None = None,
    spoken_sentences: int | None = None,
) -> None:
    """End it after so many turns; `world` is as its clock stands. Where somebody spoke to a player who said nothing,
    there was no talk: nothing of it is remembered.

    Where turns take a minute each, it ends that many minutes after its start: a minute for each turn, that which was
    not said any more included, and no earlier than a talk lasts at least; later, where the world's clock did not wait
    for it.
    """
    if row.clock_policy == ClockPolicy.MINUTE:
        minutes = said + reason.leaves_a_turn_unsaid
        ends = WorldTime(row.started_at + max(world.setting.rules.talk_min, minutes))
        world = world.at(max(world.now, ends))
    if is_unanswered(session, row):
        said = 0
    row.phase = Phase.CLOSING if said else Phase.CLOSED
    row.awaits = None
    row.end_reason, row.failure = reason, failure
    row.ended_at = world.now
    row.closed_at = None if said else world.now
    release(row)
    ended = ConversationEnded(
        conversation_id=row.id, partner_id=row.partner_id, reason=reason, goal_achieved=row.goal_achieved
    )
    publish(session, row, world.now, ended, row.opener_id)
    tell_ended(session, row, world, reason, failure, spoken_sentences)


def is_unanswered(session: Session, row: ConversationRow) -> bool:
    """Whether somebody spoke to a player first, and the player has said nothing."""
    if row.opened_for is None:
        return False
    answer = select(TurnRow.turn).where(*said_in(row.key), TurnRow.speaker_id == row.partner_id)
    return session.exec(answer.limit(1)).first() is None


def leave_opening(session: Session, world: WorldView, player_id: str) -> None:
    """The player turns away from who spoke to it first, if it has not answered: that conversation ends."""
    row = unanswered_opening(session, world, player_id)
    if row is not None:
        end_row(session, row, world, EndReason.ENDED_BY_CLIENT, said=turns_said(session, row))
        session.flush()


def unanswered_opening(session: Session, world: WorldView, player_id: str) -> ConversationRow | None:
    """The conversation in which somebody has spoken to the player first, who has not answered; None: there is none."""
    query = select(ConversationRow).where(
        ConversationRow.world_id == world.id,
        ConversationRow.phase == Phase.RUNNING,
        col(ConversationRow.opened_for).is_not(None),
        takes_part(player_id),
    )
    row = session.exec(query.with_for_update(of=ConversationRow)).unique().first()
    return row if row is not None and is_unanswered(session, row) else None


def _standing(
    session: Session, worlds: WorldRepository, key: ConversationKey, *, lock: bool = False
) -> tuple[ConversationRow, WorldView] | None:
    """The row, and its world as the clock stands; None: it is no more."""
    found = session.execute(_of_key(lock), key._asdict()).unique().first()
    return None if found is None else (found[0], worlds.as_world(session, found[1]))


@cache
def _of_key(lock: bool) -> Executable:
    """The statement that reads a conversation and its world; made once, for it is run at every turn."""
    query = (
        select(ConversationRow, WorldRow)
        .join(WorldRow, col(WorldRow.id) == ConversationRow.world_id)
        .where(ConversationRow.world_id == bindparam("world_id"), ConversationRow.id == bindparam("conversation_id"))
    )
    return query.with_for_update(of=ConversationRow) if lock else query


def require(row: ConversationRow, *phases: Phase) -> None:
    """Raises: WrongPhase: the conversation is in none of the phases."""
    if row.phase not in phases:
        wanted = " / ".join(phase.value for phase in phases)
        raise WrongPhase(conversation_id=row.id, phase=row.phase, wanted=wanted)


def failure_of(error: KataribeError, role: Role) -> dict[str, Any]:
    """An error as it is kept with the conversation."""
    return {"type": error.slug, "role": role, **{language: error.sentence(language) for language in languages()}}


def pay(session: Session, row: ConversationRow, day: int, role: Purpose, usage: Usage) -> None:
    """Count what calls cost, for the conversation, which is held, and for its world's day."""
    spent = {name: getattr(row, name) + getattr(usage, name) for name in _SPENT}
    is_written = row in session.dirty
    if not is_written:  # a turn mostly changes nothing else of it: a flush would take five times as long
        session.connection().execute(_PAYING, {**spent, "of_world": row.world_id, "of_conversation": row.id})
    for name, value in spent.items():
        setattr(row, name, value) if is_written else set_committed_value(row, name, value)
    count(session, row.world_id, day, role, usage)
