"""Owns one utterance: asked of the model, checked, asked for once more if need be, and committed. Or how that fails."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.conversation.acting import LONGEST_WORDS, Act, CharacterTurn, NpcTurn, OpeningTurn, SceneTurn
from service.conversation.closing import machine_time
from service.conversation.context_builder import Contexts
from service.conversation.context_selection import reminded_of
from service.conversation.dependencies import ConversationDependencies, Spoken
from service.conversation.game_actions import Pending, pending
from service.conversation.human import leave_unanswered, wait_for_model
from service.conversation.moderator import changed_stance, perceivers
from service.conversation.prompt import (
    Nudge,
    PromptContext,
    PromptRecord,
    data,
    render_note,
    render_reminder,
    speaker_prompt,
    was_told,
)
from service.conversation.sketch import sketched_turn
from service.conversation.speech import Speech
from service.conversation.transcript import (
    Transcript,
    commit_turn,
    count_calls,
    end,
    failure_of,
    goal_of,
    lines_for,
    read_transcript,
)
from service.conversation.turn_taking import (
    address,
    among,
    asks,
    ending,
    happened,
    interventions_in,
    is_shared,
    names_of,
    newcomers,
    reached_at,
    spot_told,
    spots,
    those_there,
)
from service.conversation.utterance import breaks_character, is_foreign, is_nonsense, is_repetition, within
from service.errors import (
    ANSWERED,
    AWAY,
    BudgetExhausted,
    ModelEmpty,
    ModelError,
    ModelOutOfCharacter,
    ModelRefused,
    NotFound,
    WrongPhase,
)
from service.llm.chat import Answer, Role, TextListener
from service.locales import languages, sentences
from service.memory.secrets import Discretion, discretion_among
from service.store.phase import AUTHOR, ClockPolicy, EndReason, Loudness, TurnForm
from service.store.quality import CheckedAnswer, Tally
from service.store.tables import ConversationRow, InterventionRow, TurnRow
from service.store.usage import Purpose
from service.usage import Usage
from world.time import WorldTime

TIME_PASSES_MINUTES = 30
"""When so much world time has passed since a speaker's own last words, it is told the time."""


