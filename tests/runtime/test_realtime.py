"""The clock that does not wait: it passes while models think, and nothing that has become impossible happens."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, col, select

from service.content.load import Content
from service.conversation.prompt import PromptContext
from service.decision.context import Decision, DecisionContext
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.runtime.client_actions import take_control
from service.runtime.pace import still_possible
from service.runtime.world_edits import amend
from service.runtime.world_session import WorldSession
from service.store.perception import is_there
from service.store.phase import Audience
from service.store.tables import ConversationRow, EventRow, TurnRow, UsageRow, WorldRow
from tests.runtime.lives import HAMLET, House, Slow, hamlet, rehearsal
from tests.runtime.lives import house as any_house
from tests.runtime.patience import PATIENCE_SECONDS
from world.actions import HOLD, TALK, Option
from world.life import LifeState
from world.time import WorldTime

pytestmark = pytest.mark.anyio

ALL = 4
"""Characters of the hamlet, and calls at once."""
AT_THE_MARKET = "fish_market"
CLOSES_IN = 2 * 60
"""Minutes from the beginning until the market does."""


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters."""
    return hamlet(village)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Pensive:
    """The rehearsal, whose decisions take until they are `released`. Nagi wants to go to the market, while it can."""

    def __init__(self) -> None:
        self._inner = rehearsal()
        self._may_answer = asyncio.Event()
        self.asked: list[str] = []
        self.calls = 0

    @property
    def name(self) -> str:
        return self._inner.name

    def release(self) -> None:
        self._may_answer.set()

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        answer = await self._inner.complete(prompt, on_text)
        self.calls += prompt.role == "decision"
        if not isinstance(prompt.given, DecisionContext):
            return answer
        self.asked.append(prompt.given.speaker.id)
        await self._may_answer.wait()
        market = [offer for offer in prompt.given.offers if offer.option.facility_id == AT_THE_MARKET]
        if prompt.given.speaker.id == "nagi" and market:
            choice = Decision(thought="Fish!", choice=market[0].number, target="", goal="", success_criteria="")
            return replace(answer, value=prompt.answer.model_validate(choice.model_dump()))
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


def clock(home: House) -> int:
    return home.room.database.read_now(lambda s: s.get_one(WorldRow, "main")).now


def events(home: House, **where: Any) -> list[EventRow]:
    def read(session: Session) -> list[EventRow]:
        return list(
            session.exec(select(EventRow).filter_by(audience=Audience.WORLD, **where).order_by(col(EventRow.id)))
        )

    return home.room.database.read_now(read)


async def world_session(home: House) -> WorldSession:
    return await home.world_runner.command("main", lambda _, world_session: world_session)


async def pass_ticks(home: House, ticks: int) -> None:
    """What the clock does at pace realtime."""
    actor = home.world_runner.world("main")
    await actor.ask(partial(actor.pass_ticks, ticks))


