"""Owns what a writer does to a scene: by hand, or by what the scene's file says is to happen. Each is one row, written
in the transaction that does it, and holds from the turn that comes next.

One kind asks for a long-term update: a model proposes experiences, goals and memories of a person, with the turns they
rest on, and a writer accepts, changes or refuses them. Only what is accepted holds.
"""

import logging
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from sqlmodel import Session

from service.content.fields import Flag, same_flag
from service.content.scenes import MOST_PEOPLE, Condition, Intervention, NeedLevel, Said, SceneEffect
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import TEMPLATES, Line, data
from service.conversation.scenes import definition_of, join, leave
from service.conversation.transcript import conversation_of, end_row, held, pay, turns_of
from service.conversation.turn_taking import TEXTS, carry_on, hears, interventions_in, sees, those_there
from service.errors import ModelError, SceneOver, TurnPassed, existing, refuse
from service.llm.chat import PromptValues
from service.locales import Language, Phrase
from service.memory.closing.context import Sentence, Turn, Weight
from service.memory.lexical import normal
from service.memory.memory_store import MemoryStore
from service.memory.record import Group, Kind, Memory, Source, Support, row_of
from service.memory.telling import one_line
from service.people.person import levels_of, person_row, read_person
from service.people.proposals import LongTermKind, Proposal, proposals_in
from service.people.worlds import WorldRepository, WorldView, count_people_revision
from service.store.events import log_in
from service.store.perception import told_of_turn
from service.store.phase import EndReason, Phase, ProposalState
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    InterventionRow,
    MemoryRow,
    ParticipantRow,
    TurnRow,
)
from service.usage import Usage
from world.time import WorldTime, minute_of_day

_log = logging.getLogger(__name__)

COMES_IN, OF_ONE = "add_person", ("remove_person", "revelation", "long_term_update_request")
"""Kinds that concern a person: who is not there yet, or who is."""


@dataclass(frozen=True, kw_only=True)
class SceneState:
    """What may make something happen before turn `turn` (from 0): what was said so far, the world's flags, weather and
    minute of the day, the levels of needs by person, who is there, and before which turns each rule happened already.
    """

    turn: int
    language: Language
    said: Sequence[TurnRow] = ()
    flags: Mapping[str, Flag] = field(default_factory=dict)
    weather: str = ""
    minute: int = 0
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    there: Collection[str] = ()
    happened: Mapping[str, Sequence[int]] = field(default_factory=dict)


def is_due(rule: Intervention, state: SceneState) -> bool:
    """Whether the rule is to happen now: all that it asks for is so, and it has happened neither before this turn nor
    as often as it may. One that concerns somebody who is not there (or, to come in, who is) waits. Pure.
    """
    before = state.happened.get(rule.id, ())
    return (
        len(before) < rule.times
        and state.turn not in before
        and _can_be_done(rule.do, state.there)
        and _holds(rule.when, state, since=max(before, default=0))
    )


def _can_be_done(effect: SceneEffect, there: Collection[str]) -> bool:
    if effect.kind == COMES_IN:
        return effect.person_id not in there and len(there) < MOST_PEOPLE
    return effect.kind not in OF_ONE or effect.person_id in there


def _holds(when: Condition, state: SceneState, *, since: int) -> bool:
    turn = state.turn + 1  # writers count from 1
    return (
        when.turn in (None, turn)
        and (when.from_turn is None or when.from_turn <= turn)
        and (when.said is None or any(_says(one, when.said, state.language) for one in state.said[since:]))
        and all(same_flag(state.flags.get(name, False), value) for name, value in when.flags.items())
        and (when.weather is None or _folded(when.weather.of(state.language)) == _folded(state.weather))
        and (when.hours is None or when.hours.contain(state.minute))
        and (when.need is None or _is_between(state.levels.get(when.need.person, {}).get(when.need.need), when.need))
    )


def _says(one: TurnRow, asked: Said, language: Language) -> bool:
    said = _folded(one.text)
    return asked.by in (None, one.speaker_id) and any(_folded(word.of(language)) in said for word in asked.words)


def _is_between(level: float | None, asked: NeedLevel) -> bool:
    is_below = level is not None and (asked.below is None or level < asked.below)
    return level is not None and is_below and (asked.above is None or level > asked.above)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def intervene(
    session: Session, worlds: WorldRepository, key: ConversationKey, effect: SceneEffect, before_turn: int | None = None
) -> InterventionRow:
    """Do to the scene what its writer wants, from turn `before_turn` (None: the next one) on; the caller commits.

    Raises:
        NotFound: there is no such conversation, character or NPC.
        SceneOver: it has ended; only what is somebody's for long may still be added to.
        TurnPassed: that turn has been spoken.
        Invalid: that turn is not the next one; the person is not there, or is there already; they would be too many.
    """
    row, world = held(session, worlds, key)
    said = turns_of(session, key)
    of_past = effect.kind == "long_term_update_request"
    if row.phase != Phase.RUNNING and not of_past:
        raise SceneOver(turns=len(said))
    if before_turn is not None and before_turn < len(said):
        raise TurnPassed(turn=before_turn + 1, said=len(said))
    there = row.person_ids if of_past else [one.person_id for one in those_there(row, len(said))]
    not_next = before_turn is not None and before_turn > len(said)
    refuse(
        (not_next, "before_turn", Phrase("answers.invalid_fields.not_next", turn=len(said))),
        (effect.kind in OF_ONE and effect.person_id not in there, "person_id", "answers.invalid_fields.takes_no_part"),
    )
    done = _do(session, row, world, effect, len(said))
    carry_on(session, row)
    return done