class Stalled(Exception):
    """The speaker said nearly the same again, after being asked for something else."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("the speaker repeats itself")
        self.usage = usage


ENDS_WITH = {Stalled: EndReason.STALLED, BudgetExhausted: EndReason.BUDGET_EXHAUSTED}
"""What keeps a turn from being spoken, and is no failure of the model."""


async def speak(
    deps: ConversationDependencies,
    known: Contexts,
    said: Transcript,
    seat: int,
    at: WorldTime | None = None,
    *,
    sketched: bool = False,
) -> Transcript | None:
    """What was said with the next turn, committed and told to who listens; None: there is none, the conversation is
    over, and its row says why. While the model is away it waits, and answers what stands then, without the turn.

    `at` is the world time it is spoken at (None: what the world's clock shows when it is committed). `sketched`: one
    call makes the whole talk, of which this is a turn. Whatever a model does ends the conversation in a known state; it
    never becomes dialogue.
    """
    row, role = said.row, known.contexts[seat].speaker.kind
    stance_now = "" if sketched else await changed_stance(deps, known.world, _turned(known, said, seat), said, at)
    try:
        utterance = await _drafted(deps, known, said, seat, at) if sketched else None
        utterance = utterance or await _utter(deps, known, said, seat, stance_now, at)
    except asyncio.CancelledError:  # the question was sent, and is paid for whoever interrupted it
        await asyncio.shield(_count(deps, row, role, Usage(calls=1, estimated=True), at))
        raise
    except (Stalled, ModelError) as exc:
        await _count(deps, row, role, exc.usage, at)
        failure = failure_of(exc, role) if isinstance(exc, ModelError) else None
        if isinstance(exc, AWAY) and failure and (seconds := _patience(deps, row, role, exc)) > 0:
            return await _wait_for_model(deps, said, failure, seconds)
        await finish(deps, said, ENDS_WITH.get(type(exc), EndReason.MODEL_FAILURE), failure)
        return None
    committing = asyncio.ensure_future(_commit(deps, known, said, seat, utterance, at))
    try:
        now_said = await asyncio.shield(committing)
    except asyncio.CancelledError:  # the database may have it already: whoever asks anew must see it
        await asyncio.gather(committing, return_exceptions=True)
        raise
    if now_said is not None:
        deps.stream.hush(row.key)
    return now_said


LONGEST_WAIT_SECONDS = 60.0
"""Between two tries of a model that is away."""


def _patience(deps: ConversationDependencies, row: ConversationRow, role: Role, error: ModelError) -> float:
    """Seconds to wait for a model that is away: as long again as it has been away. 0: it has been for too long, or
    somebody waits for this very answer who asks again.
    """
    away = deps.models.health.failing_seconds(role)
    left = deps.settings.llm.away_seconds - away if row.chat_idle_minutes is None else 0
    return min(max(1.0, away, error.facts.get("retry_after_seconds") or 0), LONGEST_WAIT_SECONDS, left)


async def _wait_for_model(
    deps: ConversationDependencies, said: Transcript, failure: dict[str, Any], seconds: float
) -> Transcript | None:
    """The conversation as it stands after so many seconds; until then its row says why it waits, and clients are told
    once.
    """
    key, told = said.row.key, deps.stream.sentences_told(said.row.key)
    failure["next_try_at"] = machine_time(seconds)
    await deps.database.write(lambda s: wait_for_model(s, deps.worlds, key, failure, told))
    deps.stream.hush(key)
    await asyncio.sleep(seconds)
    return await deps.database.read(lambda s: read_transcript(s, deps.worlds, key))


async def finish(
    deps: ConversationDependencies, said: Transcript, reason: EndReason, failure: dict[str, Any] | None = None
) -> None:
    """End it, unless the client did so, or somebody forgot it, in the same moment. What only could not be answered ends
    no conversation with a human, and no scene; a budget that is spent ends it, but for a chat client's.
    """
    row, told = said.row, deps.stream.sentences_told(said.row.key)
    try:
        waits, is_chat = row.has_human or row.form == TurnForm.SCENE, row.chat_idle_minutes is not None
        if waits and (reason == EndReason.MODEL_FAILURE or (is_chat and reason == EndReason.BUDGET_EXHAUSTED)):
            await deps.database.write(lambda s: leave_unanswered(s, deps.worlds, row.key, failure or {}, told))
            deps.stream.hush(row.key)
            return
        on = said.world.timeline
        await deps.database.write(
            lambda s: end(s, deps.worlds, *row.key, reason, failure, spoken_sentences=told, timeline=on)
        )
    except (WrongPhase, NotFound):
        return
    deps.stream.hush(row.key)


@dataclass(frozen=True, kw_only=True)
class _Utterance:
    answer: Answer[Any]
    note: str
    context: PromptContext
    reminded: tuple[str, ...]
    told: tuple[str, ...]
    checked: CheckedAnswer[Answer[Any]] | None = None
    draft: list[dict[str, Any]] | None = None


async def _drafted(
    deps: ConversationDependencies, known: Contexts, said: Transcript, seat: int, at: WorldTime | None
) -> _Utterance | None:
    """The next turn of a sketch, where its speaker can say it; None: the talk goes on turn by turn.

    Raises:
        ModelError: the model could not be reached.
    """
    context, found = _context_now(known, said, seat), None
    try:
        found = await sketched_turn(deps, known, said, context)
        usage = found.usage
    except ANSWERED as exc:
        usage = exc.usage
    if found is None or found.turn is None or _fault(said.row, context, found.turn) is not None:
        await _count(deps, said.row, context.speaker.kind, usage, at)
        return None
    answer = Answer(value=found.turn, usage=usage, model=found.model)
    return _Utterance(answer=answer, note="", context=context, reminded=(), told=(), draft=found.rest)


async def _utter(
    deps: ConversationDependencies,
    known: Contexts,
    said: Transcript,
    seat: int,
    stance_now: str,
    at: WorldTime | None,
) -> _Utterance:
    """One utterance that its person can say here; asked for once more if it cannot, or the model refuses, and then an
    authored one.

    Raises:
        Stalled: it repeats itself again, or gives a secret away.
        ModelEmpty: it does nothing at all again.
        ModelOutOfCharacter, ModelRefused: it steps out of its role again, or refuses, and nobody has spoken yet; or of
            models alone it has done so before.
        ModelError: the model failed.
    """
    is_scene = said.row.form == TurnForm.SCENE
    done = await deps.database.read(lambda s: interventions_in(s, said.row.key)) if is_scene else []
    context = _context_now(known, said, seat, done)
    by_human = bool(context.lines) and context.lines[-1].speaker_id in said.row.humans
    reminded = await reminded_of(deps, known.world, context, known.records[seat], by_human=by_human)
    asked, actions = Pending(), context.actions
    if actions:
        asked = await deps.database.read(lambda s: pending(s, said.world, said.row, context.speaker.id, actions))
    context = replace(
        context, reminded=reminded.lines, stance_now=stance_now, can_do=asked.can_do, outcomes=asked.outcomes
    )
    speech = Speech(deps, said, context.speaker)
    is_checked = deps.quality is not None and deps.quality.wants(said.row.key, len(said.turns), context.speaker.kind)
    try:
        answer, note = await _accepted(deps, said.row, known.records[seat], context, speech, streams=not is_checked)
        checked = await _checked(deps, said, known.records[seat], context, answer, note) if is_checked else None
    except (ModelRefused, ModelOutOfCharacter) as exc:
        before = [turn for turn in said.turns if (turn.speaker_id, turn.model) == (context.speaker.id, AUTHOR)]
        if not said.turns or (before and not said.row.has_human):
            raise
        await _count(deps, said.row, context.speaker.kind, exc.usage, at)
        await speech.begin()
        answer, note, checked = _deflected(context, said), "", None
    finally:
        await speech.leave()
    return _Utterance(
        answer=answer,
        note=note,
        context=context,
        reminded=reminded.refs,
        told=asked.told,
        checked=checked,
    )


def _deflected(context: PromptContext, said: Transcript) -> Answer[Any]:
    """What the speaker says where its model will not speak for it: a line of its own, or of the language where it has
    none, that was not said of late. No model is paid for it.
    """
    own = [turn.text for turn in said.turns if turn.speaker_id == context.speaker.id]
    late = {*own[-1:], said.turns[-1].text}
    lines = (context.speaker.deflections, sentences(context.language, "deflections"))
    fresh = next(left for some in lines if (left := [line for line in some if line not in late]))
    text = fresh[len(own) % len(fresh)]
    rest: dict[str, Any] = {"emotion": "neutral", "wants_to_end": False}
    turn = NpcTurn(utterance=text, **rest) if context.part is None else SceneTurn(think="", act="", talk=text, **rest)
    return Answer(value=turn, usage=Usage(), model=AUTHOR)


async def _checked(
    deps: ConversationDependencies,
    said: Transcript,
    record: PromptRecord,
    context: PromptContext,
    first: Answer[Any],
    note: str,
) -> CheckedAnswer[Answer[Any]] | None:
    """What is said after a check of its quality, where the `first` would else have been said; it was asked with that
    `note`.
    """
    if deps.quality is None:
        return None

    async def again(feedback: str) -> Answer[Any] | None:
        try:
            made, _ = await _ask(deps, said.row, record, replace(context, feedback=feedback), None)
        except ModelError as exc:
            tally.add(exc.usage.failed)
            raise
        is_wrong = _fault(said.row, context, made.value) is not None
        tally.add(made.usage.failed if is_wrong else made.usage)
        return None if is_wrong else made

    tally = Tally()
    notes = (line.note for line in context.lines if line.speaker_id == context.speaker.id)
    spoken = Spoken(
        key=said.row.key,
        turn=len(said.turns),
        context=context,
        told="\n".join(filter(None, (record.context, *notes, note, render_reminder(context)))),
    )
    try:
        return await deps.quality.best(spoken, first, again, tally)
    except asyncio.CancelledError:  # `speak` counts one call: that of the first answer
        tally.add(Usage(calls=1, estimated=True))
        await asyncio.shield(_count(deps, said.row, "quality", tally.usage, None))
        raise


async def _accepted(
    deps: ConversationDependencies,
    row: ConversationRow,
    record: PromptRecord,
    context: PromptContext,
    speech: Speech,
    *,
    streams: bool,
) -> tuple[Answer[Any], str]:
    """An answer that its speaker can say, asked for a second time if need be, and the note it was asked with. Raises as
    `_utter`. `streams`: who listens may be told the words while they come.
    """
    try:
        answer, note = await _attempt(deps, row, record, context, speech, streams=streams)
        # In a thread: the first one loads a detector of languages, which takes half a second.
        spent, fault = answer.usage, await asyncio.to_thread(_fault, row, context, answer.value)
    except ModelRefused as exc:
        await speech.settle()
        spent, fault = exc.usage, "refused"
    if fault is not None:
        try:
            answer, note = await _attempt(deps, row, record, replace(context, nudge=fault), speech, streams=streams)
        except ModelError as exc:
            exc.usage += spent
            raise
        answer = replace(answer, usage=spent + answer.usage)
        fault = _fault(row, context, answer.value)
    if fault is not None and _is_empty(answer.value):
        raise ModelEmpty(model=answer.model).costing(answer.usage)
    if fault == "repeated" or (fault == "gave_away" and not row.has_human):
        raise Stalled(answer.usage)
    if fault is not None:
        raise ModelOutOfCharacter(model=answer.model).costing(answer.usage)
    return answer, note


def _turned(known: Contexts, said: Transcript, seat: int) -> PromptContext:
    """The speaker's context; among more than two, or in a scene, with those who are there now, and turned to one."""
    context = known.contexts[seat]
    if is_shared(said.row, len(said.turns)) or context.others:
        context = among(context, said.world, said.row, said.turns)
        may_tell = discretion_among(context.speaker, context.affinities).open  # who came may know less than the others
        keeps = tuple(one for one in context.secrets if one not in may_tell)
        return replace(context, secrets=tuple(one for one in context.secrets if one in may_tell), keeps=keeps)
    return context


def _context_now(
    known: Contexts, said: Transcript, seat: int, interventions: Sequence[InterventionRow] = ()
) -> PromptContext:
    """The speaker's context after what was said, and what a writer did. Where turns take no world time, the world's
    clock may have moved since the speaker's last one, and something may have been announced that it was not told yet.
    """
    row, turns, context = said.row, said.turns, _turned(known, said, seat)
    asked, came = asks(row, turns, context.speaker.id), newcomers(row, context.speaker.id, turns)
    said_since: dict[str, Any] = {
        "lines": lines_for(said.world, row, context.speaker.id, turns),
        "turns_left": ending(row, turns)[0] - len(turns),
        "is_reached": reached_at(row, turns) is not None,
        "newcomers": tuple(one for one in known.contexts[seat].others if one.person_id in came),
        "whispers_to": asked.speaker_name if asked and asked.loudness == Loudness.WHISPER else "",
        "goal": goal_of(row) if context.begins else None,
    }
    if context is not known.contexts[seat]:
        said_since["said_today"] = (*context.said_today, *(turn.text for turn in turns))
        begun = known.records[seat].context
        said_since["happened"] = happened(said.world, row, context.speaker.id, turns, interventions, begun)
    if row.clock_policy != ClockPolicy.NONE or not turns:
        return replace(context, **said_since)
    own = [turn for turn in turns if turn.speaker_id == context.speaker.id]
    since = own[-1].at if own else known.world.now
    record, notes = known.records[seat], [turn.note for turn in own]
    return replace(
        context,
        **said_since,
        told_now=_told_now(row, turns, context.speaker.id),
        clock=said.world.label if said.world.now - since >= TIME_PASSES_MINUTES and not row.place else "",
        news=tuple(text for text in said.world.announced if not was_told(record, notes, text)),
    )


async def _attempt(
    deps: ConversationDependencies,
    row: ConversationRow,
    record: PromptRecord,
    context: PromptContext,
    speech: Speech,
    *,
    streams: bool,
) -> tuple[Answer[Any], str]:
    """Ask once. The answer is streamed where somebody listens; and the first words of two models that a client lets
    talk, for it can only begin to listen then. In a scene a human is not told words before it is known who hears them;
    nobody is told words that may give a secret away.
    """
    may_come = row.clock_policy == ClockPolicy.NONE and not row.has_human and not context.lines
    await speech.begin()
    is_heard = may_come or (deps.stream.has_listener(row.key) and not (row.has_human and row.form == TurnForm.SCENE))
    is_heard = is_heard and streams and not context.keeps
    found = await _ask(deps, row, record, context, speech if is_heard else None)
    await speech.settle()
    return found


async def go_on(
    deps: ConversationDependencies, known: Contexts, said: Transcript, seat: int, on_text: TextListener
) -> Answer[Any]:
    """More of the last turn, of the speaker in that seat. Nothing of it is committed.

    Raises:
        ModelError: the model failed, said nothing, or stepped out of its role.
    """
    context = replace(_context_now(known, said, seat), nudge="go_on")
    answer, _ = await _ask(deps, said.row, known.records[seat], context, on_text)
    if _fault(said.row, context, answer.value) not in (None, "repeated"):
        raise ModelOutOfCharacter(model=answer.model).costing(answer.usage)
    return answer


def _told_now(row: ConversationRow, turns: Sequence[TurnRow], speaker_id: str) -> tuple[str, ...]:
    """What the game has said since the speaker's last turn, without what it had said last before that."""
    spoke = max((turn.turn for turn in turns if turn.speaker_id == speaker_id), default=-1)
    before = next((turn.told for turn in reversed(turns[: spoke + 1]) if turn.told), row.told) or []
    since = next((turn.told for turn in reversed(turns[spoke + 1 :]) if turn.told), None) or []
    return tuple(line for line in since if line not in before)


async def _ask(
    deps: ConversationDependencies,
    row: ConversationRow,
    record: PromptRecord,
    context: PromptContext,
    on_text: TextListener | None,
) -> tuple[Answer[Any], str]:
    """The answer, and the note before the turn it was asked with, without what it was told of words that will not do.

    Raises:
        ModelError: the model failed, or said nothing at all.
    """
    note = render_note(context)
    told = "\n".join(filter(None, (note, data(context.feedback), render_reminder(context))))
    prompt = speaker_prompt(context, record, told, thread="/".join(row.key))
    heard = on_text and (lambda text, emotion: on_text(within(text, LONGEST_WORDS, is_whole=False), emotion))
    answer = await deps.models.for_role(prompt.role).complete(prompt, heard)
    if context.part is None and not answer.value.utterance.strip():
        raise ModelEmpty(model=answer.model).costing(answer.usage)
    return answer, note


def _fault(row: ConversationRow, context: PromptContext, answer: Any) -> Nudge | None:
    """What is wrong with the answer. A human who asks the same again may be answered the same again. In a scene it is
    wrong to do nothing at all, too.
    """
    profile = context.speaker
    told = (*profile.identity, *profile.facts, *context.persona, *context.secrets, *profile.lines)
    authored = (profile.name, profile.personality, profile.custom_prompt, *told)
    in_scene = isinstance(answer, SceneTurn)
    act = getattr(answer, "act", "")
    parts = (answer.think, act, answer.talk) if in_scene else (answer.utterance, act)
    if any(breaks_character(part, authored) for part in parts):
        return "broke_character"
    if any(map(is_nonsense, parts)):
        return "garbled"
    if _is_foreign(context, " ".join(parts)):
        return "foreign"
    if _is_empty(answer):
        return "repeated"
    if not Discretion(kept=context.keeps).lets(f"{answer.utterance} {act}"):
        return "gave_away"
    own = [line for line in context.lines if line.speaker_id == profile.id]
    if not row.has_human and is_repetition(answer.utterance, (line.text for line in own)):
        return "repeated"
    if in_scene and not answer.talk.strip():
        return "repeated" if is_repetition(act, (line.act for line in own)) else None
    return None


def _is_foreign(context: PromptContext, text: str) -> bool:
    """Whether the text is in another language than the talk's, names left aside. Who is spoken to in it, or has lines
    in it, may answer so; and whose author writes in a language that the service has not.
    """
    speaker = context.speaker
    for name in (speaker.name, *context.company):
        text = text.replace(name, " ")
    others = (line.text for line in context.lines if line.speaker_id != context.speaker.id)
    authored = " ".join((speaker.personality, *speaker.tendencies, *speaker.facts))
    return is_foreign(text, context.language, wholly=True) and not (
        any(is_foreign(line, context.language) for line in (*speaker.lines, *others))
        or all(is_foreign(authored, language) for language in languages())
    )


def _is_empty(answer: Any) -> bool:
    """Whether somebody does nothing at all in a scene."""
    return isinstance(answer, SceneTurn) and not f"{answer.think}{answer.act}{answer.talk}".strip()


async def _commit(
    deps: ConversationDependencies,
    known: Contexts,
    said: Transcript,
    seat: int,
    spoken: _Utterance,
    at: WorldTime | None,
) -> Transcript | None:
    """What was said with this turn, committed; None when the conversation was ended while the model spoke."""
    row, speaker, usage = said.row, known.contexts[seat].speaker, spoken.answer.usage
    taken = spoken.answer if spoken.checked is None else spoken.checked.value
    answer, index = taken.value, len(said.turns)
    turn = TurnRow(
        world_id=row.world_id,
        conversation_id=row.id,
        turn=index,
        speaker_id=speaker.id,
        speaker_name=speaker.name,
        text=answer.utterance.strip(),
        emotion=answer.emotion,
        act=getattr(answer, "act", "").strip(),
        goal_achieved=isinstance(answer, CharacterTurn) and answer.goal_achieved and index > 0,
        wants_to_end=answer.wants_to_end,
        note=spoken.note,
        note_turns=[number for number, _ in spoken.context.happened] or None,
        recalled=render_reminder(spoken.context),
        reminded=list(spoken.reminded),
        at=row.started_at,
        model=taken.model,
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        duration_ms=usage.milliseconds,
        choices=list(getattr(answer, "choices", ())) or None,
        draft=spoken.draft,
    )
    if isinstance(answer, SceneTurn):
        await _add_scene(deps, said, turn, answer, at)
    else:
        address(row, said.turns, turn)
    goal = (answer.goal, answer.success_criteria) if isinstance(answer, OpeningTurn) else None
    act: Act | None = getattr(answer, "action", None)
    new = {row.person_ids[i]: record for i, record in known.records.items() if row.person_ids[i] not in known.kept}
    prompts = [record.row(row.key, person_id) for person_id, record in new.items()]
    now_said = await deps.database.write(
        lambda s: commit_turn(
            s, deps.worlds, said, turn, speaker.kind, usage, goal, at, prompts, act, spoken.told, spoken.checked
        )
    )
    known.kept.update(new)
    return now_said


async def _add_scene(
    deps: ConversationDependencies, said: Transcript, turn: TurnRow, answer: SceneTurn, at: WorldTime | None
) -> None:
    """What a turn of a scene has besides its words, and who perceives it."""
    others = [one.person_id for one in those_there(said.row, turn.turn) if one.person_id != turn.speaker_id]
    ids = names_of(said.world, others)
    turn.think = answer.think.strip()
    turn.addressed = [ids[name] for name in getattr(answer, "to", ()) if name in ids] or None
    turn.loudness = getattr(answer, "loudness", Loudness.NORMAL)
    turn.urgency = getattr(answer, "urgency", None)
    stand = {spot_told(said.world, spot): spot for spot in spots(said.row, said.turns).values()}
    turn.spot = stand.get(getattr(answer, "spot", ""))
    turn.shifts = [(ids[one.to], one.by) for one in answer.shifts if one.to in ids] or None
    turn.seen_by, turn.heard_by = await perceivers(deps, said, turn, at)


async def _count(
    deps: ConversationDependencies, row: ConversationRow, role: Purpose, usage: Usage, at: WorldTime | None
) -> None:
    await deps.database.write(lambda s: count_calls(s, deps.worlds, row.key, role, usage.failed, at))
