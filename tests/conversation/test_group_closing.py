"""What five who talk take away, each what it perceived: tests of the closing of more than two."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, col, select

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.transcript import said_between
from service.locales import Language, languages
from service.memory.authoring import Author, Change, change_memory, memory_id
from service.memory.episodes import overhear
from service.memory.forgetting import forget_everywhere, forget_person
from service.memory.mind import self_told
from service.memory.recall import PersonMemory, recall, recent_memory
from service.memory.record import Group, HeardTurn, Kind
from service.memory.secrets import Discretion
from service.memory.telling import remembered_as
from service.people.attitude import attitudes_of, mood_changes
from service.runtime.world_run import AHEAD_MINUTES
from service.store.perception import LATER_MINUTES
from service.store.phase import Phase
from service.store.tables import (
    CommitmentRow,
    ConversationKey,
    EventRow,
    MemoryRow,
    MoodRow,
    SummaryRow,
)
from tests.conversation.talks import talk
from tests.memory.whispers import (
    FIVE,
    KNOWING,
    NET,
    OTHERS,
    Whisper,
    left_early,
    tells_everybody,
    tells_of_the_net,
    whispered,
)
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import WorldTime

MEMORY: tuple[type[SQLModel], ...] = (SummaryRow, MemoryRow)


def closed(room: ConversationDependencies, script: ScriptedModel, language: Language) -> Whisper:
    told = whispered(room, language)
    script.enqueue(tells_everybody)
    assert asyncio.run(close(room, main("table"))).phase == Phase.CLOSED
    return told


def written_of(room: ConversationDependencies, person_id: str, tables: Iterable[Any] = MEMORY) -> str:
    """All that is stored of what the person remembers."""
    found = room.database.read_now(
        lambda s: [
            row.model_dump() for table in tables for row in s.exec(select(table).where(table.person_id == person_id))
        ]
    )
    promised = select(CommitmentRow).where((col(CommitmentRow.by_id) == person_id) | (CommitmentRow.to_id == person_id))
    return str(found + room.database.read_now(lambda s: [row.model_dump() for row in s.exec(promised)]))


async def asked(room: ConversationDependencies, person_id: str, query: str) -> str:
    """All that the person can be made to remember by that question, of whatever kind."""
    world = await room.database.read(lambda s: room.worlds.open(s, "main"))
    memory = await recall(room.database, room.memory, world, person_id, None, query=query, limit=50)
    group = Group(world_id="main", person_id=person_id)
    found = await room.memory.recall(group, query, at=world.now, kinds=set(Kind), limit=50)
    return str((memory.facts, memory.turns, memory.insights, memory.recent.today, memory.recent.mid_term, found))


@pytest.mark.parametrize("language", languages())
def test_a_whisper_that_two_of_five_know_is_known_to_these_two(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    told = closed(room, script, language)
    for person_id in OTHERS:
        known = written_of(room, person_id) + asyncio.run(asked(room, person_id, told.asked))
        assert not [word for word in told.telling if word in known], person_id
    for person_id in KNOWING:
        assert told.told in written_of(room, person_id)
        assert told.told in asyncio.run(asked(room, person_id, told.asked))


@pytest.mark.parametrize("language", languages())
def test_what_was_done_is_remembered_by_who_saw_it(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    told = closed(room, script, language)
    for person_id in FIVE:
        sees = person_id in ("npc_taro", "npc_hamako")
        known = written_of(room, person_id) + asyncio.run(asked(room, person_id, told.act))
        assert (told.acted in known) is sees, person_id
        turns = [one.turn for one in asyncio.run(items(room, person_id)) if isinstance(one, HeardTurn)]
        assert sorted(turns) == [0, *((1, 2, 3) if person_id in KNOWING else ()), 4, *((5,) if sees else ())]


async def items(room: ConversationDependencies, person_id: str) -> list[Any]:
    world = await room.database.read(lambda s: room.worlds.open(s, "main"))
    return sorted(await room.memory.items(Group(world_id="main", person_id=person_id), world.now), key=memory_id)


async def remembered_of(
    room: ConversationDependencies, person_id: str, partner_id: str | None, query: str, at: WorldTime | None = None
) -> PersonMemory:
    world = await room.database.read(lambda s: room.worlds.open(s, "main"))
    world = world if at is None else world.at(at)
    return await recall(room.database, room.memory, world, person_id, partner_id, query=query, limit=50)


NOTHING_KNOWN: tuple[Any, ...] = ((), (), (), (), {}, [], [])


async def knows(room: ConversationDependencies, person_id: str, at: WorldTime) -> tuple[Any, ...]:
    """What of the talk by the quay the person has at that time."""
    memory = await remembered_of(room, person_id, None, NET, at)

    def work(session: Session) -> tuple[Any, ...]:
        world = room.worlds.open(session, "main").at(at)
        told = [one for one in self_told(session, world, person_id)[person_id] if one.known_from <= at]
        felt = mood_changes(session, world, [person_id], 6)
        return attitudes_of(session, "main", [person_id], at)[person_id], told, felt

    own = await room.database.read(work)
    return memory.facts, memory.turns, memory.recent.today, memory.recent.mid_term, *own


def test_each_keeps_what_it_perceived_of_the_whole(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    rows = room.database.read_now(lambda s: {row.person_id: row for row in s.exec(select(SummaryRow))})
    assert [rows[one].summary for one in OTHERS] == [told.summary] * 3
    assert all(told.lines[2] in rows[one].summary for one in KNOWING)
    assert [rows[one].topics for one in FIVE] == [
        *[["key", "chapel", "boat"]] * 2,
        ["boat"],
        *[["coin", "boat"]] * 2,
    ]
    assert [(rows[one].partner_id, rows[one].others) for one in ("aoi", "npc_taro")] == [
        ("ren", ["mio", "npc_taro", "npc_hamako"]),
        ("npc_hamako", ["aoi", "ren", "mio"]),
    ]


def test_each_likes_each_other_one_by_its_own_number(room: ConversationDependencies, script: ScriptedModel) -> None:
    closed(room, script, "en")
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    towards = room.database.read_now(lambda s: attitudes_of(s, "main", FIVE, world.now))
    assert {one: sorted(of) for one, of in towards.items()} == {one: sorted({*FIVE} - {one}) for one in FIVE}
    assert {(of.affinity, of.times_met) for others in towards.values() for of in others.values()} == {(3, 1)}
    moods = room.database.read_now(lambda s: [row.person_id for row in s.exec(select(MoodRow))])
    assert sorted(moods) == sorted(FIVE)


def test_what_it_changed_is_told_for_each(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    changes = talk(room, "table").changes
    assert changes is not None
    assert list(changes["people"]) == list(FIVE)
    mio = changes["people"]["mio"]
    assert mio["summary"] == told.summary
    assert mio["towards"]["ren"]["affinity"] == {"before": 0, "after": 3}
    reasons = {one["reason"] for one in mio["rejected"]}
    assert reasons == {"not_perceived"}
    assert changes["summary"] == changes["people"]["aoi"]["summary"]
    (event,) = room.database.read_now(
        lambda s: s.exec(select(EventRow).where(EventRow.kind == "conversation_closed")).all()
    )
    assert event.data["towards"]["mio"]["ren"] == {"affinity": 3}


def test_a_talk_of_five_is_one_with_each_of_them(room: ConversationDependencies, script: ScriptedModel) -> None:
    told = closed(room, script, "en")
    for partner_id in FIVE[1:]:
        memory = asyncio.run(remembered_of(room, "aoi", partner_id, told.lines[0]))
        last = memory.recent.last_summary
        assert last is not None
        assert last.conversation_id == "table"
        assert 0 in [one.item.turn for one in memory.turns if isinstance(one.item, HeardTurn)]


def test_what_is_whispered_is_not_told_to_another_who_was_there(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    told = closed(room, script, "en")
    memory = asyncio.run(remembered_of(room, "aoi", "mio", told.asked))
    keeps = Discretion(partner_id="mio", kept=(told.told,))
    kept = keeps.recent(memory.recent)
    assert kept.last_summary is None
    assert kept.today == ()
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    turns = [one.item for one in keeps.known(memory.turns, world)]
    assert not [one for one in turns if told.telling[1] in str(one)]


def test_who_left_before_the_end_knows_of_it_later(room: ConversationDependencies, script: ScriptedModel) -> None:
    """21 minutes after the end: until then all that came of it is as if it had not been."""
    assert LATER_MINUTES > AHEAD_MINUTES
    ended = room.database.write_now(lambda s: left_early(s, room))
    script.enqueue(tells_of_the_net)
    asyncio.run(close(room, main("quay")))
    for person_id, since in (("aoi", ended), ("mio", ended), ("ren", WorldTime(ended + 21))):
        assert asyncio.run(knows(room, person_id, WorldTime(since - 1))) == NOTHING_KNOWN
        assert asyncio.run(knows(room, person_id, since)) != NOTHING_KNOWN
    (promise,) = room.database.read_now(lambda s: s.exec(select(CommitmentRow)).all())
    assert (promise.by_id, promise.to_id, promise.made_at) == ("ren", "aoi", ended + 21)
    turns = [one.turn for one in asyncio.run(items(room, "ren")) if isinstance(one, HeardTurn)]
    assert sorted(turns) == [0, 1]


def test_what_was_overheard_is_found_as_such_from_then_on(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    ended = room.database.write_now(lambda s: left_early(s, room))
    later = WorldTime(ended + 21)
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    room.database.write_now(lambda s: overhear(s, world, main("quay"), "npc_taro", [1, 2], later))
    taro = Group(world_id="main", person_id="npc_taro")

    def found(at: WorldTime) -> list[Any]:
        return [one.item for one in asyncio.run(room.memory.recall(taro, NET, at=at, kinds={Kind.TURN}))]

    assert found(WorldTime(later - 1)) == []
    net, *_ = found(later)
    assert (net.turn, net.text, net.partner_id, net.overheard) == (1, NET, "ren", True)
    assert remembered_as(world.at(later), net, "npc_taro").endswith(f"Overheard: Ren: {NET}")
    author, name = Author(name="mika"), "turn.quay.0001"
    asyncio.run(change_memory(room.database, room.worlds, room.memory, taro, name, Change(text="A rope?"), author))
    assert [one.text for one in asyncio.run(items(room, "npc_taro"))][:1] == ["A rope?"]
    asyncio.run(change_memory(room.database, room.worlds, room.memory, taro, name, None, author))
    assert [one.turn for one in asyncio.run(items(room, "npc_taro"))] == [2]


def test_a_talk_that_only_somebody_overheard_is_kept_for_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    ended = room.database.write_now(lambda s: left_early(s, room))
    script.enqueue(tells_of_the_net)
    asyncio.run(close(room, main("quay")))
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    room.database.write_now(lambda s: overhear(s, world, main("quay"), "npc_taro", [1], ended))
    for person_id in ("aoi", "mio", "ren"):
        room.database.write_now(partial(forget_person, memory=room.memory, world=world, person_id=person_id))
    assert [one.text for one in asyncio.run(items(room, "npc_taro"))] == [NET]


def test_who_is_forgotten_by_all_is_forgotten_with_the_talks_of_more_than_two(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    ended = room.database.write_now(lambda s: left_early(s, room))
    script.enqueue(tells_of_the_net)
    asyncio.run(close(room, main("quay")))
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    room.database.write_now(lambda s: overhear(s, world, main("quay"), "npc_taro", [1, 2], ended))
    assert all(asyncio.run(items(room, one)) for one in ("aoi", "mio", "npc_taro"))
    room.database.write_now(lambda s: forget_everywhere(s, room.memory, world, "ren", {}))
    assert not any(asyncio.run(items(room, one)) for one in ("aoi", "mio", "npc_taro"))


def test_who_left_early_is_reminded_of_the_words_until_it_remembers_the_talk(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    ended = room.database.write_now(lambda s: left_early(s, room))

    def reminded(minutes: int) -> list[str]:
        def work(session: Session) -> list[str]:
            world = room.worlds.open(session, "main").at(WorldTime(ended + minutes))
            return [turn.text for turn in recent_memory(session, world, "ren", "mio").unsettled]

        return room.database.read_now(work)

    heard = ["Will you bring the net tomorrow?", NET]
    assert [reminded(minutes) for minutes in (0, LATER_MINUTES - 1)] == [heard, heard]
    script.enqueue(tells_of_the_net)
    asyncio.run(close(room, ConversationKey("main", "quay")))
    assert [reminded(minutes) for minutes in (0, LATER_MINUTES - 1, LATER_MINUTES)] == [heard, heard, []]


def test_what_two_heard_together_is_known_to_both_wherever_one_of_them_went(room: ConversationDependencies) -> None:
    now = room.database.write_now(lambda s: left_early(s, room))

    def between(*people: str, besides: str = "") -> list[str]:
        def work(session: Session) -> list[str]:
            world = room.worlds.open(session, "main").at(now)
            return [turn.text for turn in said_between(session, world, *people, besides=besides)]

        return room.database.read_now(work)

    said = ["Will you bring the net tomorrow?", NET, "He is gone. I have painted my boat green."]
    assert between("aoi", "ren") == between("mio", "ren") == said[:2]
    assert between("aoi", "mio") == said
    assert between("aoi", "mio", besides="quay") == []
