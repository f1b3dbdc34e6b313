"""Measures what a closing's question and answer cost, in the form of today and in the one before words were remembered.

The same content (summary, facts, mid-term, promises) of the same conversation. `answer_before/` holds what a model
would have answered at commit 3c828e4, and the prompt that asked for it then; tokens are estimated as in turn.py.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.turn import SAID
from service.llm.chat import estimate_tokens, prompt_tokens
from service.llm.schema import schema_text
from service.locales import Language
from service.memory.closing.ask import closing_prompt
from service.memory.closing.context import (
    ClosingAnswer,
    ClosingContext,
    Known,
    OpenPromise,
    Participant,
    SpokenLine,
    answer_to,
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
KNOWN: dict[Language, tuple[str, str]] = {
    "en": (
        "What Taro has told you: Taro's roof is old.",
        "What Taro has told you: Taro has two children, Mio and Riku.",
    ),
    "ja": ("太郎から聞いたこと: 太郎の家の屋根は古い。", "太郎から聞いたこと: 太郎には子供が二人いる、ミオとリク。"),
}
PROMISED: dict[Language, str] = {"en": "Aoi -> Taro: bring bread", "ja": "アオイ -> 太郎: パンを持ってくる"}
_MODES = {"asserted": "stated", "planned": "planned"}


def run() -> dict[str, float]:
    """Figures per language: estimated tokens of answer, prompt and schema, before and now; `_promise`: one stands
    open; `_short`: for a small model.
    """
    figures: dict[str, float] = {}
    for language in SAID:
        before = (BEFORE / f"{language}.json").read_text(encoding="utf-8").strip()
        now = answer_of_today(json.loads(before)).model_dump_json()
        asked = (BEFORE / f"{language}.txt").read_text(encoding="utf-8").split("\f")
        where = scene(language)
        owed = replace(where, promises=(OpenPromise(ref="p1", by_id="aoi", to_id="npc_taro", line=PROMISED[language]),))
        short = replace(where, is_short=True)
        figures |= {
            f"completion_tokens_before_{language}": estimate_tokens(before),
            f"completion_tokens_{language}": estimate_tokens(now),
            f"completion_growth_{language}": estimate_tokens(now) / estimate_tokens(before) - 1,
            f"prompt_tokens_before_{language}": sum(estimate_tokens(part) + 4 for part in asked),
            f"prompt_tokens_{language}": prompt_tokens(closing_prompt(where).messages),
            f"prompt_tokens_promise_{language}": prompt_tokens(closing_prompt(owed).messages),
            f"prompt_tokens_short_{language}": prompt_tokens(closing_prompt(short).messages),
        }
    return figures | {
        "schema_tokens": estimate_tokens(schema_text(answer_to(scene("en")))),
        "schema_tokens_short": estimate_tokens(schema_text(answer_to(replace(scene("en"), is_short=True)))),
    }


def answer_of_today(before: Mapping[str, Any]) -> ClosingAnswer:
    """The same content in the form of today."""
    paragraph = [one["text"] for one in before["summary"]]
    people = {
        ref: {
            "paragraph": paragraph,
            "topics": before["topics"],
            "mood": side["mood"],
            "affinity": side["affinity"],
            "attitude": {name: side["attitude"][name] for name in ("power", "intimacy", "task_oriented")},
        }
        for ref, side in before["people"].items()
    }
    promises = [
        {
            "status": "made",
            "by": ref,
            "place": one["where"],
            "day": "",
            "time": "",
            "ref": "",
            **_some(one, "to what turn"),
        }
        for ref, side in before["people"].items()
        for one in side["commitments"]
    ]
    memories = [one for ref, side in before["people"].items() for one in _memories(ref, side)]
    told = {"people": people, "memories": memories, "promises": promises, "not_to_quote": [], "reached": []}
    return ClosingAnswer.model_validate(told)


def _memories(ref: str, side: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    other = "b" if ref == "a" else "a"
    empty = {
        "owner": ref,
        "replaces": "",
        "heard_from": "",
        "slot": "",
        "quote": "",
        "until": "",
        "between": "",
        "lasts": "long",
    }
    for teller, name in ((ref, "self_facts"), (other, "facts")):
        for one in side[name]:
            about = ref if name == "self_facts" else one["subject"]
            kept = {"text": one["statement"], "turns": [one["turn"]], "about": about, "teller": teller}
            yield {**empty, **kept, "mode": _MODES[one["mode"]], "importance": one["importance"]}
    for one in side["mid_term"]:
        kept = {"text": one["content"], "turns": [4], "about": ref, "teller": "", "mode": "planned", "importance": 5}
        yield {**empty, **kept, "lasts": one["importance"]}


def _some(one: Mapping[str, Any], names: str) -> dict[str, Any]:
    return {name: one[name] for name in names.split()}


def scene(language: Language) -> ClosingContext:
    """The conversation of benchmarks/turn.py, between two who have met before."""
    opener, partner = NAMES[language]
    memories = tuple(Known(ref=f"am{number}", text=text) for number, text in enumerate(KNOWN[language], 1))
    written = tuple(Known(text=one) for one in WRITTEN[language])
    return ClosingContext(
        language=language,
        participants=(
            Participant(ref="a", person_id="aoi", name=opener, affinity=8, mood="neutral", memories=memories),
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