async def pass_until(home: House, done: Callable[[], bool], ticks: int = 1) -> None:
    """Let the clock pass, and answers come, until it is so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not done():
            await pass_ticks(home, ticks)
            await asyncio.sleep(0.005)


async def asked(model: Pensive, calls: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(model.asked) < calls:  # noqa: ASYNC110 - the model is asked in its own time
            await asyncio.sleep(0.005)


@asynccontextmanager
async def house(content: Content, directory: Path, model: ChatModel) -> AsyncIterator[House]:
    """A house whose world has begun."""
    async with any_house(content, directory, model) as home:
        await world_session(home)
        yield home


async def test_the_clock_passes_while_everybody_thinks(village: Content, tmp_path: Path) -> None:
    model = Pensive()
    async with house(village, tmp_path, model) as home:
        for _ in range(5):
            await pass_ticks(home, 20)
        await asked(model, ALL)
        for _ in range(5):
            await pass_ticks(home, 1)
        assert clock(home) == village.start + 105
        assert sorted(model.asked) == sorted(village.cast("en").characters)
        people = (await world_session(home)).core.people.values()
        assert {(person.last.action_id, person.ready) for person in people} == {(HOLD, village.start + 105)}
        told = {event.kind for event in events(home)}
        assert told == {"activity_ended"}
        assert len(events(home)) == ALL
        model.release()
        await pass_until(home, lambda: len(events(home, kind="decided")) >= ALL)
        assert min(event.at for event in events(home, kind="decided")) >= village.start + 105
        assert {event.data["by"] for event in events(home, kind="decided")} == {"model"}


async def test_what_is_no_longer_possible_does_not_happen_and_is_asked_again(village: Content, tmp_path: Path) -> None:
    model = Pensive()
    async with house(village, tmp_path, model) as home:
        await pass_ticks(home, 1)
        await asked(model, ALL)
        await pass_ticks(home, CLOSES_IN)
        model.release()
        await pass_until(home, lambda: bool(events(home, kind="decided", person_id="nagi")))
        assert model.asked.count("nagi") == 2
        assert events(home, kind="decided", person_id="nagi")[0].data.get("facility_id") != AT_THE_MARKET
        assert not [e for e in events(home, kind="decided") if e.data.get("facility_id") == AT_THE_MARKET]
        usage = home.room.database.read_now(lambda s: s.exec(select(UsageRow).filter_by(role="decision")).one())
        assert usage.calls == model.calls  # what was void is counted as well


async def test_what_is_still_possible_happens_when_its_answer_comes(village: Content, tmp_path: Path) -> None:
    model = Pensive()
    async with house(village, tmp_path, model) as home:
        await pass_ticks(home, 1)
        await asked(model, ALL)
        await pass_ticks(home, 30)
        model.release()
        await pass_until(home, lambda: bool(events(home, kind="decided", person_id="nagi")))
        decided = events(home, kind="decided", person_id="nagi")[0]
        assert (decided.data["facility_id"], decided.data["thought"]) == (AT_THE_MARKET, "Fish!")
        assert decided.at >= village.start + 31
        assert model.asked.count("nagi") == 1


async def test_whoever_was_taken_in_hand_while_it_thought_does_not_do_what_it_thought(
    village: Content, tmp_path: Path
) -> None:
    model = Pensive()
    async with house(village, tmp_path, model) as home:
        await pass_ticks(home, 10)
        await asked(model, ALL)
        await home.world_runner.command("main", lambda s, world_session: take_control(s, world_session, "nagi"))
        model.release()
        await pass_until(home, lambda: len(events(home, kind="decided")) >= ALL - 1)
        assert not events(home, kind="decided", person_id="nagi")
        person = (await world_session(home)).core.people["nagi"]
        assert person.last.action_id == HOLD
        assert person.ready > clock(home) + 1


async def test_whoever_was_moved_while_it_thought_thinks_anew(village: Content, tmp_path: Path) -> None:
    model = Pensive()
    async with house(village, tmp_path, model) as home:
        await pass_ticks(home, 10)
        await asked(model, ALL)
        await home.world_runner.command(
            "main", lambda s, world_session: amend(s, world_session, "nagi", node_id="shrine_court")
        )
        model.release()
        await pass_until(home, lambda: bool(events(home, kind="decided", person_id="nagi")))
        assert model.asked.count("nagi") == 2
        assert len(model.asked) == ALL + 1


async def test_a_day_without_waiting_is_lived_by_everybody_once(village: Content, tmp_path: Path) -> None:
    """Nobody is at two places or in two talks, talks have all their turns, and the log is in order."""
    rng = random.Random(1)
    async with house(village, tmp_path, Slow(rehearsal(), seed=1, longest_seconds=0.02)) as home:
        until = village.start + 3 * 60
        while clock(home) < until:
            await pass_ticks(home, rng.choice((1, 1, 2, 5, 12)))
            await asyncio.sleep(0.01)
            for person in (await world_session(home)).core.people.values():
                assert person.ready >= clock(home)
                assert all(earlier.end == later.start for earlier, later in pairwise(person.past))
        await finish_talks(home)
        told = [event.at for event in events(home)]
        assert told == sorted(told)
        assert not [e for e in events(home) if e.data.get("action_id") == HOLD]
        check_talks(home)


async def test_a_stop_in_the_middle_goes_on(village: Content, tmp_path: Path) -> None:
    stops = 0
    while stops < 3:
        async with house(village, tmp_path, Slow(rehearsal(), seed=stops, longest_seconds=0.05)) as home:
            until = village.start + (stops + 1) * 60
            await pass_until(home, lambda: clock(home) >= until, 3)  # noqa: B023 - called here
        stops += 1
    async with house(village, tmp_path, rehearsal()) as home:
        await finish_talks(home)
        told = [event.at for event in events(home)]
        assert told == sorted(told)
        check_talks(home)


async def test_a_clock_that_waits_again_goes_on_exactly(village: Content, tmp_path: Path) -> None:
    """What was asked is asked again, and the world comes to the very minute it was told to."""
    async with house(village, tmp_path, Slow(rehearsal(), seed=1, longest_seconds=0.05)) as home:
        await pass_until(home, lambda: clock(home) >= village.start + 60, 3)
        before = clock(home)
        await home.live(60)
        assert clock(home) == before + 60
        assert all(event.data["by"] in ("model", "plan") for event in events(home, kind="decided"))
        people = (await world_session(home)).core.people.values()
        assert not [person.id for person in people if person.last.action_id == HOLD]
        assert not [p.id for p in people if p.state is not LifeState.TALKS and p.ready < clock(home)]
        told = [event.at for event in events(home)]
        assert told == sorted(told)
        check_talks(home)


async def test_a_wait_stays_possible_and_a_meal_does_not_outlast_the_place(village: Content, tmp_path: Path) -> None:
    async with house(village, tmp_path, rehearsal()) as home:
        core = (await world_session(home)).core
        snapshot = core.perceive("nagi")
        wait = Option(action_id="wait", node_id=snapshot.node_id, minutes=7)
        assert still_possible(core.setting, snapshot, wait) == wait
        work = Option(action_id="work", node_id="market_hall", minutes=60, facility_id=AT_THE_MARKET)
        now = still_possible(core.setting, snapshot, work)
        assert now is not None
        assert (now.minutes, now.walk_minutes > 0) == (60, True)
        late = replace(snapshot, time=WorldTime(snapshot.time + CLOSES_IN - now.walk_minutes - 20))
        shorter = still_possible(core.setting, late, work)
        assert shorter is not None
        assert shorter.minutes == 20
        assert still_possible(core.setting, replace(late, time=WorldTime(late.time + 21)), work) is None


async def finish_talks(home: House) -> None:
    """Until every talk of now is remembered."""

    def open_talks(session: Session) -> list[str]:
        phases = ("running", "closing")
        return list(session.exec(select(ConversationRow.id).where(col(ConversationRow.phase).in_(phases))))

    late = set(home.room.database.read_now(open_talks))
    await pass_until(home, lambda: not late & set(home.room.database.read_now(open_talks)))


def check_talks(home: House) -> None:
    """Turns are said one after the other; who talks is in one talk at a time, from when it joins until it leaves."""

    def read(session: Session) -> tuple[list[ConversationRow], list[TurnRow]]:
        turns = session.exec(select(TurnRow).order_by(col(TurnRow.conversation_id), col(TurnRow.turn)))
        return list(session.exec(select(ConversationRow)).unique()), list(turns)

    talks, turns = home.room.database.read_now(read)
    said = defaultdict(list)
    for turn in turns:
        said[turn.conversation_id].append(turn)
    spans = defaultdict(list)
    for talk in talks:
        for one in talk.participants:
            heard = [turn.at for turn in said[talk.id] if is_there(one, turn.turn)]
            began = heard[0] if one.joined_turn and heard else talk.started_at
            spans[one.person_id].append((began, talk.ended_at if one.left_turn is None else heard[-1]))
        if talk.ended_at is None:
            continue
        assert talk.end_reason in ("goal_achieved", "turn_limit", "wants_to_end"), talk
        assert [turn.turn for turn in said[talk.id]] == list(range(len(said[talk.id])))
        times = [turn.at for turn in said[talk.id]]
        assert times
        assert times == sorted(times)
        assert talk.started_at <= times[0] <= times[-1] <= talk.ended_at
    assert any(talk.phase == "closed" for talk in talks)
    for person_id, lived in spans.items():
        for (_, ended), (began, _) in pairwise(sorted(lived, key=lambda span: span[0])):
            assert ended is not None, person_id
            assert ended <= began, person_id


class Sociable(Pensive):
    """The rehearsal: Nagi goes where others talk and joins them, and nobody ends a sentence until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[PromptContext] = []

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        answer = await self._inner.complete(prompt, on_text)
        if isinstance(prompt.given, PromptContext):
            self.said.append(prompt.given)
            await self._may_answer.wait()
        if isinstance(prompt.given, DecisionContext):
            talks = [offer for offer in prompt.given.offers if offer.option.action_id == TALK]
            talks.sort(key=lambda offer: (offer.option.talk_id is None, offer.option.target_id not in HAMLET))
            if talks:
                own = {"thought": "Company!", "choice": talks[0].number, "target": talks[0].option.target_id or ""}
                chosen = Decision(**own, goal="Hear the news", success_criteria="There is some")
                return replace(answer, value=prompt.answer.model_validate(chosen.model_dump()))
        return answer


async def test_who_joins_while_somebody_speaks_is_known_to_who_speaks(village: Content, tmp_path: Path) -> None:
    model = Sociable()
    async with house(village, tmp_path, model) as home:
        for one in HAMLET:
            move = partial(amend, character_id=one, node_id="yu_square")
            await home.world_runner.command("main", move)
        await pass_until(home, lambda: bool(events(home, kind="conversation_joined")))
        joined = events(home, kind="conversation_joined")[0]
        name = village.cast("en").characters[joined.person_id or ""].name
        with_it = [given for given in model.said if name in given.company]
        await pass_until(home, lambda: any(name in given.company for given in model.said[len(with_it) :]))
        model.release()
