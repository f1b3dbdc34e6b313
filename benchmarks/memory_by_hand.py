"""Closings that somebody answers by hand: the prompts of set one's talks, without a label, and what is kept of the
answers.

    python -m benchmarks.memory_by_hand prompts DIR    writes DIR/<talk>.json: system, user and schema of each closing
    python -m benchmarks.memory_by_hand score DIR      reads DIR/<talk>.answer.json and prints what the service keeps

A later talk of an arc is asked with what the answers of the earlier ones left, where they are there: write its prompt
again once they are.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from service.llm.chat import estimate_tokens
from service.llm.schema import schema_text
from service.locales import Language, sentence, sentences
from service.memory.closing.ask import CALENDAR_DAYS, MEMORY_TOKENS, ClosingQuestion, closing_prompt
from service.memory.closing.check import CheckedClosing, check
from service.memory.closing.context import (
    ClosingContext,
    Known,
    OpenPromise,
    Participant,
    SpokenLine,
    answer_to,
    ref_of,
)
from service.memory.lexical import normal
from service.memory.record import Kind, Memory, Support
from service.memory.telling import told_of
from service.people.attitude import STRANGERS
from service.people.commitments import PromiseTold
from world.time import MINUTES_PER_DAY, WorldTime, iso, parse_time, to_datetime

CASES = Path(__file__).parent / "memory_cases"
STEP = 20
"""By how much a closing may move an affinity."""

Talk = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Earlier:
    """What the talks before have left: memories by owner, and promises."""

    memories: tuple[tuple[str, Memory], ...] = ()
    promises: tuple[PromiseTold, ...] = ()


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_by_hand")
    parser.add_argument("what", choices=("prompts", "score"))
    parser.add_argument("dir", type=Path)
    told = parser.parse_args()
    told.dir.mkdir(parents=True, exist_ok=True)
    for talk, question, checked in _talks(told.dir):
        if told.what == "prompts":
            (told.dir / f"{talk['id']}.json").write_text(_prompt(question) + "\n", encoding="utf-8")
        else:
            print("\n".join(_shown(talk, question, checked)), end="\n\n")


def _talks(directory: Path) -> Iterator[tuple[Talk, ClosingQuestion, CheckedClosing | str]]:
    """Each talk, its question, and what is kept of its answer, or what is wrong with that."""
    cases = json.loads((CASES / "set_one.json").read_text(encoding="utf-8"))
    for talks in (*(arc["talks"] for arc in cases["arcs"]), *([talk] for talk in cases["talks"])):
        earlier = _Earlier()
        for talk in talks:
            question = _question(talk, earlier)
            checked = _checked(directory / f"{talk['id']}.answer.json", question)
            yield talk, question, checked
            if isinstance(checked, CheckedClosing):
                earlier = _after(earlier, checked)


def _checked(file: Path, question: ClosingQuestion) -> CheckedClosing | str:
    if not file.exists():
        return "no answer"
    try:
        answer = answer_to(question.context).model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as exc:
        return str(exc)
    return check(answer, question, affinity_step=STEP)


def _after(earlier: _Earlier, checked: CheckedClosing) -> _Earlier:
    """What one talk more leaves: what is replaced, or no longer open, is gone."""
    new = [(side.participant.person_id, one) for side in checked.sides for one in side.memories]
    over = {ended for _, one in new for ended in one.replaces}
    settled = {one.commitment_id for one in checked.promises}
    return _Earlier(
        memories=tuple(one for one in (*earlier.memories, *new) if one[1].id not in over),
        promises=(
            *(one for number, one in enumerate(earlier.promises) if str(number) not in settled),
            *(one for one in checked.promises if one.status in ("made", "moved")),
        ),
    )


def _question(talk: Talk, earlier: _Earlier) -> ClosingQuestion:
    people = {one["id"]: one for one in talk["people"]}
    names = {person: one["name"] for person, one in people.items()}
    language: Language = "ja" if talk["language"] == "ja" else "en"
    at = parse_time(talk["when"])
    there = list(dict.fromkeys(turn["speaker"] for turn in talk["turns"]))
    refs: dict[str, Memory] = {}
    participants = []
    for place, person in enumerate(there):
        held = [*(_before(one, at) for one in talk["before"] if one["owner"] == person)]
        held += [one for owner, one in earlier.memories if owner == person]
        mine = dict(_known(ref_of(place), held, person, language, names))
        refs |= {ref: one for ref, (one, _) in mine.items()}
        relations = people[person]["relations"]
        participants.append(
            Participant(
                ref=ref_of(place),
                person_id=person,
                name=names[person],
                affinity=0,
                mood="neutral",
                is_player=people[person]["kind"] == "player",
                towards=tuple((other, STRANGERS) for other in there if other != person) if len(there) > 2 else (),
                facts=(
                    *(Known(text=one) for one in people[person]["about"]),
                    *(Known(text=f"{names.get(other, other)}: {what}") for other, what in relations.items()),
                ),
                memories=tuple(Known(ref=ref, text=line) for ref, (_, line) in mine.items()),
            )
        )
    promises = {
        f"p{number + 1}": SimpleNamespace(id=str(number), by_id=one.by_id, to_id=one.to_id, what=one.what)
        for number, one in enumerate(earlier.promises)
        if one.by_id in there and one.to_id in there
    }
    context = ClosingContext(
        language=language,
        participants=tuple(participants),
        now=f"{talk['setting']} ({iso(at)})",
        goal=talk["goal"],
        goal_achieved=False,
        lines=tuple(
            SpokenLine(
                turn=turn["n"],
                speaker_id=turn["speaker"],
                speaker_name=names[turn["speaker"]],
                text=turn["text"],
                at=WorldTime(at + turn["n"]),
            )
            for turn in talk["turns"]
        ),
        judges=False,
        promises=tuple(
            OpenPromise(
                ref=ref, by_id=one.by_id, to_id=one.to_id, line=f"{names[one.by_id]} -> {names[one.to_id]}: {one.what}"
            )
            for ref, one in promises.items()
        ),
        calendar=_calendar(at, language),
        bearers={normal(name): frozenset({person}) for person, name in names.items()},
    )
    return ClosingQuestion(
        context=context,
        conversation_id=talk["id"],
        known_from=dict.fromkeys(there, WorldTime(at + len(talk["turns"]))),
        memories=refs,
        promises=promises,  # type: ignore[arg-type] # what a check asks of a commitment
    )


def _before(one: Mapping[str, Any], at: WorldTime) -> Memory:
    known = min(parse_time(one["at"]), at)
    return Memory(
        id=f"before-{one['ref']}",
        kind=Kind.FACT,
        text=one["text"],
        about=one["about"],
        support=Support.PERCEIVED,
        valid_from=known,
        known_from=known,
    )


def _known(
    ref: str, held: Sequence[Memory], owner: str, language: Language, names: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Memory, str]]]:
    """What somebody remembers, what matters most first, within a closing's budget."""
    world: Any = SimpleNamespace(say=partial(sentence, language), name_of=lambda person: names.get(person, person))
    room, number = MEMORY_TOKENS, 0
    for one in sorted(held, key=lambda one: -one.importance):
        line = told_of(world, one, owner)
        if (taken := estimate_tokens(line)) <= room:
            room, number = room - taken, number + 1
            yield f"{ref}m{number}", (one, line)


