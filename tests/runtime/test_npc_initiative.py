"""Owns the tests of people who speak to players first: why, to whom, how often, and that it is one story."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select

from service.content.load import Content
from service.content.made import Made
from service.content.profile import Secret, TellFrom
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, leave_in_silence, say
from service.conversation.transcript import end
from service.errors import Busy, Invalid
from service.locales import Language
from service.people.attitude import set_affinity
from service.people.worlds import WorldRepository
from service.runtime.made_people import place_person, put_person
from service.runtime.npc_initiative import LEFT_ALONE_MINUTES, open_talks
from service.runtime.world_edits import Observation, observe
from service.runtime.world_session import WorldSession
from service.settings import WorldSettings
from service.store.events import events_after, of_person
from service.store.phase import Audience, EndReason, Phase
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    SummaryRow,
)
from tests.conversation.talks import BESIDE_TARO, engaged, pass_minutes, rows, says, turns
from tests.runtime.carrying import carrying
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal
from tests.runtime.patience import until
from tests.runtime.worlds import command
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import MINUTES_PER_DAY

KEN = Made(id="ken", kind="player", profile='{"name": "Ken"}')
WHAT = "bring you the lantern"
FIRE = "The mill is on fire."
HELLO = "Ken! Do you have the lantern with you?"
AWAY = "quay_west"
MINUTES = 60


@pytest.fixture
def placed(room: ConversationDependencies) -> ConversationDependencies:
    """Ken stands beside Taro, who has no reason to speak to him."""
    command(room, lambda s, one: put_person(s, room.worlds, one, KEN))
    place(room, BESIDE_TARO)
    return room


def place(room: ConversationDependencies, node_id: str | None, **more: Any) -> None:
    """Put Ken there."""
    command(room, lambda s, one: place_person(s, one, "ken", node_id, **more))


def opened(room: ConversationDependencies) -> list[tuple[str, str, str | None]]:
    """Who speaks to whom now, and why; the world is looked at twice, as after a kill."""
    before = {row["id"] for row in rows(room, ConversationRow)}
    for _ in range(2):
        command(room, lambda s, one: open_talks(s, one, room.models.names(), 10))
    found = room.database.read_now(lambda s: s.exec(select(ConversationRow)).unique().all())
    return sorted((row.opener_id, row.partner_id, row.opened_for) for row in found if row.id not in before)


def promises(room: ConversationDependencies, minutes: int = 60, *, by: str = "ken", to: str = "npc_taro") -> None:
    """One of them owes the other something so soon."""

    def work(session: Session) -> None:
        now = room.worlds.open(session, "main").now
        session.add(
            CommitmentRow(
                world_id="main",
                id=f"promise-{by}-{minutes}",
                by_id=by,
                to_id=to,
                what=WHAT,
                due_at=now + minutes,
                has_hour=True,
                conversation_id="earlier",
                turn=0,
                made_at=now,
                expires_at=now + minutes,
            )
        )

    room.database.write_now(work)


def sees_fire(room: ConversationDependencies, *people: str, importance: int = 9, text: str = FIRE) -> None:
    """They see it."""
    seen = Observation(text=text, importance=importance, seen_by=people, minutes=600)
    command(room, lambda s, one: observe(s, room.memory, one, seen))


def likes(room: ConversationDependencies, affinity: int = 80, person_id: str = "npc_taro") -> None:
    """So much it likes Ken."""
    command(room, lambda s, one: set_affinity(s, one.world, person_id, "ken", affinity, f"to_{affinity}"))


def the_talk(room: ConversationDependencies) -> str:
    """The id of the newest conversation."""
    return str(max(rows(room, ConversationRow), key=lambda row: (row["started_at"], row["id"]))["id"])


def told(room: ConversationDependencies) -> list[Any]:
    """What the game is told of Ken."""
    return room.database.read_now(
        lambda s: events_after(s, "main", 0, 99, *of_person("main", "ken"), audience=Audience.PARTICIPANTS)
    )


def test_nobody_speaks_without_a_reason(placed: ConversationDependencies) -> None:
    likes(placed, 40)
    sees_fire(placed, "npc_taro", importance=5)
    promises(placed, 300)
    assert opened(placed) == []


def test_a_promise_comes_before_news_and_news_before_company(placed: ConversationDependencies) -> None:
    likes(placed)
    sees_fire(placed, "npc_taro")
    promises(placed)
    assert opened(placed) == [("npc_taro", "ken", "promise")]
    talk = placed.database.read_now(lambda s: s.get_one(ConversationRow, main(the_talk(placed))))
    assert (talk.awaits, talk.phase, talk.node_id) == (
        None,
        Phase.RUNNING,
        placed.worlds.content.casts["en"].world_map.posts["npc_taro"],
    )
    assert WHAT in str(talk.goal)
    begun = next(one.data for one in told(placed) if one.kind == "conversation.started")
    assert (begun["opened_by"], begun["reason"]) == ("npc_taro", "promise")


def test_news_the_player_has_not_seen_itself(placed: ConversationDependencies) -> None:
    sees_fire(placed, "npc_taro", "ken")
    assert opened(placed) == []
    sees_fire(placed, "npc_taro", text="The bridge is down.")
    assert opened(placed) == [("npc_taro", "ken", "urgent")]


def test_who_is_fond_of_the_player_speaks_to_it_when_it_has_missed_it(placed: ConversationDependencies) -> None:
    likes(placed)
    assert opened(placed) == [("npc_taro", "ken", "affinity")]


@pytest.mark.parametrize("where", [AWAY, None])
def test_who_is_not_there_is_not_spoken_to(placed: ConversationDependencies, where: str | None) -> None:
    promises(placed)
    place(placed, where)
    assert opened(placed) == []


def test_nobody_speaks_to_who_is_busy(placed: ConversationDependencies) -> None:
    promises(placed)
    place(placed, BESIDE_TARO, busy=True)
    assert opened(placed) == []
    place(placed, BESIDE_TARO)
    assert opened(placed) == [], "it stays so until it is said"
    with pytest.raises(Invalid):
        command(placed, lambda s, one: place_person(s, one, "aoi", AWAY, busy=True))
    place(placed, BESIDE_TARO, busy=False)
    assert opened(placed) == [("npc_taro", "ken", "promise")]


def test_one_talk_at_a_time_and_then_it_is_left_alone(placed: ConversationDependencies) -> None:
    promises(placed)
    sees_fire(placed, "npc_hamako")
    assert opened(placed) == [("npc_taro", "ken", "promise")]
    assert opened(placed) == []
    placed.database.write_now(lambda s: end(s, placed.worlds, *main(the_talk(placed)), EndReason.ENDED_BY_CLIENT))
    pass_minutes(placed, LEFT_ALONE_MINUTES - 1)
    assert opened(placed) == []
    pass_minutes(placed, 1)
    assert opened(placed) == [("npc_hamako", "ken", "urgent")]


def test_limits_of_the_day_and_of_one_person(placed: ConversationDependencies) -> None:
    limited = replace(
        placed,
        worlds=WorldRepository(placed.worlds.content, WorldSettings(openings_per_day=2, opening_cooldown_minutes=90)),
    )

    def leave(minutes: int) -> None:
        limited.database.write_now(lambda s: end(s, limited.worlds, *main(the_talk(limited)), EndReason.SILENCE))
        pass_minutes(limited, minutes)

    promises(limited)
    assert opened(limited) == [("npc_taro", "ken", "promise")]
    leave(60)
    sees_fire(limited, "npc_taro")
    assert opened(limited) == [], "he has spoken first an hour ago"
    pass_minutes(limited, 30)
    assert opened(limited) == [("npc_taro", "ken", "urgent")]
    leave(90)
    sees_fire(limited, "npc_taro", text="The bridge is down.")
    assert opened(limited) == [], "twice a day is enough"
    pass_minutes(limited, MINUTES_PER_DAY)
    sees_fire(limited, "npc_taro", text="The well is dry.")
    assert opened(limited) == [("npc_taro", "ken", "urgent")]
    off = replace(placed, worlds=WorldRepository(placed.worlds.content, WorldSettings(openings_per_day=0)))
    leave(MINUTES_PER_DAY)
    sees_fire(limited, "npc_taro", text="The boats are gone.")
    assert opened(off) == []


def test_the_same_is_not_told_twice(placed: ConversationDependencies) -> None:
    sees_fire(placed, "npc_taro")
    assert opened(placed) == [("npc_taro", "ken", "urgent")]
    placed.database.write_now(lambda s: end(s, placed.worlds, *main(the_talk(placed)), EndReason.SILENCE))
    pass_minutes(placed, 300)
    assert opened(placed) == []


def test_an_author_s_secret_is_no_news(placed: ConversationDependencies) -> None:
    profile = placed.worlds.content.casts["en"].npcs["npc_taro"]
    secret = Secret(fact="the mill was set on fire by his brother", tell_from=TellFrom(affinity=90))
    keeps = profile.model_copy(update={"secrets": (secret,)})
    casts = {
        language: replace(cast, npcs={**cast.npcs, "npc_taro": keeps})
        for language, cast in placed.worlds.content.casts.items()
    }
    room = replace(placed, worlds=WorldRepository(replace(placed.worlds.content, casts=casts), placed.worlds.settings))
    sees_fire(room, "npc_taro", text="His brother set the mill on fire.")
    assert opened(room) == []


def test_a_former_process_was_killed_before_the_first_line(
    placed: ConversationDependencies, script: ScriptedModel
) -> None:
    """What the rule has opened stands in the store; whoever finds it speaks the first line, once, about the reason."""
    promises(placed)
    assert len(opened(placed)) == 1
    script.enqueue(says(HELLO))

    async def go_on() -> None:
        async with carrying(placed):
            await until(lambda: bool(turns(placed, the_talk(placed))))

    asyncio.run(go_on())
    assert [(turn.speaker_id, turn.text) for turn in turns(placed, the_talk(placed))] == [("npc_taro", HELLO)]
    asked = script.history[0].messages
    assert f"about what was promised: {WHAT}" in asked[-1].content
    assert "You turn to Ken and speak first." in asked[-1].content
    kinds = [one.kind for one in told(placed)]
    assert kinds == ["conversation.started", "utterance.started", "utterance.completed"]
    said = placed.database.write_now(lambda s: say(s, placed.worlds, main(the_talk(placed)), Words(text="I do.")))
    assert (said.turn, said.speaker_id) == (1, "ken")


def test_who_gets_no_answer_remembers_no_talk(placed: ConversationDependencies, script: ScriptedModel) -> None:
    promises(placed)
    opened(placed)
    speaks(placed, script)
    placed.database.write_now(lambda s: setattr(s.get_one(ConversationRow, main(the_talk(placed))), "silent_at", 1.0))
    assert placed.database.write_now(lambda s: leave_in_silence(s, placed.worlds, main(the_talk(placed))))
    talk = placed.database.read_now(lambda s: s.get_one(ConversationRow, main(the_talk(placed))))
    assert (talk.phase, talk.end_reason, talk.changes) == (Phase.CLOSED, EndReason.SILENCE, None)
    assert not rows(placed, SummaryRow)
    assert not rows(placed, AttitudeChangeRow)
    assert not engaged(placed)
    assert script.unused == 0
    assert len(script.history) == 1, "nothing was to be remembered: no model was asked"
    assert told(placed)[-1].kind == "conversation.ended"


def speaks(room: ConversationDependencies, script: ScriptedModel) -> None:
    """The opener speaks its first line."""
    script.enqueue(says(HELLO))
    assert not asyncio.run(Engine(room).converse(main(the_talk(room))))


def test_a_player_may_go_away_without_an_answer_and_not_with_one(
    placed: ConversationDependencies, script: ScriptedModel
) -> None:
    promises(placed)
    opened(placed)
    speaks(placed, script)
    place(placed, AWAY)
    talk = placed.database.read_now(lambda s: s.get_one(ConversationRow, main(the_talk(placed))))
    assert (talk.phase, talk.end_reason) == (Phase.CLOSED, EndReason.ENDED_BY_CLIENT)
    pass_minutes(placed, 30)
    sees_fire(placed, "npc_hamako")
    place(placed, BESIDE_TARO)
    assert opened(placed) == [("npc_hamako", "ken", "urgent")]
    speaks(placed, script)
    placed.database.write_now(lambda s: say(s, placed.worlds, main(the_talk(placed)), Words(text="Where?")))
    with pytest.raises(Busy):
        place(placed, AWAY)


@pytest.mark.parametrize(("language", "begins"), [("en", f'"{WHAT}"'), ("ja", f"「{WHAT}」")])
def test_without_a_model_too_the_first_line_is_about_the_reason(
    village: Content, tmp_path: Path, language: Language, begins: str
) -> None:
    async def live() -> str:
        async with house(hamlet(village), tmp_path, rehearsal(), language=language) as home:
            await settle_in(home, {"ken": BESIDE_TARO})
            promises(home.room)
            await home.live(1)
            await Engine(home.room).converse(main(the_talk(home.room)))
            return turns(home.room, the_talk(home.room))[0].text

    text = asyncio.run(live())
    assert begins.rstrip('」"。.') in text


async def settle_in(home: House, players: dict[str, str]) -> None:
    """Players who stand there."""

    def join(session: Session, world_session: WorldSession) -> None:
        for player_id in players:
            made = Made(id=player_id, kind="player", profile=f'{{"name": "{player_id}"}}')
            put_person(session, home.room.worlds, world_session, made)

    def stand(session: Session, world_session: WorldSession) -> None:
        for player_id, node_id in players.items():
            place_person(session, world_session, player_id, node_id)

    await home.world_runner.command("main", join)
    await home.world_runner.command("main", stand)


def test_nobody_speaks_first_whose_words_the_budget_has_no_room_for(village: Content, tmp_path: Path) -> None:
    async def live(calls: int, directory: Path) -> int:
        limits = {"max_calls_per_day": calls}
        async with house(hamlet(village), directory, rehearsal(), llm=limits, decision="routine") as home:
            await settle_in(home, {"ken": BESIDE_TARO})
            promises(home.room)
            await home.live(1)
            return len([row for row in rows(home.room, ConversationRow) if row["opened_for"]])

    assert asyncio.run(live(1, tmp_path / "spent")) == 0
    assert asyncio.run(live(100, tmp_path / "enough")) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_who_speaks_first_does_not_hang_on_latencies_ticks_or_stops(
    village: Content, tmp_path: Path, seed: int
) -> None:
    """Five players at places drawn at random, of whom everybody is fond."""
    content = hamlet(village)
    cast = content.casts["en"]
    rng = random.Random(seed)
    nodes = sorted({node for post in cast.world_map.posts.values() for node in cast.world_map.beside(post)})
    homes = sorted({character.home for character in cast.characters.values()})
    players = {f"player-{n}": rng.choice([*nodes, *homes]) for n in range(5)}

    async def live(directory: Path, model: Any, ticks: tuple[int, ...], at_once: int) -> dict[str, list[Any]]:
        left = MINUTES
        while left:
            async with house(content, directory, model, at_once=at_once) as home:
                if left == MINUTES:
                    await settle_in(home, players)

                    def fond(session: Session) -> None:
                        world = home.room.worlds.open(session, "main", lock=True)
                        for owner in (*cast.npcs, *cast.characters):
                            for player_id in players:
                                set_affinity(session, world, owner, player_id, 70, f"to_{player_id}")

                    home.room.database.write_now(fond)
                minutes = min(left, rng.choice(ticks))
                await home.live(minutes)
                left -= minutes
                story = home.story()
        return story

    lockstep = asyncio.run(live(tmp_path / "lockstep", rehearsal(), (MINUTES,), 1))
    slow = Slow(rehearsal(), seed=seed, longest_seconds=0.02)
    parallel = asyncio.run(live(tmp_path / "parallel", slow, (7, 15, 23), 16))
    by_rule = [row for row in lockstep["conversations"] if row["opened_for"]]
    assert by_rule
    for part, told in lockstep.items():
        assert parallel[part] == told, part
