"""Measures what the answer of a closing costs, in the form of today and in the one before words were remembered.

The same content (summary, facts, mid-term, promises) of the same conversation. `answer_before/` holds what a model
would have answered at commit 3c828e4, and the prompt that asked for it then; tokens are estimated as in turn.py.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.turn import SAID
from service.llm.chat import estimate_tokens, prompt_tokens
from service.locales import Language
from service.memory.extract import closing_prompt
from service.memory.extraction import (
    ClosingContext,
    ClosingExtraction,
    KnownFact,
    OpenPromise,
    Participant,
    SpokenLine,
)
from world.time import parse_time

BEFORE = Path(__file__).parent / "answer_before"
AT = parse_time("2026-04-01T07:00")
NAMES: dict[Language, tuple[str, str]] = {"en": ("Aoi", "Taro"), "ja": ("アオイ", "太郎")}
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
        }
    return figures


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
