"""Owns what is asked of the service in this process at the terminal, and how it is told: a survey, with the table as a
file.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from service.app import create_app
from service.public.errors import usable
from service.public.models import Models, Settings
from service.public.words import Language, sentence
from studio.terminal.show import say


class Refused(Exception):
    """What the service said to something that cannot be done."""


async def _require_done(answer: httpx.Response) -> None:
    """What is wrong with a request is told as of what was typed, not of a body, which the writer never saw; before each
    line stands what the request's extension `told` says.

    Raises:
        Refused: the answer is an error.
    """
    if answer.is_error:
        problem = json.loads(await answer.aread())
        wrong: Sequence[Mapping[str, str]] = problem.get("errors", ())
        lines = [f"{one['field'].removeprefix('body.').removeprefix('scene.')}: {one['message']}" for one in wrong]
        if not lines or not problem["type"].endswith(":invalid"):
            lines.insert(0, problem["detail"].removeprefix("body."))
        raise Refused("\n".join(f"{answer.request.extensions.get('told', '')}{line}" for line in lines))


@asynccontextmanager
async def in_process(
    settings: Settings, world_id: str, language: Language, models: Models | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service, which runs in this process alone; whatever is refused raises `Refused`.

    Raises:
        SystemExit: the service has refused what was asked of it.
    """
    app = create_app(settings.changed(api_key=None), models=models)  # nobody else reaches it
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://127.0.0.1",
            headers={"X-World-Id": world_id, "Accept-Language": language},
            timeout=600,
            event_hooks={"response": [_require_done]},
        ) as http,
    ):
        try:
            yield http
        except Refused as exc:
            raise SystemExit(str(exc)) from exc


_BAR = 30
"""The longest bar, in characters."""


def write_text(file: Path, text: str) -> None:
    """Write it as it is. Raises: FileUnusable."""
    with usable(file):
        file.write_text(text, encoding="utf-8", newline="")


async def run_ask(
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

    async with in_process(settings, world_id, language, models) as http:
        table = await (_scan if scan else _survey)(http, language, asked)
    if output is not None:
        write_text(output, table)
        say(language, "ask_run.written", file=output)


async def _survey(http: httpx.AsyncClient, language: Language, asked: Mapping[str, Any]) -> str:
    out = (await http.post("/surveys", json=asked)).json()
    if out["rehearsal"]:
        say(language, "run.rehearsal")
    for one in out["answers"]:
        said = one["failure"]["detail"] if one["failure"] else f"{_plain(one['answer'])} ({one['because']})"
        print(f"{one['name']}: {said}", flush=True)
        for memory in one["rests_on"]:
            print(f"  {sentence(language, 'ask_run.rests', text=memory['text'])}", flush=True)
    most = max((bar["count"] for bar in out["bars"]), default=0)
    for bar in out["bars"]:
        print(f"{'█' * (bar['count'] * _BAR // max(most, 1))} {bar['count']} {bar['label']}", flush=True)
    if out["mean"] is not None:
        say(language, "ask_run.mean", mean=out["mean"])
    say(language, "ask_run.counts", answered=out["answered"], failed=out["failed"], **_cost(out))
    return str(out["csv"])


async def _scan(http: httpx.AsyncClient, language: Language, asked: Mapping[str, Any]) -> str:
    found = []
    for person_id in asked["people"]:
        out = (await http.post(f"/people/{person_id}/summary", json={"question": asked["question"]})).json()
        found.append(out)
        say(language, "ask_run.scanned", person=person_id, memories=out["memories"], parts=out["parts"], **_cost(out))
        for one in out["sentences"]:
            print(f"- {one['text']} [{', '.join(ref for memory in one['rests_on'] for ref in memory['refs'])}]")
        if not out["sentences"]:
            say(language, "ask_run.nothing")
    return f"{json.dumps(found, ensure_ascii=False, indent=2)}\n"


def _plain(answer: str | float) -> str:
    """The answer as it was meant: the whole number 3 comes as 3.0."""
    return answer if isinstance(answer, str) else f"{answer:.15g}"


def _cost(out: dict[str, Any]) -> dict[str, int]:
    cost = out["cost"]
    return {"calls": cost["calls"], "tokens": cost["prompt_tokens"] + cost["completion_tokens"]}
