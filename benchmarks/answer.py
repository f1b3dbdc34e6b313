"""Measures what the answer of a closing costs, in the form of today and in the one before words were remembered.

The same content (summary, facts, mid-term, promises) of the same conversation. `answer_before/` holds what a model
would have answered at commit 3c828e4, and the prompt that asked for it then; tokens are estimated as in turn.py.

And how often the prompt shows what is over by what was said, or was written otherwise: of the pairs of truth_cases that
contradict each other, the newer one is said in that conversation, and the older one is among those of the other pairs.
Memories are searched by words alone.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.truth import CASES
from benchmarks.turn import SAID
from service.conversation.closing import MEMORIES_KNOWN
from service.llm.chat import estimate_tokens, prompt_tokens
from service.locales import Language, sentence
from service.memory.extract import closing_prompt
from service.memory.extraction import (
    ClosingContext,
    ClosingExtraction,
    KnownFact,
    OpenPromise,
    Participant,
    SpokenLine,
)
from service.memory.index import PersonIndex, Question
from service.memory.record import Fact
from world.time import WorldTime, parse_time

BEFORE = Path(__file__).parent / "answer_before"
AT = parse_time("2026-04-01T07:00")
NAMES: dict[Language, tuple[str, str]] = {"en": ("Aoi", "Taro"), "ja": ("アオイ", "太郎")}
FACTS = 8
"""An author writes so many of somebody."""
MEMORIES = 40
"""So many are searched."""
SAID_IN = 3
"""The turn in which the newer one is said."""
GOAL: dict[Language, str] = {"en": "Hear the news", "ja": "近況を聞く"}
WRITTEN: dict[Language, tuple[str, str]] = {
    "en": ("He builds boats on the western quay.", "His wife Harue bakes buns."),
    "ja": ("西の岸壁で舟を作っている。", "妻のハルエはパンを焼く。"),
}
KNOWN: dict[Language, tuple[tuple[str, str], ...]] = {
    "en": (
        ("Taro's roof is old.", 'Taro said: "The roof over my head is older than I am."'),
        ("Taro has two children.", 'Taro, asked "Have you children?", said: "Two, Mio and Riku."'),
    ),
    "ja": (
        ("太郎の家の屋根は古い。", "太郎「うちの屋根はわしより年寄りでね。」"),
        ("太郎には子供が二人いる。", "「お子さんは?」と聞かれて、太郎「二人いるよ、ミオとリク。」"),
    ),
}
PROMISED: dict[Language, tuple[str, str]] = {
    "en": ("bring bread", 'Aoi said: "I will bring you bread when I come."'),
    "ja": ("パンを持ってくる", "アオイ「今度パンを持ってきますね。」"),
}


def run() -> dict[str, float]:
    """Figures per language: estimated tokens of answer and prompt, before and now; `_promise`: one stands open."""
    figures: dict[str, float] = {}
    for language in SAID:
        before = (BEFORE / f"{language}.json").read_text(encoding="utf-8").strip()
        now = answer_of_today(json.loads(before)).model_dump_json()
        asked = (BEFORE / f"{language}.txt").read_text(encoding="utf-8").split("\f")
        where = scene(language)
        what, words = PROMISED[language]
        owed = replace(where, promises=(OpenPromise(ref="p1", by_id="aoi", to_id="npc_taro", what=what, words=words),))
        figures |= {
            f"completion_tokens_before_{language}": estimate_tokens(before),
            f"completion_tokens_{language}": estimate_tokens(now),
            f"completion_growth_{language}": estimate_tokens(now) / estimate_tokens(before) - 1,
            f"prompt_tokens_before_{language}": sum(estimate_tokens(part) + 4 for part in asked),
            f"prompt_tokens_{language}": prompt_tokens(closing_prompt(where).messages),
            f"prompt_tokens_promise_{language}": prompt_tokens(closing_prompt(owed).messages),
            f"facts_shown_{language}": _share([_is_fact_shown(*one) for one in _contradicting(language, FACTS)]),
            f"memories_shown_{language}": _share(
                [_is_memory_shown(*one) for one in _contradicting(language, MEMORIES)]
            ),
        }
    return figures


def _contradicting(language: Language, among: int) -> Iterator[tuple[ClosingContext, tuple[str, ...]]]:
    """The conversation in which the newer one is said of the partner, and what was known of it: first what it
    contradicts.
    """
    _, partner = NAMES[language]
    texts = (file.read_text(encoding="utf-8") for file in sorted(CASES.glob("pairs.*.jsonl")))
    cases = [json.loads(line) for text in texts for line in text.split("\n") if line]
    here = [case for case in cases if case["language"] == language]
    told = [
        [case[which]["statement"].replace(case["older"]["subject"], partner) for which in ("older", "newer")]
        for case in here
    ]
    where = scene(language)
    for place, (case, (_, newer)) in enumerate(zip(here, told, strict=True)):
        if case["contradict"]:
            said = replace(where.lines[SAID_IN], text=newer)
            lines = (*where.lines[:SAID_IN], said, *where.lines[SAID_IN + 1 :])
            known = [older for older, _ in (*told[place:], *told[:place])]
            yield replace(where, lines=lines), tuple(known[:among])


def _is_fact_shown(where: ClosingContext, known: Sequence[str]) -> bool:
    partner = where.participants[1]
    facts = tuple(KnownFact(ref=one, statement=one, subject=partner.name, authored=True) for one in known)
    return facts[0] in where.shown_facts(replace(partner, facts=facts))


def _is_memory_shown(where: ClosingContext, known: Sequence[str]) -> bool:
    opener, partner = where.participants
    index = PersonIndex()
    index.take(_fact(one, partner, where.language) for one in known)
    asked = Question(
        query=where.said,
        at=WorldTime(1),
        about=partner.name,
        partner_id=partner.person_id,
        limit=MEMORIES_KNOWN,
    )
    found = [recalled.fact for recalled in index.rank(asked)]
    memories = tuple(
        KnownFact(ref=one.id, statement=one.statement, subject=one.subject, words=one.words) for one in found
    )
    return known[0] in [one.ref for one in where.shown_memories(replace(opener, memories=memories))]


def _fact(statement: str, subject: Participant, language: Language) -> Fact:
    """What it said about itself; the statement is its id."""
    return Fact(
        id=statement,
        subject=subject.name,
        relation="is",
        object="-",
        statement=statement,
        words=sentence(language, "remembered.said", name=subject.name, said=statement),
        valid_at=WorldTime(0),
        invalid_at=None,
        created_at=WorldTime(0),
        expired_at=None,
        replaced_by=None,
        partner_id=subject.person_id,
        conversation_id="-",
        turn=0,
    )


def _share(cases: Sequence[bool]) -> float:
    return 100 * sum(cases) / len(cases)


def answer_of_today(before: dict[str, Any]) -> ClosingExtraction:
    """The same content in the form of today."""
    for side in before["people"].values():
        for fact in side["facts"]:
            del fact["valid_on"]
        side["mid_term"] = [{**one, "turn": 4, "mode": "planned"} for one in side["mid_term"]]
        side["commitments"] = [{**one, "mode": "planned"} for one in side["commitments"]]
        del side["attitude"]["stance"]
    return ClosingExtraction.model_validate(before)


def scene(language: Language) -> ClosingContext:
    """The conversation of benchmarks/turn.py, between two who have met before."""
    opener, partner = NAMES[language]
    known = tuple(
        KnownFact(ref=f"am{i}", statement=statement, subject=partner, words=words)
        for i, (statement, words) in enumerate(KNOWN[language], 1)
    )
    written = tuple(
        KnownFact(ref=f"b{i}", statement=one, subject=partner, authored=True)
        for i, one in enumerate(WRITTEN[language], 1)
    )
    return ClosingContext(
        language=language,
        participants=(
            Participant(ref="a", person_id="aoi", name=opener, affinity=8, mood="neutral", memories=known),
            Participant(ref="b", person_id="npc_taro", name=partner, affinity=4, mood="neutral", facts=written),
        ),
        now="Wed 1 Apr, 7:00 (2026-04-01)" if language == "en" else "4月1日(水) 7:00 (2026-04-01)",
        goal=GOAL[language],
        goal_achieved=True,
        lines=tuple(
            SpokenLine(
                turn=turn,
                speaker_id="npc_taro" if turn % 2 else "aoi",
                speaker_name=partner if turn % 2 else opener,
                text=text,
                at=AT,
            )
            for turn, text in enumerate(SAID[language])
        ),
    )
