"""Owns what a writer does to a scene: by hand, or by what the scene's file says is to happen. Each is one row, written
in the transaction that does it, and holds from the turn that comes next.
"""

import logging
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session

from service.content.fields import Flag, same_flag
from service.content.scenes import MOST_PEOPLE, Condition, Intervention, NeedLevel, Said, SceneEffect
from service.conversation.dependencies import ConversationDependencies
from service.conversation.long_term import due_requests, propose
from service.conversation.scenes import definition_of, join, leave
from service.conversation.transcript import conversation_of, end_row, held, turns_of
from service.conversation.turn_taking import TEXTS, interventions_in, those_there
from service.errors import Invalid, ModelError, SceneOver, TurnPassed
from service.locales import Language, Phrase
from service.people.person import levels_of, person_row, read_person
from service.people.worlds import WorldRepository, WorldView
from service.store.events import log_in
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow, InterventionRow, TurnRow
from world.time import minute_of_day

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
    if before_turn is not None and before_turn > len(said):
        raise Invalid(field="before_turn", reason=Phrase("answers.invalid_fields.not_next", turn=len(said)))
    there = row.person_ids if of_past else [one.person_id for one in those_there(row, len(said))]
    if effect.kind in OF_ONE and effect.person_id not in there:
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.takes_no_part"))
    return _do(session, row, world, effect, len(said))


def happen(session: Session, worlds: WorldRepository, key: ConversationKey) -> bool:
    """Do what the scene's file says is to happen before the next turn; the caller commits. Answers whether anything
    did. Done twice, as after a crash, it happens once.
    """
    row, world = held(session, worlds, key)
    rules = rules_of(session, key)
    said = turns_of(session, key)
    if not rules:
        return False
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
        join(session, row, world, effect.person_id or "", spot)
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
