"""Owns the terminal's view of what was checked: how much of it did, scores over time, and the worst lines."""

import asyncio
import json
from typing import Any

from rich.console import Console
from rich.table import Table

from service.locales import Language, sentence
from service.run.scene import checked, in_process
from service.run.show import one_line
from service.settings import Settings


def show_quality(
    settings: Settings, world_id: str, language: Language, *, worst: int, role: str | None, as_json: bool
) -> None:
    """Tell it, as JSON where that is wanted.

    Raises:
        Misconfigured: the database cannot be opened, or a service runs on it.
        SystemExit: it cannot be told.
    """

    async def work() -> Any:
        asked = {"worst": str(worst)} | ({"role": role} if role else {})
        async with in_process(settings, world_id, language, None) as http:
            return checked(await http.get("/world/quality", params=asked))

    found = asyncio.run(work())
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        _show(found, language)


def _show(found: dict[str, Any], language: Language) -> None:
    cost = found["cost"]
    tokens = cost["prompt_tokens"] + cost["completion_tokens"]
    print(sentence(language, "web.quality_counts", checked=found["checked"], **found["outcomes"]))
    if found["checked"]:
        print(sentence(language, "web.quality_cost", calls=cost["calls"], tokens=tokens, failures=found["failures"]))
    if found["rehearsal"]:
        print(sentence(language, "marks.unjudged"))
    if not found["checked"]:
        print(sentence(language, "web.quality_none"))
        return
    console = Console(highlight=False)
    console.print(_over_time(found, language))
    for one in found["worst"]:
        where = f" {one['conversation_id']}#{one['turn']}" if one["conversation_id"] else ""
        print(f"{one['lowest']} {one['at']} {one_line(one['name'])}{where}: {one_line(one['line'])}")
        low = [mark for mark in one["marks"] if mark["score"] < found["rules"]["threshold"]]
        for mark in low or sorted(one["marks"], key=lambda mark: mark["score"])[:1]:
            print(f"  {_name(mark['dimension'], language)} {mark['score']}: {one_line(mark['reason'])}")


def _over_time(found: dict[str, Any], language: Language) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(sentence(language, "marks.columns.at"))
    table.add_column(sentence(language, "marks.columns.checked"), justify="right")
    for mean in found["means"]:
        table.add_column(_name(mean["dimension"], language), justify="right")
    whole = {"at": sentence(language, "marks.columns.all"), "checked": found["checked"], "means": found["means"]}
    for span in (*found["spans"], whole):
        means = ("–" if one["mean"] is None else f"{one['mean']:.1f}" for one in span["means"])
        table.add_row(span["at"], str(span["checked"]), *means)
    return table


def _name(dimension: str, language: Language) -> str:
    return sentence(language, f"web.dimension_{dimension}")
