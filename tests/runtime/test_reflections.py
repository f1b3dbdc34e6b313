"""People think over what they lived through: when, once, and what it costs nobody. Tests of runtime/carried.py."""

import asyncio
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import Session

from service.content.load import Content
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.errors import ModelServerError
from service.history.why import in_words, why_happened
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.memory.mind import KNOWN_AFTER_MINUTES, REFLECTS_AT, Reflection, ReflectionContext, due_reflections
from service.memory.recall import remembered
from service.memory.record import Group, Kind
from service.memory.telling import remembered_as
from service.offline.model import HANDLERS, OfflineModel
from service.people.worlds import WorldRepository
from service.runtime.carried import jobs_of
from service.runtime.client_actions import sleep
from service.settings import Settings
from service.store.tables import JobRow, MemoryRow, ReflectionRow, SummaryRow
from service.store.usage import usage_rows
from tests.conversation.talks import meet, rows, talk_of_family
from tests.runtime.lives import Slow, hamlet, house
from tests.runtime.patience import until
from tests.runtime.worlds import command, tick
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

FOND = {"text": "Taro cares for his family above all.", "evidence": ["e1"], "importance": 7}
INVENTED = {"text": "Taro has nine boats.", "evidence": ["e99"], "importance": 7}


def talk(room: ConversationDependencies, script: ScriptedModel) -> None:
    """Aoi and Taro have talked of his family."""
    script.enqueue(*talk_of_family())
    conversation_id = meet(room)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    asyncio.run(close(room, main(conversation_id)))


def sleeps(room: ConversationDependencies) -> None:
    command(room, lambda s, world_session: sleep(s, world_session, "aoi"))


def reflecting(room: ConversationDependencies) -> list[dict[str, Any]]:
    return rows(room, ReflectionRow)


def insights(room: ConversationDependencies) -> list[dict[str, Any]]:
    return [row for row in rows(room, MemoryRow) if row["kind"] == Kind.INSIGHT and not row["deleted"]]


def recalled(room: ConversationDependencies) -> list[str]:
    """What a speaker is told of Aoi's insights now."""
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    found = asyncio.run(remembered(room.memory, world, "aoi", "Taro's family", limit=5, kinds={Kind.INSIGHT}))
    return [remembered_as(world, one, "aoi") for one in found]


def calls(room: ConversationDependencies) -> tuple[int, int]:
    found = room.database.read_now(lambda s: usage_rows(s, "main"))
    return sum(row.calls for row in found if row.role == "closing"), sum(row.failures for row in found)


