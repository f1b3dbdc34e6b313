"""Owns the tests of people who come and go while a world lives: who sees them, and that nobody else's story changes."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.content.load import Content
from service.content.made import Made
from service.errors import Conflict
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.runtime.made_people import place_person, put_person, remove_person
from service.runtime.world_session import load
from tests.runtime.lives import House, hamlet, house, rehearsal
from world.simulation import Simulation

HOUR = 60
HOME = "yu_bridge"
PLAYERS = [Made(id=f"player-{number}", kind="player", profile=f'{{"name": "Player {number}"}}') for number in range(24)]
MIKA = Made(id="mika", kind="player", profile='{"name": "Mikazuki"}')


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters."""
    return hamlet(village)


class Heard:
    """The rehearsal, and every prompt it was sent."""

    def __init__(self) -> None:
        self._inner: ChatModel = rehearsal()
        self.prompts: list[str] = []

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self.prompts.append("\n".join(message.content for message in prompt.messages))
        return await self._inner.complete(prompt, on_text)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def put(home: House, made: Made) -> None:
    """Make the person."""
    await home.world_runner.command(
        "main", lambda s, session: put_person(s, home.room.worlds, session, made), keeps_decisions=True
    )


async def place(home: House, person_id: str, node_id: str | None) -> None:
    """Put the person there."""
    await home.world_runner.command(
        "main", lambda s, session: place_person(s, session, person_id, node_id), keeps_decisions=True
    )


async def remove(home: House, person_id: str) -> None:
    """Take the person out of the world."""
    room = home.room
    await home.world_runner.command(
        "main", lambda s, session: remove_person(s, room.worlds, room.memory, session, person_id)
    )


def others(story: dict[str, list[Any]], *made: str) -> dict[str, list[Any]]:
    """The story without what tells of these people alone."""
    told = {name: [row for row in rows if row.get("person_id") not in made] for name, rows in story.items()}
    return told | {"movements": [row for row in told["movements"] if row["character_id"] not in made]}


def lived(village: Content, directory: Path, live: Callable[[House], Any]) -> dict[str, list[Any]]:
    """The story of a world that has lived so."""

    async def run() -> dict[str, list[Any]]:
        async with house(village, directory, rehearsal()) as home:
            await live(home)
            return home.story()

    return asyncio.run(run())


def test_many_players_join_and_leave_and_nobody_elses_story_changes(village: Content, tmp_path: Path) -> None:
    async def alone(home: House) -> None:
        await home.live(HOUR)

    async def with_players(home: House) -> None:
        for half in range(4):
            for made in PLAYERS[6 * half : 6 * half + 6]:
                await put(home, made)
            ticking = asyncio.create_task(home.live(HOUR // 4))
            for made in PLAYERS[6 * half - 6 : 6 * half] if half else []:
                await remove(home, made.id)
            await ticking

    quiet = lived(village, tmp_path / "quiet", alone)
    busy = lived(village, tmp_path / "busy", with_players)
    assert {row["kind"] for row in busy["events"]} - {row["kind"] for row in quiet["events"]} == {
        "person_made",
        "person_removed",
    }
    assert others(busy, *(made.id for made in PLAYERS)) == quiet


def test_who_is_in_sight_of_a_player_that_has_a_place_sees_it_and_cannot_ask_it_to_talk(
    village: Content, tmp_path: Path
) -> None:
    model = Heard()

    async def run() -> list[dict[str, Any]]:
        async with house(village, tmp_path, model) as home:
            await put(home, MIKA)
            await home.live(30)
            assert not any("Mikazuki" in prompt for prompt in model.prompts), "it is nowhere"
            await place(home, "mika", _where(home, "aoi"))
            seen = [one for one in _perceived(home, "aoi") if one.id == "mika"]
            assert [(one.minutes, one.approachable) for one in seen] == [(0, False)]
            await home.live(HOUR)
            saw = [prompt for prompt in model.prompts if "Mikazuki" in prompt]
            assert saw
            await place(home, "mika", None)
            model.prompts.clear()
            assert not [one for one in _perceived(home, "aoi") if one.id == "mika"]
            await home.live(HOUR)
            assert not any("Mikazuki" in prompt for prompt in model.prompts)
            return home.story()["events"]

    events = asyncio.run(run())
    assert not [event for event in events if event["data"].get("target_id") == "mika"]
    assert [event["kind"] for event in events if event["person_id"] == "mika"] == [
        "person_made",
        "person_placed",
        "person_placed",
    ]


def test_a_world_with_a_player_in_it_goes_on_after_a_stop_as_it_would_have(village: Content, tmp_path: Path) -> None:
    async def begin(home: House) -> None:
        await put(home, MIKA)
        await place(home, "mika", _where(home, "aoi"))
        await home.live(HOUR)

    async def through(home: House) -> None:
        await begin(home)
        await home.live(HOUR)

    whole = lived(village, tmp_path / "whole", through)
    lived(village, tmp_path / "parts", begin)
    assert lived(village, tmp_path / "parts", lambda home: home.live(HOUR)) == whole


def test_a_character_that_comes_and_goes_tells_the_same_story_whether_the_service_stops_or_not(
    village: Content, tmp_path: Path
) -> None:
    """It is met and talked to, and somebody may be on the way to it when it goes."""
    yuna = Made(
        id="yuna",
        kind="character",
        profile=json.dumps({"name": "Yuna", "personality": "Curious.", "home": HOME}),
    )

    async def begin(home: House) -> None:
        await put(home, yuna)
        await home.live(HOUR)

    async def end(home: House) -> None:
        for _ in range(30):  # not while it talks
            try:
                await remove(home, "yuna")
                break
            except Conflict:
                await home.live(1)
        await home.live(HOUR)

    async def through(home: House) -> None:
        await begin(home)
        await end(home)

    whole = lived(village, tmp_path / "whole", through)
    lived(village, tmp_path / "parts", begin)
    assert lived(village, tmp_path / "parts", end) == whole
    gone = next(number for number, event in enumerate(whole["events"]) if event["kind"] == "person_removed")
    assert {event["kind"] for event in whole["events"][:gone] if event["person_id"] == "yuna"} > {"decided", "departed"}
    assert not [event for event in whole["events"][gone + 1 :] if event["person_id"] == "yuna"]
    assert len(whole["events"]) > gone + 10, "the others live on"


def _where(home: House, person_id: str) -> str:
    return _core(home).people[person_id].node_id


def _perceived(home: House, person_id: str) -> Any:
    core, now = _core(home), home.room.database.read_now(lambda s: home.room.worlds.open(s, "main").now)
    return core.perceive(person_id, now).people


def _core(home: House) -> Simulation:
    return home.room.database.read_now(lambda s: load(s, home.room.worlds, "main", models_missing=False).core)
