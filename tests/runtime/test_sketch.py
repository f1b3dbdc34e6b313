"""Owns the tests of lives that are only sketched: one call a talk, detail where somebody looks, and the same story."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sqlmodel import col, select

from service.content.load import Content
from service.conversation.sketch import Sketch, SketchContext
from service.errors import ModelRefused
from service.llm.chat import Answer, Prompt, T, TextListener
from service.locales import Language, languages
from service.offline.model import OfflineModel
from service.runtime.made_people import place_person, put_person
from service.store.phase import Phase
from service.store.tables import ConversationRow, TurnRow
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal, unpaid
from tests.runtime.test_npc_initiative import KEN

MORNING = 2 * 60


class Noted(OfflineModel):
    """The model that is none, and what it was asked; of each sketch it makes what `spoils` says."""

    def __init__(self, spoils: str = "") -> None:
        super().__init__(seed=4)
        self.asked: list[str] = []
        self._spoils = spoils

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self.asked.append(prompt.name)
        answer = await super().complete(prompt, on_text)
        if not isinstance(prompt.given, SketchContext):
            return answer
        if self._spoils == "refused":
            raise ModelRefused(model=self.name, reason="no").costing(answer.usage)
        sketch: Any = answer.value
        assert isinstance(sketch, Sketch)
        if self._spoils == "out of turn":
            sketch.turns[2].speaker = sketch.turns[1].speaker
        elif self._spoils == "out of character":
            sketch.turns[1].utterance = "As an AI language model I have no breakfast."
        value: BaseModel = sketch
        return Answer(value=value, usage=answer.usage, model=answer.model)  # type: ignore[arg-type]


def turns_of(home: House) -> dict[str, list[TurnRow]]:
    """The turns of each conversation that is over."""
    query = select(TurnRow).join(
        ConversationRow,
        (col(ConversationRow.world_id) == TurnRow.world_id) & (col(ConversationRow.id) == TurnRow.conversation_id),
    )
    over = query.where(ConversationRow.phase == Phase.CLOSED).order_by(col(TurnRow.conversation_id), col(TurnRow.turn))
    found: dict[str, list[TurnRow]] = {}
    for turn in home.room.database.read_now(lambda s: s.exec(over).all()):
        found.setdefault(turn.conversation_id, []).append(turn)
    return found


@pytest.mark.parametrize("language", languages())
def test_a_talk_is_one_call_and_a_day_far_fewer(village: Content, tmp_path: Path, language: Language) -> None:
    async def live(decision: str) -> tuple[Noted, dict[str, list[TurnRow]]]:
        model = Noted()
        directory = tmp_path / decision
        directory.mkdir()
        async with house(hamlet(village), directory, model, language=language, decision=decision) as home:
            await home.live(150)
            return model, turns_of(home)

    full, _ = asyncio.run(live("model"))
    sketched, talks = asyncio.run(live("sketch"))
    assert "sketch" not in full.asked
    of_two = [turns for turns in talks.values() if len({turn.speaker_id for turn in turns}) == 2]
    assert len(of_two) >= 2
    assert all(turn.is_sketched for turns in of_two for turn in turns)
    assert all([turn.calls for turn in turns] == [1] + [0] * (len(turns) - 1) for turns in of_two)
    assert 0 < len(sketched.asked) < 0.5 * len(full.asked)
    assert sketched.asked.count("speaker") == 0


@pytest.mark.parametrize(("spoils", "sketched"), [("refused", 0), ("out of turn", 2), ("out of character", 1)])
def test_what_cannot_be_said_is_asked_for_turn_by_turn(
    village: Content, tmp_path: Path, spoils: str, sketched: int
) -> None:
    async def work() -> None:
        model = Noted(spoils)
        async with house(hamlet(village), tmp_path, model, decision="sketch") as home:
            await home.live(MORNING)
            talks = turns_of(home)
        assert talks
        for turns in talks.values():
            assert [turn.is_sketched for turn in turns] == [place < sketched for place in range(len(turns))]
            assert all(turn.calls == 1 for turn in turns[sketched:])
        assert not any("language model" in turn.text for turns in talks.values() for turn in turns)

    asyncio.run(work())


def test_where_a_player_comes_near_a_talk_goes_on_turn_by_turn(village: Content, tmp_path: Path) -> None:
    async def work() -> None:
        async with house(hamlet(village), tmp_path, rehearsal(4), decision="sketch") as home:
            database = home.room.database
            await home.world_runner.command("main", lambda s, one: put_person(s, home.room.worlds, one, KEN))
            going = select(ConversationRow).where(ConversationRow.phase == Phase.RUNNING)
            while not (talks := database.read_now(lambda s: s.exec(going).unique().all())):
                await home.live(1)
            talk = talks[0]
            await home.world_runner.command("main", lambda s, one: place_person(s, one, "ken", talk.node_id))
            placed = database.read_now(lambda s: home.room.worlds.open(s, "main")).now
            await home.live(30)
            turns = turns_of(home)[talk.id]
        assert turns[0].is_sketched
        assert [turn.is_sketched for turn in turns] == [turn.at < placed for turn in turns]
        assert not turns[-1].is_sketched

    asyncio.run(work())


def test_the_story_of_sketched_lives_is_the_same_however_it_is_lived(village: Content, tmp_path: Path) -> None:
    """In order with all answers at once; in parallel with answers that take their time, in ticks of any length; and
    with a model that dies again and again.
    """

    async def live(name: str) -> dict[str, list[Any]]:
        rng, directory = random.Random(name), tmp_path / name
        directory.mkdir()
        while True:
            fail_at = rng.randint(5, 40) if name == "stopped" else None
            model = Slow(rehearsal(4), seed=1, longest_seconds=0.0 if name == "in order" else 0.01, fail_at=fail_at)
            at_once = 1 if name == "in order" else 5
            async with house(hamlet(village), directory, model, at_once=at_once, decision="sketch") as home:
                try:
                    now: int = home.room.database.read_now(lambda s: home.room.worlds.open(s, "main")).now
                    while now < village.start + MORNING:
                        ticks = min(village.start + MORNING - now, rng.choice((7, 30, 120)))
                        await home.live(ticks)
                        now += ticks
                except RuntimeError:
                    continue
                return home.story()

    told = {name: asyncio.run(live(name)) for name in ("in order", "in parallel", "stopped")}
    assert any(turn["draft"] for turn in told["in order"]["turns"])
    for part, rows in told["in order"].items():
        assert told["in parallel"][part] == rows, part
        if part != "usage":  # what was asked and lost is asked, and paid for, again
            assert unpaid(told["stopped"][part]) == unpaid(rows), part