def _calendar(at: WorldTime, language: Language) -> tuple[str, ...]:
    names = sentences(language, "time.weekday_names")
    days = (WorldTime(at + number * MINUTES_PER_DAY) for number in range(CALENDAR_DAYS))
    return tuple(f"{iso(day)[:10]} {names[to_datetime(day).weekday()]}" for day in days)


def _prompt(question: ClosingQuestion) -> str:
    prompt = closing_prompt(question.context)
    system, user = (one.content for one in prompt.messages)
    told = {"system": system, "user": user, "schema": json.loads(schema_text(prompt.answer))}
    return json.dumps(told, ensure_ascii=False, indent=1)


def _shown(talk: Talk, question: ClosingQuestion, checked: CheckedClosing | str) -> Iterable[str]:
    """What is kept, for a judge: with who is said to have told it, and how."""
    yield f"== {talk['id']} ({talk['language']}, {talk['when']})"
    if isinstance(checked, str):
        yield checked
        return
    names = {one.person_id: one.name for one in question.context.participants}
    for side in checked.sides:
        yield f"{side.participant.name}: {side.summary}"
        for one in side.memories:
            told = f"told by {names[one.told_by]}" if one.told_by else "seen" if one.is_bare else "of their talk"
            via = f" from {', '.join(one.via)}" if one.via else ""
            ends = f", ends: {question.memories[_ref(question, one.replaces[0])].text}" if one.replaces else ""
            yield f"  - [{told}{via}, {one.mode}, {one.kind}, turns {one.turns}{ends}] {one.text}"
        yield from (f"  x {one.reason}: {one.statement}" for one in side.rejected)
    for promise in checked.promises:
        due = "" if promise.due is None else f", {iso(promise.due.since or promise.due.at)}"
        yield f"promise {promise.status}: {names[promise.by_id]} to {names[promise.to_id]}: {promise.what}{due}"
    yield from (f"x {one.reason}: {one.statement}" for one in checked.rejected)
    if checked.not_to_quote:
        yield f"not to quote: {sorted(checked.not_to_quote)}"


def _ref(question: ClosingQuestion, memory_id: str) -> str:
    return next(ref for ref, one in question.memories.items() if one.id == memory_id)


if __name__ == "__main__":
    main()
