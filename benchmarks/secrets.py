"""Measures who knows what: whether a secret gets out in talks whose speakers say every line of their prompts, and
whether a rumour keeps its source through three people's mouths.

The parrot and its village are those of tests/runtime/parrot.py. Rumours are the truths of truth_cases/: who said it
first, what the second and the third made of it. Another's memory of anything else must never be taken for the source.
"""

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlmodel import col, func, select

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.locales import Language, languages
from service.memory.extraction import Claim, ClosingContext, Participant, Source, SpokenLine
from service.memory.validate import ValidClaim, validate_extraction
from service.store.phase import Phase
from service.store.tables import ConversationRow
from tests.memory.answers import claim, extraction
from tests.runtime.lives import house
from tests.runtime.parrot import SECRETS, Parrot, confide, leaks, secretive, told
from world.time import WorldTime

CASES = Path(__file__).parent / "truth_cases"
TALKS = 200
_CONFIDED = 5
_STEP = 10
_HANDS = ("first", "second", "third", "fourth")
_NAMES: Mapping[Language, Sequence[str]] = {
    "en": ("", "Perpetua", "Quillon", "Rosamund"),
    "ja": ("", "甚五郎", "お染", "与一"),
}
_PASSED: Mapping[Language, Sequence[str]] = {
    "en": ("{name} told me: {statement}", "Have you heard? {statement}"),
    "ja": ("{name}から聞いたんですがね、{statement}", "知ってるかい。{statement}"),
}


def run(talks: int = TALKS, minutes: int = _STEP, confided: int = _CONFIDED) -> dict[str, float]:
    """All figures. At least so many talks are held, half of them in each language, `minutes` of the world a step; first
    each owner talks `confided` times with who may be told.
    """
    figures = {"secrets_talks": 0, "secrets_leaked": 0, "secrets_told": 0}
    content = secretive(load_content(bundled_content()))
    for language in languages():
        for name, count in asyncio.run(
            _talked(content, language, -(-talks // len(languages())), minutes, confided)
        ).items():
            figures[name] += count
    return {**figures, **_rumours()}


async def _talked(content: Content, language: Language, talks: int, minutes: int, confided: int) -> dict[str, int]:
    parrot = Parrot()
    with tempfile.TemporaryDirectory() as directory:
        async with house(content, Path(directory), parrot, language=language, decision="model") as lived:
            database = lived.room.database
            await confide(lived.room, confided)
            while (held := database.read_now(lambda s: s.exec(_HELD).one())) < talks:
                await lived.live(minutes)
            names = {one: content.name(one) for one in languages()}
            return {
                "secrets_talks": held,
                "secrets_leaked": database.read_now(lambda s: len(list(leaks(s, parrot.asked, language, names)))),
                "secrets_told": sum(
                    database.read_now(partial(told, kept=kept, language=language)) > 0 for kept in SECRETS
                ),
            }


_HELD = select(func.count(col(ConversationRow.id))).where(ConversationRow.phase == Phase.CLOSED)


def _rumours() -> dict[str, float]:
    """Per cent of the truths whose chain is whole in the last one's memory; and how often anything else that the teller
    had heard was taken for its source.
    """
    figures: dict[str, float] = {}
    for language in languages():
        heard = [one for one in map(_first, _truths(language)) if one is not None]
        last = [_fourth(case, first) for case, first in heard]
        whole = [one for one in last if one is not None and one.chain == _HANDS[:3]]
        sources = {case["id"]: _source(first, case, _HANDS[:1], language) for case, first in heard}
        invented = sum(
            len(_told(case, _said(case, 1), 2, [one for other, one in sources.items() if other != case["id"]]).chain)
            > 1
            for case, _ in heard
        )
        figures |= {
            f"rumour_source_kept_{language}": 100 * len(whole) / len(heard),
            f"rumour_sources_invented_{language}": invented,
            f"rumours_{language}": len(heard),
        }
    return figures


def _truths(language: Language) -> Iterator[Mapping[str, Any]]:
    for file in sorted(CASES.glob("claims.[dh]*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            case = json.loads(line) if line else {}
            if case.get("language") == language and case["verdict"] == "true":
                yield case


def _first(case: Mapping[str, Any]) -> tuple[Mapping[str, Any], ValidClaim[Claim]] | None:
    """What the second remembers of the very words; None: it is not kept, so there is nothing to tell."""
    lines = [(line["speaker"] == case["owner"], line["text"]) for line in case["lines"]]
    kept = _judged(case, lines, case["claim"]["turn"], _teller_name(case), 0, ())
    return None if kept is None else (case, kept)


def _fourth(case: Mapping[str, Any], first: ValidClaim[Claim]) -> ValidClaim[Claim] | None:
    """What the last remembers, after two more have told it."""
    second = _told(case, _said(case, 0), 1, [_source(first, case, first.chain, case["language"])])
    return _told(case, _said(case, 1), 2, [_source(second, case, second.chain, case["language"])])


def _told(case: Mapping[str, Any], words: str, teller: int, sources: Sequence[Source]) -> ValidClaim[Claim]:
    name = _NAMES[case["language"]][teller]
    kept = _judged(case, [(True, "…"), (False, words)], 1, name, teller, sources)
    if kept is None:
        raise LookupError(f"{case['id']} is not remembered: {words}")
    return kept


def _judged(
    case: Mapping[str, Any],
    lines: Sequence[tuple[bool, str]],
    turn: int,
    teller_name: str,
    teller: int,
    sources: Sequence[Source],
) -> ValidClaim[Claim] | None:
    """What is remembered of the teller's words; each line says whether the listener spoke it."""
    language = case["language"]
    listener = Participant(ref="a", person_id=_HANDS[teller + 1], name="Zed", affinity=0, mood="neutral")
    told_by = Participant(ref="b", person_id=_HANDS[teller], name=teller_name, affinity=0, mood="neutral")
    scene = ClosingContext(
        language=language,
        participants=(listener, replace(told_by, sources=tuple(sources))),
        now="",
        goal="",
        goal_achieved=False,
        lines=tuple(
            SpokenLine(
                turn=number,
                speaker_id=(listener if is_listeners else told_by).person_id,
                speaker_name=(listener if is_listeners else told_by).name,
                text=text,
                at=WorldTime(1),
            )
            for number, (is_listeners, text) in enumerate(lines)
        ),
        everybody=frozenset({*case["speakers"].values(), *filter(None, _NAMES[language]), case["claim"]["subject"]}),
    )
    drafted = case["claim"]
    about = {name: drafted[name] for name in ("subject", "relation", "object")}
    answer = extraction(first={"facts": [claim(drafted["statement"], turn, **about)]})
    return next(iter(validate_extraction(answer, scene, affinity_step=15).sides[0].facts), None)


def _source(kept: ValidClaim[Claim], case: Mapping[str, Any], chain: Sequence[str], language: Language) -> Source:
    names = (_teller_name(case), *_NAMES[language][1:])
    return Source(
        statement=kept.statement,
        words=kept.words,
        subject=kept.claim.subject,
        chain=tuple(chain),
        names=tuple(names[_HANDS.index(one)] for one in chain),
        at=WorldTime(0),
    )


def _teller_name(case: Mapping[str, Any]) -> str:
    speaker = case["lines"][case["claim"]["turn"]]["speaker"]
    name: str = case["speakers"][speaker]
    return name


def _said(case: Mapping[str, Any], place: int) -> str:
    """How it is told on."""
    name, statement = _teller_name(case), case["claim"]["statement"]
    return _PASSED[case["language"]][place].format(name=name, statement=statement)
