"""Owns the tests of what living people see: they decide anew, and the story is the same however fast the model is."""

import asyncio
from pathlib import Path
from typing import Any

from service.content.load import Content
from service.llm.chat import ChatModel
from service.runtime.world_edits import Observation, observe
from tests.runtime.lives import Slow, hamlet, house, rehearsal

FIRE = Observation(text="The boathouse burns.", importance=9, map_id="harbour", minutes=120)


def test_who_saw_it_decides_anew_and_the_story_is_the_same_however_slow_the_model(
    village: Content, tmp_path: Path
) -> None:
    async def lived(directory: Path, model: ChatModel) -> tuple[dict[str, list[Any]], list[str], int]:
        async with house(hamlet(village), directory, model, decision="model") as home:
            await home.live(60)
            at = home.room.database.read_now(lambda s: home.room.worlds.open(s, "main").now)
            seen = await home.world_runner.command("main", lambda s, one: observe(s, home.room.memory, one, FIRE))
            await home.live(30)
            return home.story(), seen, at

    async def both() -> list[tuple[dict[str, list[Any]], list[str], int]]:
        slow = Slow(rehearsal(), seed=3, longest_seconds=0.01)
        return [await lived(tmp_path / "quick", rehearsal()), await lived(tmp_path / "slow", slow)]

    (story, seen, at), again = asyncio.run(both())
    assert again == (story, seen, at)
    for kind in ("observed", "mid_term"):
        kept = [row for row in story["memories"] if (row["kind"], row["source"]) == (kind, "observation")]
        assert sorted(row["person_id"] for row in kept) == seen
        assert {(row["text"], row["support"], row["told_by"]) for row in kept} == {(FIRE.text, "perceived", None)}
    (event,) = [event for event in story["events"] if event["kind"] == "observed"]
    assert (event["at"], event["data"]["seen_by"]) == (at, seen)
    decided = {row["person_id"] for row in story["events"] if (row["kind"], row["at"]) == ("decided", at)}
    assert decided
    assert decided <= set(seen)