def happen(session: Session, worlds: WorldRepository, key: ConversationKey) -> bool:
    """Do what the scene's file says is to happen before the next turn; the caller commits. Answers whether anything
    did. Done twice, as after a crash, it happens once.
    """
    row, world = held(session, worlds, key)
    rules, said = rules_of(session, key), turns_of(session, key)
    state, any_happened = _state(session, row, world, said, rules), False
    for rule in rules:
        now = replace(state, there=[one.person_id for one in those_there(row, len(said))])
        if row.phase == Phase.RUNNING and is_due(rule, now):
            _do(session, row, world, rule.do, len(said), rule.id)
            any_happened = True
    return any_happened


async def step_in(deps: ConversationDependencies, key: ConversationKey) -> bool:
    """Before the next turn of a scene: what its file says happens, and what was asked for is proposed. Answers whether
    anything happened. A model that proposes nothing useful keeps no scene from going on: the intervention says so.
    """
    has_rules = await deps.database.read(lambda s: bool(rules_of(s, key)))
    happened = has_rules and await deps.database.write(lambda s: happen(s, deps.worlds, key))
    for number in await deps.database.read(lambda s: due_requests(s, key)):
        try:
            await propose(deps, key, number)
        except ModelError as exc:
            _log.warning("nothing was proposed of conversation %s: %s", key.conversation_id, exc)
    return happened


def rules_of(session: Session, key: ConversationKey) -> tuple[Intervention, ...]:
    """What the file of the conversation's scene says is to happen; of a conversation that is no scene, nothing."""
    row = conversation_of(session, *key)
    return () if row.definition is None else definition_of(row).interventions


def write_down(session: Session, row: ConversationRow, world: WorldView, done: Mapping[str, Any]) -> InterventionRow:
    """Add its row (`done` are its columns), and to the log of what came from outside; the caller commits."""
    intervention = InterventionRow(
        **row.key._asdict(), at=world.now, number=len(interventions_in(session, row.key)), **done
    )
    session.add(intervention)
    log_in(session, row.key, world.now, "intervened", done=dict(done))
    return intervention


def _do(
    session: Session, row: ConversationRow, world: WorldView, effect: SceneEffect, said: int, rule: str | None = None
) -> InterventionRow:
    spot = effect.add_person.spot.of(world.language) if effect.add_person else ""
    details: dict[str, Any] = {TEXTS[effect.kind]: effect.text.of(world.language)} if effect.kind in TEXTS else {}
    if effect.kind in (COMES_IN, "remove_person"):
        details = {"person_id": effect.person_id} | ({"spot": spot} if spot else {})
    done = {"before_turn": said, "kind": effect.kind, "target_id": effect.person_id, "details": details, "rule": rule}
    intervention = write_down(session, row, world, done)
    if effect.kind == COMES_IN:
        join(session, row, world, world.cast.actor(effect.person_id or "").id, spot)
    elif effect.kind == "remove_person":
        leave(session, row, world, effect.person_id or "")
    elif effect.kind == "end_scene":
        log_in(session, row.key, world.now, "ended", reason=EndReason.ENDED_BY_CLIENT, failure=None)
        end_row(session, row, world, EndReason.ENDED_BY_CLIENT, said=said)
    session.flush()
    return intervention


def _state(
    session: Session, row: ConversationRow, world: WorldView, said: Sequence[TurnRow], rules: Sequence[Intervention]
) -> SceneState:
    done = [one for one in interventions_in(session, row.key) if one.rule is not None]
    asked = {rule.when.need.person for rule in rules if rule.when.need} & set(world.cast.characters)
    return SceneState(
        turn=len(said),
        language=world.language,
        said=said,
        flags=world.flags,
        weather=world.weather,
        minute=minute_of_day(world.now),
        levels={person_id: _levels(session, world, person_id) for person_id in asked},
        happened={rule.id: [one.before_turn for one in done if one.rule == rule.id] for rule in rules},
    )


def _levels(session: Session, world: WorldView, person_id: str) -> Mapping[str, float]:
    needs = world.setting.catalogue.needs
    life = person_row(session, world.id, person_id).life
    levels = levels_of(world, person_id, read_person(life, needs) if life else None)
    return needs.at(levels, max(world.now, levels.since))


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
    prompt = TEMPLATES.question(
        "long_term", "closing", context, LongTermUpdate, max_tokens=MAX_TOKENS, thread="/".join(key)
    )
    try:
        answer = await deps.models.for_role("closing").complete(prompt)
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
        pay(session, row, world.day, "long_term", usage.failed)
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
    made = (one for one in proposals_of(session, key) if one.id == proposal_id)
    before = existing(next(made, None), "proposal", proposal_id)
    words, weight = text or before.text, importance or before.importance
    row = replace(before, text=words, importance=weight, state=state, at=world.now, refused_for="")
    request = session.get_one(InterventionRow, (*key, row.number))
    request.proposals = [*request.proposals[: row.index], row.kept(), *request.proposals[row.index + 1 :]]
    group = Group(world_id=key.world_id, person_id=row.person_id)
    log_in(session, key, world.now, "judged", proposal_id=row.id, state=state, text=text, importance=importance)
    is_held = session.get(MemoryRow, group.key(row.id)) is not None
    if row.kind == "memory" and state == ProposalState.ACCEPTED:
        talk = conversation_of(session, *key)
        accepted = Memory(  # with where it came from: the writer who accepted it says so
            id=row.id,
            kind=Kind.FACT,
            text=row.text,
            importance=row.importance,
            support=Support.AUTHOR,
            source=Source.AUTHOR,
            conversation_id=talk.id,
            turns=tuple(row.evidence),
            partner_id=next(one for one in talk.person_ids if one != row.person_id),
            valid_from=WorldTime(talk.started_at),
            known_from=world.now,
        )
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
    return existing(row if row and row.kind == "long_term_update_request" else None, "intervention", number)


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
