"""Owns what a scene adds to what is a person's for long: experiences, goals and memories that a model proposes, with
the turns they rest on, and a writer accepts, changes or refuses. Only what is accepted holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import TEMPLATES, Line, data
from service.conversation.transcript import conversation_of, held, pay, turns_of
from service.conversation.turn_taking import hears, interventions_in, sees
from service.errors import ModelError, NotFound
from service.llm.chat import Prompt, PromptValues
from service.memory.closing.context import Sentence, Turn, Weight
from service.memory.lexical import normal
from service.memory.memory_store import MemoryStore
from service.memory.record import Group, Kind, Memory, Source, Support, row_of
from service.memory.telling import one_line
from service.people.proposals import LongTermKind, Proposal, proposals_in
from service.people.worlds import WorldRepository, WorldView, count_people_revision
from service.store.events import log_in
from service.store.perception import told_of_turn
from service.store.phase import ProposalState
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    InterventionRow,
    MemoryRow,
    ParticipantRow,
    TurnRow,
)
from service.usage import Usage
from world.time import WorldTime

MAX_TOKENS = 700
MOST_TURNS = 40
"""So many of the last turns that the person perceived are thought over."""

NOTHING = Usage()


class LongTermDraft(BaseModel, extra="forbid"):
    """Something to be added, and the turns it rests on."""

    text: Sentence
    importance: Weight
    turns: list[Turn] = Field(max_length=4)


Drafts = Annotated[list[LongTermDraft], Field(max_length=3)]


class LongTermUpdate(BaseModel, extra="forbid"):
    """The one structured answer to a long-term update."""

    experiences: Drafts
    goals: Drafts
    memories: Drafts


@dataclass(frozen=True, kw_only=True)
class LongTermContext(PromptValues):
    """All that a long-term update may draw on: what the person perceived, and of its own turns thought too, and what
    is its own for long already.
    """

    name: str
    now: str
    lines: tuple[Line, ...]
    known: tuple[str, ...] = ()


def long_term_prompt(context: LongTermContext, thread: str = "") -> Prompt[LongTermUpdate]:
    """The question as it is sent. The closing's model answers it; it is counted apart."""
    return TEMPLATES.question("long_term", "closing", context, LongTermUpdate, max_tokens=MAX_TOKENS, thread=thread)


Weighed = tuple[LongTermKind, LongTermDraft, Literal["", "unseen", "known"]]
"""A draft, and why it is refused at once; "": it is not."""


def weighed(update: LongTermUpdate, context: LongTermContext) -> list[Weighed]:
    """All drafts, with those of its turns that were perceived. Refused is what rests on no such turn, or is the
    person's already. Whether the rest is so is for the writer to judge. Pure.
    """
    found, known = list[Weighed](), {"", *map(normal, context.known)}
    perceived = {line.turn for line in context.lines}
    named: tuple[LongTermKind, ...] = ("experience", "goal", "memory")
    for kind, drafts in zip(named, (update.experiences, update.goals, update.memories), strict=True):
        for draft in drafts:
            seen = draft.model_copy(update={"turns": sorted(perceived.intersection(draft.turns))})
            is_seen = bool(draft.turns) and perceived.issuperset(draft.turns)
            text = normal(draft.text)
            found.append((kind, seen, "unseen" if not is_seen else "known" if text in known else ""))
            known.add(text)
    return found


def due_requests(session: Session, key: ConversationKey) -> list[int]:
    """The numbers of the interventions that ask for a long-term update and were not answered yet."""
    asked = (one for one in interventions_in(session, key) if one.kind == "long_term_update_request")
    return [one.number for one in asked if "proposed" not in one.details and "failure" not in one.details]


async def propose(deps: ConversationDependencies, key: ConversationKey, number: int) -> list[Proposal]:
    """Ask for what that intervention wants, and write down what is proposed, and what is refused at once. Done twice,
    nothing is written twice.

    Raises:
        NotFound: there is no such intervention.
        ModelError: the model failed; the intervention says so.
    """
    person_id, context = await deps.database.read(lambda s: _context(s, deps, key, number))
    try:
        answer = await deps.models.for_role("closing").complete(long_term_prompt(context, thread="/".join(key)))
    except ModelError as exc:
        failure, usage = exc.slug, exc.usage
        await deps.database.write(lambda s: fail(s, deps.worlds, key, number, failure, usage))
        raise
    found = weighed(answer.value, context)
    return await deps.database.write(lambda s: _settle(s, deps.worlds, key, number, person_id, found, answer.usage))


def fail(
    session: Session, worlds: WorldRepository, key: ConversationKey, number: int, failure: str, usage: Usage = NOTHING
) -> None:
    """Write down why that intervention was not answered, and what that cost; the caller commits. Raises: NotFound."""
    row, world = held(session, worlds, key)
    request = _request(session, key, number)
    if usage.calls:
        pay(session, row, world.day, "long_term", usage, failures=1)
    if "proposed" not in request.details:
        request.details = request.details | {"failure": failure}
        log_in(session, key, world.now, "proposed", number=number, failure=failure)


def proposals_of(session: Session, key: ConversationKey) -> list[Proposal]:
    """All of a scene, in the order in which they were made."""
    return proposals_in(session, key.world_id, InterventionRow.conversation_id == key.conversation_id)


