"""Measures promises: whether what a closing says of one, in fields, is what stands then."""

from collections.abc import Mapping
from typing import Any

from benchmarks.memory_arcs import Count
from benchmarks.memory_filler import filler
from benchmarks.memory_labels import Told
from benchmarks.memory_sorts import START, Case, cases
from benchmarks.memory_stage import Stage, stage
from service.locales import languages
from world.time import MINUTES_PER_DAY, WorldTime, iso, parse_time

_TODAY = "2026-04-02"
"""The day on which each case is spoken; what is open was promised the day before."""


async def promises(most: int | None = None) -> dict[str, float]:
    """Appointments whose day and time stand as they were meant, the moved and the released ones that stand so, and
    refusals of which a promise was made.
    """
    counts = {name: Count() for name in ("made", "moved", "released", "kept", "refused")}
    for language in languages()[:most]:
        chosen = cases("promises", language, most)
        places = sorted({one["place"] for case in chosen for one in case["expected"] if one["place"]})
        async with stage(language=language, start=START, places=places) as here:
            for case in chosen:
                await _count(here, case, counts)
    return {
        "promises_on_time_share": counts["made"].share,
        "promises_moved_share": counts["moved"].share,
        "promises_released_share": counts["released"].share,
        "promises_kept_share": counts["kept"].share,
        "promises_of_refusals": counts["refused"].held,
        "promises_refusals": counts["refused"].of,
    }


async def _count(here: Stage, case: Case, counts: Mapping[str, Count]) -> None:
    world = here.new_world()
    later = parse_time(_TODAY) - parse_time(case["now"][:10])
    await here.people(world, case["people"])
    one, other = (person["id"] for person in case["people"])
    small = filler(case["language"], 0)
    opened = [
        {**promise, "due": _shifted(promise["due"], later), "turn": 0, "status": "made", "place": ""}
        for promise in case["open"]
    ]
    if opened:
        await here.until(world, "2026-04-01T12:00")
        lines = [(one, small.lines[0]), (other, small.lines[1])]
        await here.talk(world, lines, Told(paragraph=small.summary, promises=opened))
    await here.until(world, iso(WorldTime(parse_time(case["now"]) + later)))
    before = {item["id"] for item in await _promised(here, world, one)}
    expected = [{**promise, "day": _shifted(promise["day"], later)[:10], "due": None} for promise in case["expected"]]
    said = [(turn["speaker"], turn["text"]) for turn in case["turns"]]
    await here.talk(world, said, Told(paragraph=small.summary, promises=expected))
    found = await _promised(here, world, one)
    new = [item for item in found if item["id"] not in before]
    if not expected:
        counts["refused"].add(bool(new))
    for promise in expected:
        old = [item for item in found if item["id"] in before and item["state"] == promise["status"]]
        is_due = any(_is_due(item, promise) for item in new)
        status = promise["status"]
        counts[status].add((status == "made" or bool(old)) and (status in ("released", "kept") or is_due))


async def _promised(here: Stage, world: str, person: str) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (await here.call("GET", world, f"/people/{person}/commitments"))["items"]
    return found


def _is_due(item: Mapping[str, Any], promise: Mapping[str, Any]) -> bool:
    """Whether the item is by and to whom, and due when, the promise says."""
    if (item["by_id"], item["to_id"]) != (promise["by"], promise["to"]):
        return False
    day, hour = promise["day"], promise["hour"]
    if not day:
        return item["due_at"] is None
    if hour:
        return bool(item["has_hour"]) and item["due_at"] == f"{day}T{hour}"
    begins = item["since_at"] or iso(WorldTime(parse_time(item["due_at"]) - MINUTES_PER_DAY))
    return bool(begins[:10] == day) and bool(item["since_at"]) == bool(promise["part"])


def _shifted(time: str | None, later: int) -> str:
    """The same time that many minutes later."""
    return iso(WorldTime(parse_time(time) + later)) if time else ""
