"""The Python API does what a game needs, on the sample village in rehearsal."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import kataribe
from service.errors import NotFound
from service.settings import Settings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings() -> Settings:
    return Settings(_env_file=None, embedding={"provider": "none"}, world={"language": "en"})


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[kataribe.World]:
    async with kataribe.open(settings=settings, rehearsal=True) as game:
        yield game.world()


@pytest.mark.anyio
async def test_turns_are_told_as_they_are_spoken_and_then_remembered(world: kataribe.World) -> None:
    way = await world.walk("aoi", to_person="npc_taro")
    await world.tick(way.arrival - way.start)
    turns = [turn async for turn in world.converse("aoi", "npc_taro", goal="Hear how he is", success="He told")]
    talk = await world.talk(turns[0].conversation_id)
    assert [turn.text for turn in turns] == [turn.text for turn in talk.turns]
    assert talk.is_closed
    assert talk.end_reason is kataribe.EndReason.WANTS_TO_END
    assert len(await world.summaries("aoi")) == 1
    assert await world.memories("npc_taro")


@pytest.mark.anyio
async def test_what_was_given_is_recalled_and_a_wrong_name_is_refused(world: kataribe.World) -> None:
    assert (await world.remember("aoi", "The lamp oil is kept under the stairs.")).statements == 1
    found = await world.recall("aoi", asking="Where is the lamp oil?")
    assert [one.item.text for one in found.facts] == ["The lamp oil is kept under the stairs."]
    with pytest.raises(NotFound):
        await world.recall("nobody")


@pytest.mark.anyio
async def test_a_world_is_kept_brought_back_branched_and_goes_into_a_file_and_back(
    world: kataribe.World, tmp_path: Path
) -> None:
    await world.tick(10)
    await world.snapshot("morning")
    then = (await world.view()).now
    await world.tick(10)
    other = await world.branch("what-if", snapshot="morning")
    await world.restore("morning")
    assert (await world.view()).now == (await other.view()).now == then
    await world.export(tmp_path / "main.jsonl")
    await world.remove()
    await world.import_(tmp_path / "main.jsonl")
    assert (await world.view()).now == then


@pytest.mark.anyio
async def test_people_are_asked_play_a_scene_write_and_sleep(world: kataribe.World) -> None:
    answers = await world.survey("Would you move?", people=["aoi", "npc_taro"], choices=["yes", "no"], remember=True)
    assert {one.answer for one in answers} <= {"yes", "no"}
    scene = await world.scene("S001", turns=2)
    assert (len(scene.turns), scene.end_reason) == (2, None)
    assert len((await world.go_on(scene.id)).turns) == 3
    assert await world.write("aoi", "diary")
    assert await world.sleep("aoi") == 0
    assert set(await world.where()) == set(await world.people())


@pytest.mark.anyio
async def test_where_nobody_lives_worlds_begin_at_any_moment_and_are_forgotten_together(settings: Settings) -> None:
    async with kataribe.open(settings=settings, rehearsal=True, lives=False) as game:
        world = await game.begin("one", language="en", start=kataribe.WorldTime(1_000_000_000))
        await world.put("mika", kind="player", name="Mika")
        await world.feel("npc_taro", "mika", 40)
        await world.flags(lamp_is_lit=True)
        talk = await world.say("mika", "npc_taro", "Good evening!")
        assert talk.answer is not None
        assert (await world.end(talk.id)).is_closed
        assert await game.worlds() == ["one"]
        await game.remove(["one"])
        assert await game.worlds() == []