def judge(
    session: Session,
    memory: MemoryStore,
    world: WorldView,
    key: ConversationKey,
    proposal_id: str,
    state: ProposalState,
    text: str | None = None,
    importance: int | None = None,
) -> Proposal:
    """Accept a proposal, in other words where `text` is given, or refuse it; the caller commits. What was accepted
    before can be refused too.

    Raises:
        NotFound: there is no such proposal.
    """
    before = next((one for one in proposals_of(session, key) if one.id == proposal_id), None)
    if before is None:
        raise NotFound(kind="proposal", id=proposal_id)
    words, weight = text or before.text, importance or before.importance
    row = replace(before, text=words, importance=weight, state=state, at=world.now, refused_for="")
    request = session.get_one(InterventionRow, (*key, row.number))
    request.proposals = [*request.proposals[: row.index], row.kept(), *request.proposals[row.index + 1 :]]
    group = Group(world_id=key.world_id, person_id=row.person_id)
    log_in(session, key, world.now, "judged", proposal_id=row.id, state=state, text=text, importance=importance)
    is_held = session.get(MemoryRow, group.key(row.id)) is not None
    if row.kind == "memory" and state == ProposalState.ACCEPTED:
        accepted = _memory(conversation_of(session, *key), row, world.now)
        memory.replace(session, group, accepted) if is_held else memory.add(
            session, group, [row_of(group, accepted, 0)]
        )
    elif is_held:
        memory.remove(session, group, Kind.FACT, row.id)
    if row.kind != "memory":
        count_people_revision(session, key.world_id)
    return row


def _context(
    session: Session, deps: ConversationDependencies, key: ConversationKey, number: int
) -> tuple[str, LongTermContext]:
    """Whose update the intervention asks for, and what it may draw on. Raises: NotFound."""
    request = _request(session, key, number)
    row, world = conversation_of(session, *key), deps.worlds.open(session, key.world_id)
    person = row.participants[row.seat_of(request.target_id or "")]
    profile = world.cast.actor(person.person_id)
    proposed = proposals_in(session, key.world_id, InterventionRow.target_id == person.person_id)
    added = [one.text for one in proposed if one.state != ProposalState.REFUSED]
    seen = [(turn, _perceived(turn, person)) for turn in turns_of(session, key) if not turn.not_to_quote]
    lines = [
        Line(
            turn=turn.turn,
            speaker_id=turn.speaker_id,
            speaker_name=turn.speaker_name,
            text=data(one_line(text)),
        )
        for turn, text in seen
        if text
    ]
    return person.person_id, LongTermContext(
        language=world.language,
        name=profile.name,
        now=world.label,
        lines=tuple(lines[-MOST_TURNS:]),
        known=(*(goal.goal for goal in profile.goals), *profile.facts, *(one.text for one in profile.persona), *added),
        own_prompts=world.cast.own_prompts,
    )


def _perceived(turn: TurnRow, person: ParticipantRow) -> str:
    """What the person perceived of the turn; "": nothing."""
    act = turn.act if sees(turn, person) else ""
    words_said = turn.text if hears(turn, person) else ""
    thought = f"[{turn.think}] " if turn.think and turn.speaker_id == person.person_id else ""
    return f"{thought}{told_of_turn(act, words_said)}".strip()


def _request(session: Session, key: ConversationKey, number: int) -> InterventionRow:
    """Raises: NotFound."""
    row = session.get(InterventionRow, (*key, number))
    if row is None or row.kind != "long_term_update_request":
        raise NotFound(kind="intervention", id=number)
    return row


def _settle(
    session: Session,
    worlds: WorldRepository,
    key: ConversationKey,
    number: int,
    person_id: str,
    found: Sequence[Weighed],
    usage: Usage,
) -> list[Proposal]:
    row, world = held(session, worlds, key)
    request = _request(session, key, number)
    pay(session, row, world.day, "long_term", usage)
    if "proposed" in request.details:
        return []
    made = [
        Proposal(
            conversation_id=key.conversation_id,
            number=number,
            index=index,
            person_id=person_id,
            kind=kind,
            text=one_line(draft.text),
            importance=draft.importance,
            evidence=draft.turns,
            state=ProposalState.REFUSED if refused_for else ProposalState.PROPOSED,
            at=world.now,
            refused_for=refused_for,
        )
        for index, (kind, draft, refused_for) in enumerate(found)
    ]
    known = {name: value for name, value in request.details.items() if name != "failure"}
    request.details = known | {"proposed": len(made)}
    request.proposals = [one.kept() for one in made]
    log_in(session, key, world.now, "proposed", number=number, failure=None)
    session.flush()
    return made


def _memory(conversation: ConversationRow, row: Proposal, now: WorldTime) -> Memory:
    """The memory as the person holds it, with where it came from: the writer who accepted it says so."""
    others = [one for one in conversation.person_ids if one != row.person_id]
    return Memory(
        id=row.id,
        kind=Kind.FACT,
        text=row.text,
        importance=row.importance,
        support=Support.AUTHOR,
        source=Source.AUTHOR,
        conversation_id=conversation.id,
        turns=tuple(row.evidence),
        partner_id=others[0],
        valid_from=WorldTime(conversation.started_at),
        known_from=now,
    )
