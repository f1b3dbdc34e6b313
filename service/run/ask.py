"""Owns a survey at the terminal: what each answers, how often each answer was given, and the table as a file."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from service.export.problem import usable
from service.llm.choose import Models
from service.locales import Language, sentence
from service.run.scene import checked, in_process
from service.settings import Settings

_BAR = 30
"""The longest bar, in characters."""


def run_ask(
    settings: Settings,
    world_id: str,
    language: Language,
    asked: Mapping[str, Any],
    *,
    scan: bool = False,
    output: Path | None = None,
    models: Models | None = None,
) -> None:
    """Ask, and tell the answers. `asked` is the body of POST /surveys; `scan`: its `people` answer its `question` from
    everything that each remembers. `output`: where the table is written. `models` stand in for those of the settings.

    Raises:
        FileUnusable: the table cannot be written.
        Misconfigured: the database cannot be opened, or a service runs on it.
        SystemExit: it cannot be asked.
    """

    async def work() -> str:
        async with in_process(settings, world_id, language, models) as http:
            return await (_scan if scan else _survey)(http, language, asked)

    table = asyncio.run(work())
    if output is not None:
        with usable(output):
            output.write_text(table, encoding="utf-8", newline="")
        _say(language, "ask_run.written", file=output)


async def _survey(http: httpx.AsyncClient, language: Language, asked: Mapping[str, Any]) -> str:
    out = checked(await http.post("/surveys", json=asked))
    if out["rehearsal"]:
        _say(language, "run.rehearsal")
    for one in out["answers"]:
        said = one["failure"]["detail"] if one["failure"] else f"{_plain(one['answer'])} ({one['because']})"
        print(f"{one['name']}: {said}", flush=True)
        for memory in one["rests_on"]:
            print(f"  {sentence(language, 'ask_run.rests', text=memory['text'])}", flush=True)
    most = max((bar["count"] for bar in out["bars"]), default=0)
    for bar in out["bars"]:
        print(f"{'█' * (bar['count'] * _BAR // max(most, 1))} {bar['count']} {bar['label']}", flush=True)
    if out["mean"] is not None:
        _say(language, "ask_run.mean", mean=out["mean"])
    _say(language, "ask_run.counts", answered=out["answered"], failed=out["failed"], **_cost(out))
    return str(out["csv"])


async def _scan(http: httpx.AsyncClient, language: Language, asked: Mapping[str, Any]) -> str:
    found = []
    for person_id in asked["people"]:
        out = checked(await http.post(f"/people/{person_id}/summary", json={"question": asked["question"]}))
        found.append(out)
        _say(language, "ask_run.scanned", person=person_id, memories=out["memories"], parts=out["parts"], **_cost(out))
        for one in out["sentences"]:
            print(f"- {one['text']} [{', '.join(ref for memory in one['rests_on'] for ref in memory['refs'])}]")
        if not out["sentences"]:
            _say(language, "ask_run.nothing")
    return f"{json.dumps(found, ensure_ascii=False, indent=2)}\n"


def _plain(answer: str | float) -> str:
    """The answer as it was meant: the whole number 3 comes as 3.0."""
    return answer if isinstance(answer, str) else f"{answer:.15g}"


def _cost(out: dict[str, Any]) -> dict[str, int]:
    cost = out["cost"]
    return {"calls": cost["calls"], "tokens": cost["prompt_tokens"] + cost["completion_tokens"]}


def _say(language: Language, key: str, /, **values: object) -> None:
    print(sentence(language, key, **values), flush=True)
