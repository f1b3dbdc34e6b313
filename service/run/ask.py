"""Owns a survey at the terminal: what each answers, how often each answer was given, and the table as a file."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class AskRun:
    """What is asked of whom, in which world; `scan`: it is answered from everything that each remembers."""

    world_id: str
    language: Language
    question: str
    people: str | Sequence[str] = "all"
    stimulus: str | None = None
    choices: Sequence[str] | None = None
    number: tuple[float, float] | None = None
    remember: bool = False
    scan: bool = False
    output: Path | None = None


def run_ask(settings: Settings, wanted: AskRun, *, models: Models | None = None) -> None:
    """Ask, and tell the answers. `models` stand in for those of the settings.

    Raises:
        FileUnusable: the table cannot be written.
        Misconfigured: the database cannot be opened, or a service runs on it.
        SystemExit: it cannot be asked.
    """
    asyncio.run(_run(settings, wanted, models))


async def _run(settings: Settings, wanted: AskRun, models: Models | None) -> None:
    async with in_process(settings, wanted.world_id, wanted.language, models) as http:
        table = await (_scan(http, wanted) if wanted.scan else _survey(http, wanted))
    if wanted.output is not None:
        with usable(wanted.output):
            wanted.output.write_text(table, encoding="utf-8", newline="")
        _say(wanted, "ask_run.written", file=wanted.output)


async def _survey(http: httpx.AsyncClient, wanted: AskRun) -> str:
    body: dict[str, Any] = {
        "question": wanted.question,
        "stimulus": wanted.stimulus,
        "choices": wanted.choices,
        "number": wanted.number and dict(zip(("min", "max"), wanted.number, strict=True)),
        "people": wanted.people,
        "remember": wanted.remember,
    }
    out = checked(await http.post("/surveys", json=body))
    if out["rehearsal"]:
        _say(wanted, "run.rehearsal")
    for one in out["answers"]:
        said = one["failure"]["detail"] if one["failure"] else f"{_plain(one['answer'])} ({one['because']})"
        print(f"{one['name']}: {said}", flush=True)
        for memory in one["rests_on"]:
            print(f"  {sentence(wanted.language, 'ask_run.rests', text=memory['text'])}", flush=True)
    most = max((bar["count"] for bar in out["bars"]), default=0)
    for bar in out["bars"]:
        print(f"{'█' * (bar['count'] * _BAR // max(most, 1))} {bar['count']} {bar['label']}", flush=True)
    if out["mean"] is not None:
        _say(wanted, "ask_run.mean", mean=out["mean"])
    _say(wanted, "ask_run.counts", answered=out["answered"], failed=out["failed"], **_cost(out))
    return str(out["csv"])


async def _scan(http: httpx.AsyncClient, wanted: AskRun) -> str:
    found = []
    for person_id in wanted.people:
        out = checked(await http.post(f"/people/{person_id}/summary", json={"question": wanted.question}))
        found.append(out)
        _say(wanted, "ask_run.scanned", person=person_id, memories=out["memories"], parts=out["parts"], **_cost(out))
        for one in out["sentences"]:
            print(f"- {one['text']} [{', '.join(ref for memory in one['rests_on'] for ref in memory['refs'])}]")
        if not out["sentences"]:
            _say(wanted, "ask_run.nothing")
    return f"{json.dumps(found, ensure_ascii=False, indent=2)}\n"


def _plain(answer: str | float) -> str:
    """The answer as it was meant: the whole number 3 comes as 3.0."""
    return answer if isinstance(answer, str) else f"{answer:.15g}"


def _cost(out: dict[str, Any]) -> dict[str, int]:
    cost = out["cost"]
    return {"calls": cost["calls"], "tokens": cost["prompt_tokens"] + cost["completion_tokens"]}


def _say(wanted: AskRun, key: str, /, **values: object) -> None:
    print(sentence(wanted.language, key, **values), flush=True)
