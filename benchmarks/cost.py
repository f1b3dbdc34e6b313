"""Measures what talks and days cost: calls, and tokens read, read again from a prompt cache, and written.

The rehearsal answers in place of a model, with talks held to their full length; tokens are estimated. What a model may
take from its cache is the part of a prompt that the last prompt of the same speaker in the same talk began with too.
"""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fastapi.testclient import TestClient
from sqlmodel import select

from benchmarks.evidence import CASES
from benchmarks.townsfolk import town_content
from benchmarks.turn import common_prefix
from service.app import create_app
from service.content.files import bundled_content
from service.conversation.acting import NpcTurn
from service.conversation.prompt import PromptContext
from service.llm.chat import Answer, Prompt, T, TextListener, estimate_tokens
from service.llm.choose import ROLES, Models
from service.offline.model import OfflineModel
from service.settings import Settings
from service.store.tables import UsageRow
from tests.runtime.lives import house

SIZES = (1000, 3000, 8000)
"""Tokens that a prompt of a talk may take."""
BESIDE = "quay_pier"
"""The node from which one talks to who stands at the landing."""
TALK_TURNS = 10
EVENING = (5, 6)
"""So many talks of a player, and so many words of the player in each."""
PEOPLE = 25
DAY = 1440


class Counting(OfflineModel):
    """The rehearsal; `spent` is what a model would have read and written. Nobody leaves a talk before its time."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: Counter[str] = Counter()
        self._before: dict[tuple[str, ...], str] = {}

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer, and count."""
        answer = await super().complete(prompt, on_text)
        given: Any = prompt.given
        speaker = given.speaker.id if hasattr(given, "speaker") else ""
        text, key = "\n".join(message.content for message in prompt.messages), (prompt.name, prompt.thread, speaker)
        self.spent["calls"] += 1
        self.spent["prompt"] += answer.usage.prompt_tokens
        self.spent["completion"] += answer.usage.completion_tokens
        self.spent["cached"] += estimate_tokens(text[: common_prefix(self._before.get(key, ""), text)])
        self._before[key] = text
        value: Any = answer.value
        if isinstance(value, NpcTurn) and isinstance(given, PromptContext):
            value = value.model_copy(update={"wants_to_end": given.turns_left <= 2})
        return Answer(value=value, usage=answer.usage, model=answer.model)


def run(sizes: tuple[int, ...] = SIZES, people: int = PEOPLE, minutes: int = DAY) -> dict[str, float]:
    """All figures: of a talk of ten turns between two models, of an evening with a player, and of a day of 25 people
    with full detail and sketched, at each size of a context.
    """
    figures: dict[str, float] = {}
    case = json.loads((CASES / "en.json").read_text(encoding="utf-8"))
    for size in sizes:
        spent = {"talk": _talk(case, size), "evening": _evening(case, size)}
        for decision, named in (("model", "day"), ("sketch", "sketched_day")):
            spent[named] = asyncio.run(_day(decision, size, people, minutes))
        figures |= {f"{what}_{size}_{name}": count for what, of in spent.items() for name, count in of.items()}
    return figures


def _talk(case: Mapping[str, Any], size: int) -> Mapping[str, int]:
    with village(case, size, Counting()) as (http, model):
        http.patch("/characters/aoi", json={"node_id": BESIDE}).raise_for_status()
        goal = {"goal": "Hear how things are", "success_criteria": "The other has told something new"}
        talk = {"character_id": "aoi", "partner_id": case["npc"]["id"], "max_turns": TALK_TURNS, **goal}
        http.post("/conversations/start?wait=true", json=talk).raise_for_status()
        return model.spent


def _evening(case: Mapping[str, Any], size: int) -> Mapping[str, int]:
    """A player asks the same person something at a time, and says goodbye."""
    asked = iter(question["said"] for question in case["questions"])
    with village(case, size, Counting()) as (http, model):
        for _ in range(EVENING[0]):
            talk = {"mode": "player", "player_id": case["partner"]["id"], "partner_id": case["npc"]["id"]}
            begun = http.post("/conversations/start", json=talk).raise_for_status().json()["id"]
            for _ in range(EVENING[1]):
                http.post(f"/conversations/{begun}/say?wait=true", json={"text": next(asked)}).raise_for_status()
            http.post(f"/conversations/{begun}/end?wait=true").raise_for_status()
        return model.spent


M = TypeVar("M", bound=OfflineModel)


@contextmanager
def village(case: Mapping[str, Any], size: int, model: M, *, partner: str = "") -> Iterator[tuple[TestClient, M]]:
    """The village, in which somebody has a past of two hundred lines with the case's partner, or another `partner`, who
    has it too.
    """
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory),
            content_dir=bundled_content(),
            embedding={"provider": "none"},
            llm={"context_tokens": size},
            world={"language": "en", "decision": "routine", "daily_snapshots": 0},
        )
        app = create_app(settings, models=Models(dict.fromkeys(ROLES, model)))
        with TestClient(app, base_url="http://localhost") as http:
            npc = {"kind": "npc", "name": case["npc"]["name"], "personality": "Kind.", "node_id": "pier_end"}
            http.put(f"/people/{case['npc']['id']}", json=npc).raise_for_status()
            player = {"kind": "player", "name": case["partner"]["name"]}
            http.put(f"/people/{case['partner']['id']}", json=player).raise_for_status()
            for person in (case["npc"]["id"], *filter(None, [partner])):
                past = {"transcripts": list(_transcripts(case, partner or case["partner"]["id"]))}
                http.post(f"/people/{person}/memory", json=past).raise_for_status()
            yield http, model


def _transcripts(case: Mapping[str, Any], partner: str) -> Iterator[dict[str, Any]]:
    for number, session in enumerate(case["sessions"]):
        turns = [
            {
                "id": f"t{line['n']}",
                "speaker": partner if line["speaker"] == case["partner"]["id"] else line["speaker"],
                "text": line["text"],
            }
            for line in session["lines"]
        ]
        yield {"conversation": f"s{number}", "at": session["when"], "turns": turns}


async def _day(decision: str, size: int, people: int, minutes: int) -> Mapping[str, int]:
    model = Counting()
    with tempfile.TemporaryDirectory() as directory:
        content, llm = town_content(people), {"context_tokens": size}
        async with house(content, Path(directory), model, at_once=32, llm=llm, decision=decision) as lived:
            await lived.live(minutes)
            rows = lived.room.database.read_now(lambda s: s.exec(select(UsageRow)).all())
    paid = sum(row.calls for row in rows)
    assert paid == model.spent["calls"], "what the service counts is what was asked"
    return model.spent
