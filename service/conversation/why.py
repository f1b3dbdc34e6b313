"""Owns what a turn was asked with, and why somebody said it: what its speaker wanted, how it stood to the other, what
it had in mind, who answered.

The text of a prompt may be gone; what it held is kept beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from sqlmodel import Session

from service.conversation.context_builder import met_by
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import Goal, Knowledge, PromptRecord, messages
from service.conversation.transcript import conversation_of, goal_of, lines_for, turns_of
from service.conversation.turn_taking import OPENER, is_shared
from service.errors import existing
from service.llm.chat import Message
from service.memory.record import turn_key
from service.memory.telling import Remembered, look_up, remembered_line
from service.people.attitude import attitude_changes, stance, sum_of
from service.people.worlds import WorldView
from service.store.phase import AUTHOR
from service.store.tables import ConversationRow, PromptRow, TurnRow
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class TurnWhy:
    """Why a turn was said. `goal` is the opener's own (None: its speaker did not open), `wanted` what its speaker
    wanted of a scene ("": it is none, or nothing). `is_shared`: it is of a scene, or of more than two. `perceived` is
    what its speaker was shown since its last turn. `knew` is None where nothing is recorded: the conversation was read
    in. `told` is what the game had said was going on, up to then. `messages` are None where they were not kept.
    """

    turn: TurnRow
    partner_id: str
    goal: Goal | None
    wanted: str
    is_shared: bool
    perceived: tuple[str, ...]
    knew: Knowledge | None
    memories: tuple[Remembered, ...] = ()
    reminded: tuple[Remembered, ...] = ()
    told: tuple[str, ...]
    messages: tuple[Message, ...] | None


def prompt_of(
    session: Session, world: WorldView, row: ConversationRow, index: int
) -> tuple[TurnRow, tuple[Message, ...]]:
    """A turn, and the messages its speaker was sent for it: for the last time, where it was asked twice.

    Raises:
        NotFound: the conversation has no such turn; or its prompts were not kept: it is closed, or was read in from an
            export.
    """
    turn, _, sent = _read(session, world, row, index)
    return turn, existing(sent, "prompt", f"{row.id}/{index}")


def _read(
    session: Session, world: WorldView, row: ConversationRow, index: int
) -> tuple[TurnRow, PromptRow | None, tuple[Message, ...] | None]:
    """The turn, what is kept of how its speaker's prompts begin (None: nothing), and the messages that were sent for it
    (None: their text is gone).

    Raises:
        NotFound: the conversation has no such turn.
    """
    turn = existing(session.get(TurnRow, (row.world_id, row.id, index)), "turn", index)
    kept = session.get(PromptRow, (row.world_id, row.id, turn.speaker_id))
    record = PromptRecord.of(kept) if kept else None
    if record is None:
        return turn, kept, None
    opens = row.seat_of(turn.speaker_id) == OPENER and not row.goal_given
    own_goal = goal_of(row) if opens and index > 0 else None
    said = lines_for(world, row, turn.speaker_id, turns_of(session, row.key)[:index])
    before = "\n".join(filter(None, (turn.note, turn.recalled)))
    return turn, kept, messages(record, said, turn.speaker_id, before, own_goal, turn.note_turns or ())


async def why_said(deps: ConversationDependencies, world: WorldView, conversation_id: str, index: int) -> TurnWhy:
    """Why the turn was said, as `world` calls people and places.

    Raises:
        NotFound: there is no such conversation, or turn.
    """

    def work(session: Session) -> TurnWhy:
        row = conversation_of(session, world.id, conversation_id)
        turn, kept, sent = _read(session, world, row, index)
        knew = Knowledge.model_validate(kept.knew) if kept else None
        seat = row.seat_of(turn.speaker_id)
        partner_id = met_by(row, seat)[0][0]
        ids = {turn_key(row.id, number) for number in range(turn.turn + 1)}
        changes = attitude_changes(session, row.world_id, WorldTime(turn.at), [turn.speaker_id], [partner_id])
        judged = sum_of(one for one in changes if one.id in ids)  # the last time before the turn
        if knew and judged.judged:
            judged = replace(judged, affinity=knew.affinity)
            told = stance(judged, world.name_of(partner_id), world.language)
            knew = knew.model_copy(update={"stance": told})
        before = turns_of(session, row.key)[: turn.turn]
        shown = takewhile(
            lambda line: line.speaker_id != turn.speaker_id,
            reversed(lines_for(world, row, turn.speaker_id, before)),
        )
        return TurnWhy(
            turn=turn,
            partner_id=partner_id,
            goal=goal_of(row) if seat == OPENER else None,
            wanted=row.participants[seat].goal,
            is_shared=is_shared(row, turn.turn),
            perceived=tuple(line.shown for line in shown)[::-1],
            knew=knew,
            told=tuple(line for lines in (row.told, *(one.told for one in before)) for line in lines or ()),
            messages=sent,
        )

    why = await deps.database.read(work)
    known = why.knew.memories if why.knew else ()
    found = await look_up(deps.database, world, why.turn.speaker_id, [*known, *why.turn.reminded])
    return replace(why, memories=found[: len(known)], reminded=found[len(known) :])


def in_words(world: WorldView, why: TurnWhy) -> Iterator[str]:
    """The answer, a sentence each, in the language of `world`."""
    turn, then = why.turn, WorldTime(why.turn.at)
    name, partner = turn.speaker_name, world.name_of(why.partner_id)
    if why.goal is not None:
        yield world.say("why.goal", name=name, goal=why.goal.goal, criteria=why.goal.success_criteria)
    elif not why.is_shared:
        yield world.say("why.spoken_to", name=name, partner=partner)
    if why.wanted:
        yield world.say("why.wanted", name=name, goal=why.wanted)
    if turn.think:
        yield world.say("why.thought", name=name, thought=turn.think)
    if why.is_shared:
        yield world.say("why.perceived" if why.perceived else "why.perceived_nothing", name=name)
        yield from why.perceived
    if why.knew is None:
        yield world.say("why.unrecorded")
    else:
        stance = world.say("why.stance", stance=why.knew.stance) if why.knew.stance else ""
        mood = world.say(f"web.mood_{why.knew.mood}")
        told = {"affinity": why.knew.affinity, "stance": stance, "times": why.knew.times_met, "mood": mood}
        yield world.say("why.attitude", name=name, partner=partner, **told)
        yield world.say("why.remembered" if why.memories else "why.remembered_nothing", name=name)
        yield from (remembered_line(world, one, then) for one in why.memories)
    if why.reminded:
        yield world.say("why.reminded", name=name)
        yield from (remembered_line(world, one, then) for one in why.reminded)
    if why.told:
        yield world.say("why.told")
        yield from why.told
    yield world.say(
        "why.deflected" if turn.model == AUTHOR else "why.model",
        model=turn.model,
        ms=turn.duration_ms,
        prompt=turn.prompt_tokens,
        cached=turn.cached_tokens,
        completion=turn.completion_tokens,
        calls=turn.calls,
        failures=max(0, turn.calls - 1),
    )
    if why.messages is None:
        yield world.say("why.prompt_gone")
