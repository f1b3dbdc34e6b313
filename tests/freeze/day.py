"""Owns the day on record: the bundled village lives it over HTTP, and a client reads what of it must survive."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import chdir
from operator import itemgetter
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from typer.testing import CliRunner

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.settings import Settings
from studio.cli.main import cli
from tests.freeze.script import Script
from world.time import MINUTES_PER_DAY, iso

TICKS = 240
"""Minutes in one request."""
MAX_TURNS = 6
BY_ROUTINE = ("isao", "sayo")
_WHAT = ("action_id", "facility_id")
"""Of an event's data: what somebody does, and where."""

Record = dict[str, Any]


def lived_day(language: Language, directory: Path, script: Script) -> Record:
    """A day of the village from its start on, and what of it must survive: six decide by the model, two by routine.
    When it was put on record, nobody joined a talk.
    """
    settings = Settings(
        _env_file=None,
        data_dir=directory,
        allowed_hosts=["testserver"],
        embedding={"provider": "none"},
        memory={"verify": False},  # nobody changes its mind: the script says nothing that is not so
        world={"language": language, "table": 2},
        max_turns=MAX_TURNS,
    )
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        for character_id in BY_ROUTINE:
            client.patch(f"/characters/{character_id}", json={"decision": "routine"}).raise_for_status()
        for _ in range(MINUTES_PER_DAY // TICKS):
            client.post("/world/tick", json={"ticks": TICKS}).raise_for_status()
        remembered = _remembered(client)
        usage = client.get("/usage").raise_for_status().json()
    header, *lines = _exported(directory)
    conversations = [line["row"] for line in lines if line["table"] == "conversations"]
    events = [_event(line["row"]) for line in lines if line["table"] == "events" and line["row"]["audience"] == "world"]
    people: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted((line["row"] for line in lines if line["table"] == "participants"), key=itemgetter("seat")):
        people[row["conversation_id"]].append(row["person_id"])
    turns = Counter(line["row"]["conversation_id"] for line in lines if line["table"] == "turns")
    calls, failures = (sum(row[name] for row in usage) for name in ("calls", "failures"))
    if failures or calls != script.asked.total():
        raise RuntimeError(
            f"{script.asked.total()} calls were answered; the service counts {calls}, {failures} in vain"
        )
    return {
        "events": events,
        "conversations": sorted(_conversation(row, people[row["id"]], turns[row["id"]]) for row in conversations),
        "span": {"from": header["from"], "to": header["to"]},
        "kinds": _counted(event[1] for event in events),
        "endings": _counted(talk["end_reason"] for talk in conversations),
        "asked": {f"{who} {what}": count for (what, who), count in sorted(script.asked.items(), key=_by_person)},
        "remembered": remembered,
    }


def _exported(directory: Path) -> list[dict[str, Any]]:
    """What `kataribe export` writes; the .env of where the tests run is not read."""
    with chdir(directory):
        told = CliRunner().invoke(cli, ["export", "--data", str(directory)], catch_exceptions=False)
    return [json.loads(line) for line in told.stdout.splitlines()]


def _event(row: dict[str, Any]) -> list[str]:
    """When, what, who; and what somebody does and where."""
    what = (row["data"].get(name) for name in _WHAT)
    return [iso(row["at"]), row["kind"], row["person_id"] or "", *filter(None, what)]


def _conversation(row: dict[str, Any], people: list[str], turns: int) -> list[Any]:
    """When it began, was over and was remembered; who with whom; how many turns; why it ended."""
    times = [None if (at := row[name]) is None else iso(at) for name in ("started_at", "ended_at", "closed_at")]
    return [*times, *people[:2], turns, row["end_reason"]]


def _remembered(client: TestClient) -> dict[str, dict[str, int]]:
    """How much everybody has in memory at the end."""
    found = {}
    for person in client.get("/characters").raise_for_status().json():
        graph = client.get(f"/characters/{person['id']}/memory/graph").raise_for_status().json()
        found[person["id"]] = {
            "facts": graph["facts_total"],
            "episodes": len(graph["episodes"]),
            "mid_term": len(person["mid_term"]),
            "today": len(person["today"]),
        }
    for npc in client.get("/npcs").raise_for_status().json():
        learned = len(npc["learned_facts"])
        found[npc["id"]] = {"learned_facts": learned, "conversations": npc["conversation_count"]}
    return found


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _by_person(item: tuple[tuple[str, str], int]) -> tuple[str, str]:
    (what, who), _ = item
    return who, what