def test_a_night_makes_insights_of_the_day_by_one_call_known_an_hour_later(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    talk(room, script)
    talk(room, script)
    before, _ = calls(room)
    sleeps(room)
    (due,) = reflecting(room)
    assert (due["person_id"], due["phase"], due["known_at"] - due["at"]) == ("aoi", "due", KNOWN_AFTER_MINUTES)
    script.enqueue({"insights": [FOND, INVENTED]}, role="closing")
    assert [event.kind for event in tick(room, KNOWN_AFTER_MINUTES - 1) if event.kind == "reflected"] == []
    (told,) = [event for event in tick(room, 1) if event.kind == "reflected"]
    assert (told.person_id, told.at) == ("aoi", due["known_at"])
    assert told.data == {
        "insights": [FOND["text"]],
        "dropped": [{"text": INVENTED["text"], "reason": "no_evidence"}],
    }
    why = asyncio.run(why_happened(room, room.database.read_now(lambda s: room.worlds.open(s, "main")), told.id))
    ((text, (evidence,)),) = why.drawn
    words = in_words(room.database.read_now(lambda s: room.worlds.open(s, "main")), why)
    assert (text, evidence.kind) == (FOND["text"], "talk")
    assert words[0] == f'Aoi came to think so ("{text}") of this:'
    assert evidence.text is not None
    assert evidence.text in words[1]
    (insight,) = insights(room)
    assert (insight["evidence"][0].partition(":")[0], insight["partner_id"]) == ("talk", "npc_taro")
    assert (insight["known_from"], insight["source"], insight["support"]) == (due["known_at"], "reflection", "model")
    assert calls(room)[0] == before + 1
    assert script.history[-1].name == "reflection"


def test_it_is_told_as_a_thought_and_never_before_it_is_known(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    talk(room, script)
    talk(room, script)
    sleeps(room)
    script.enqueue({"insights": [FOND]}, role="closing")
    asyncio.run(made(room))
    assert recalled(room) == []
    tick(room, KNOWN_AFTER_MINUTES)
    assert [line.partition(") ")[2] for line in recalled(room)] == [f"You have come to think: {FOND['text']}"]


def test_an_insight_falls_when_all_that_it_rests_on_is_gone(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    talk(room, script)
    talk(room, script)
    sleeps(room)
    script.enqueue({"insights": [{**FOND, "evidence": ["e1", "e2"]}]}, role="closing")
    asyncio.run(made(room))
    (insight,) = insights(room)
    first, second = (one.partition(":")[2] for one in insight["evidence"])
    aoi = Group(world_id="main", person_id="aoi")
    room.database.write_now(lambda s: room.memory.remove(s, aoi, Kind.SUMMARY, first))
    assert insights(room) == [insight], "the other talk still bears it"
    room.database.write_now(lambda s: room.memory.remove(s, aoi, Kind.SUMMARY, second))
    assert insights(room) == []


async def made(room: ConversationDependencies) -> None:
    """As the sweep does, and waited for."""
    jobs = jobs_of(room)
    await asyncio.gather(*(jobs.submit(key.job) for key in await room.database.read(due_reflections)))


def test_of_a_single_talk_nobody_thinks(room: ConversationDependencies, script: ScriptedModel) -> None:
    talk(room, script)
    sleeps(room)
    assert reflecting(room) == []


def test_what_was_thought_over_is_not_thought_over_again(room: ConversationDependencies, script: ScriptedModel) -> None:
    talk(room, script)
    talk(room, script)
    sleeps(room)
    sleeps(room)
    assert len(reflecting(room)) == 1


def test_off_by_setting_nobody_is_asked(
    room: ConversationDependencies, script: ScriptedModel, village: Content, settings: Settings
) -> None:
    off = settings.world.model_copy(update={"reflection": False})
    quiet = replace(room, worlds=WorldRepository(village, off))
    talk(quiet, script)
    talk(quiet, script)
    sleeps(quiet)
    assert reflecting(quiet) == []


def test_who_never_sleeps_reflects_when_enough_that_matters_has_come_together(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    talk(room, script)
    talk(room, script)
    assert reflecting(room) == []
    assert {row["importance"] for row in rows(room, SummaryRow)} <= {0, 5, 10}
    room.database.write_now(lambda s: s.execute(update(SummaryRow).values(importance=REFLECTS_AT // 2)))
    talk(room, script)
    assert {row["person_id"] for row in reflecting(room)} == {"aoi", "npc_taro"}


def test_a_model_that_fails_holds_nobody_up_and_is_asked_again_later(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    talk(room, script)
    talk(room, script)
    sleeps(room)
    script.enqueue(ModelServerError(model="scripted", status_code=500, reason="out of order"), role="closing")
    tick(room, 2 * KNOWN_AFTER_MINUTES)
    (row,) = reflecting(room)
    assert row["phase"] == "due"
    assert calls(room)[1] == 1
    assert insights(room) == []
    (job,) = (row for row in rows(room, JobRow) if row["kind"] == "reflection")
    assert (job["tries"], job["key"]) == (1, f"aoi:{row['at']}")
    assert "out of order" in job["last_error"]
    assert job["due_at"] > time.time() + 25
    room.database.write_now(lambda s: s.execute(update(JobRow).values(due_at=0.0)))
    script.enqueue({"insights": [FOND]}, role="closing")
    asyncio.run(until_none_waits(room))
    (row,) = reflecting(room)
    assert row["phase"] == "done"
    (insight,) = insights(room)
    now = room.database.read_now(lambda s: room.worlds.open(s, "main").now)
    assert insight["known_from"] == now, "its hour has passed"


async def until_none_waits(room: ConversationDependencies) -> None:
    jobs = jobs_of(room)
    await jobs.start()
    try:
        await until(lambda: all(row["kind"] != "reflection" for row in rows(room, JobRow)))
    finally:
        await jobs.stop()


def test_after_kill_9_it_is_made_once(room: ConversationDependencies, script: ScriptedModel) -> None:
    talk(room, script)
    talk(room, script)
    sleeps(room)

    class Died(BaseException):
        """The process is gone in the middle of the call."""

    async def live() -> None:
        died = jobs_of(replace(room, models=_Dies(Died)))  # type: ignore[arg-type]
        (key,) = await room.database.read(due_reflections)
        with pytest.raises(Died):
            await died.submit(key.job)
        await room.database.write(_its_process_is_gone)
        again = jobs_of(room)
        await asyncio.gather(again.submit(key.job), again.submit(key.job))
        await again.submit(key.job)
        await again.stop()

    script.enqueue({"insights": [FOND]}, role="closing")
    asyncio.run(live())
    assert [row["phase"] for row in reflecting(room)] == ["done"]
    assert len(insights(room)) == 1
    assert script.unused == 0


def _its_process_is_gone(session: Session) -> None:
    session.execute(update(JobRow).values(runner="1-a process that is gone"))


class _Dies:
    """Models of which every one dies."""

    name = "dying"

    def __init__(self, death: type[BaseException]) -> None:
        self._death = death

    def for_role(self, role: str) -> "_Dies":
        return self

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        raise self._death


def _think(context: ReflectionContext, rng: random.Random) -> Reflection:
    """Whoever has lived through something keeps the first of it in mind."""
    first = context.evidence[0]
    return Reflection.model_validate(
        {"insights": [{"text": first.text[:200], "evidence": [first.ref], "importance": 6}]}
    )


EVENING = 6 * 60


@pytest.mark.long
def test_latencies_and_ticks_do_not_change_what_people_think(village: Content, tmp_path: Path) -> None:
    """Who thinks slowly holds up nobody but who comes to the minute from which it would be known."""

    async def live(directory: Path, seconds: float, ticks: int) -> dict[str, list[Any]]:
        model: ChatModel = OfflineModel({**HANDLERS, ReflectionContext: _think})
        if seconds:
            model = _SlowThinker(Slow(model, seed=1, longest_seconds=0.01), seconds)
        async with house(hamlet(village), directory, model, start="2026-04-01T19:00") as home:
            for _ in range(EVENING // ticks):
                await home.live(ticks)
            thought = [{**row, "revision": 0} for row in insights(home.room)]
            return {**home.story(), "insights": sorted(thought, key=lambda row: row["id"])}

    for name in ("at-once", "slowly"):
        (tmp_path / name).mkdir()
    at_once = asyncio.run(live(tmp_path / "at-once", 0, EVENING))
    slowly = asyncio.run(live(tmp_path / "slowly", 0.5, 60))
    assert at_once["insights"]
    assert slowly == at_once


class _SlowThinker:
    """A ChatModel that takes its time to reflect."""

    def __init__(self, inner: ChatModel, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds
        self.name = inner.name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        if prompt.name == "reflection":
            await asyncio.sleep(self._seconds)
        return await self._inner.complete(prompt, on_text)

    async def aclose(self) -> None:
        await self._inner.aclose()
