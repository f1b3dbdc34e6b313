"""Owns the words and steps the tests of conversations share: what speakers answer, who stands where, a talk begun."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlmodel import Session, SQLModel, col, select

from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import Goal
from service.conversation.start import Start, start, start_talk
from service.conversation.turn_taking import leave_silent
from service.llm.choose import ROLES, Models
from service.llm.wrappers import Budgeted
from service.memory.closing.context import ClosingAnswer
from service.memory.recall import todays_summaries
from service.people.person import move
from service.settings import LlmSettings
from service.store.budget import DailyBudget, utc_now
from service.store.phase import Audience
from service.store.tables import ConversationRow, EventRow, ParticipantRow, PersonRow, SummaryRow, TurnRow, WorldRow
from tests.memory.answers import NOTHING, Fields, closing, memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import conversation_row, main
from world.life import Segment, TalkState
from world.time import MINUTES_PER_DAY, WorldTime

GOAL = Goal(goal="Ask Taro about his family", success_criteria="Taro tells who is in his family")

HELLO = "Hello, I am sorry to bother you. May I ask about your family?"
FAMILY = "I have a wife, Harue, and two children called Mio and Riku."
THANKS = "How lovely, thank you for telling me about all of them."
FAREWELL = "Any time at all. Mind the step on your way out."

BESIDE_TARO = "tavern_door"
"""Next to Taro's bench and to Hamako's counter."""

AHEAD = 2 * MINUTES_PER_DAY + 3 * 60
"""Minutes that a talk of the living world is ahead of the world's clock."""


def limited(
    room: ConversationDependencies, script: ScriptedModel, *, now: Callable[[], datetime] = utc_now, **limits: int
) -> ConversationDependencies:
    """The same room under a budget of those settings; `now` is the machine's clock."""
    budget = DailyBudget(room.database, LlmSettings(**limits), now=now)
    return replace(room, models=Models(dict.fromkeys(ROLES, Budgeted(script, budget))), budget=budget)


def says(text: str, *, achieved: bool = False, leaves: bool = False) -> CharacterTurn:
    """A character's answer."""
    return CharacterTurn(utterance=text, emotion="neutral", goal_achieved=achieved, wants_to_end=leaves)


def replies(text: str, *, leaves: bool = False) -> NpcTurn:
    """An NPC's answer."""
    return NpcTurn(utterance=text, emotion="happy", wants_to_end=leaves)


def opens(text: str, goal: Goal = GOAL) -> OpeningTurn:
    """A character's answer when it sets its goal itself."""
    return OpeningTurn(
        goal=goal.goal, success_criteria=goal.success_criteria, utterance=text, emotion="neutral", wants_to_end=False
    )


FAMILY_TOLD = "Aoi asked Taro about his family; he has a wife and two children."
BOAT_TOLD = "Mio told Aoi of her boat, and Aoi told Mio of a photograph."


def recollection(
    *, summary: str = FAMILY_TOLD, first: Fields = NOTHING, second: Fields = NOTHING, **given: Any
) -> ClosingAnswer:
    """What the closing answers about the talk of `talk_of_family`: Aoi began it, Taro is the second."""
    aoi = {
        "memories": [
            memory("Taro has two children called Mio and Riku.", 1, about="b"),
            memory("Aoi is to bring a present for the children Mio and Riku.", 1, lasts="medium"),
        ],
        "intimacy": 2,
    }
    taro = {"affinity": 8, "mood": "happy", "memories": [memory("Taro calls his children Mio and Riku.", 1, about="b")]}
    return closing(summary, topics=("family",), first={**aoi, **first}, second={**taro, **second}, **given)


def pair_recollection(*, first: Fields = NOTHING, second: Fields = NOTHING) -> ClosingAnswer:
    """What the closing answers about a talk in which Aoi heard of Mio's boat, and Mio of Aoi's photograph."""
    aoi = {
        "affinity": 5,
        "memories": [
            memory("Mio has painted her boat green.", 1, about="b"),
            memory("Aoi is to help Mio to paint the boat.", 1, lasts="high"),
        ],
        "intimacy": 2,
    }
    mio = {
        "affinity": 9,
        "memories": [
            memory("Aoi keeps a photograph of a tower.", 2, about="a"),
            memory("Mio is to look at the photograph of the tower.", 2, lasts="low"),
        ],
        "intimacy": 1,
    }
    return closing(BOAT_TOLD, topics=("boat",), first={**aoi, **first}, second={**mio, **second})


def talk_of_family() -> tuple[CharacterTurn | NpcTurn | ClosingAnswer, ...]:
    """A whole talk with a given goal, its farewell and its closing."""
    return says(HELLO), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL), recollection()


def place(
    room: ConversationDependencies, character_id: str = "aoi", node_id: str = BESIDE_TARO, world_id: str = "main"
) -> None:
    """Put a character on a node, now."""

    def work(session: Session) -> None:
        world = room.worlds.open(session, world_id, lock=True)
        move(session, world, character_id, Segment.stay(node_id, world.now))

    room.database.write_now(work)


def send(room: ConversationDependencies, character_id: str, node_id: str) -> None:
    """Send a character to a node, from now on."""

    def work(session: Session) -> None:
        world = room.worlds.open(session, "main", lock=True)
        path = world.setting.routes.path(world.cast.character(character_id).home, node_id)
        move(session, world, character_id, Segment.walk(path, world.now))

    room.database.write_now(work)


def pass_minutes(room: ConversationDependencies, minutes: int) -> None:
    """Let the world's clock go on."""

    def work(session: Session) -> None:
        room.worlds.open(session, "main", lock=True)
        row = session.get_one(WorldRow, "main")
        row.now = WorldTime(row.now + minutes)
        leave_silent(session, "main", WorldTime(row.now))

    room.database.write_now(work)


def sleeps(room: ConversationDependencies, character_id: str) -> None:
    """A night passes for a character; only what counts its nights is written."""

    def work(session: Session) -> None:
        row = session.get(PersonRow, ("main", character_id)) or PersonRow(world_id="main", person_id=character_id)
        row.sleeps += 1
        session.add(row)

    room.database.write_now(work)


def remember_talk(
    session: Session,
    person_id: str,
    partner_id: str,
    summary: str,
    at: int,
    *,
    conversation_id: str = "old",
    night: int = 0,
) -> None:
    """A conversation that is closed, and what the person remembers of it as a whole."""
    row = conversation_row(
        id=conversation_id,
        world_id="main",
        character_id=person_id,
        npc_id=partner_id,
        node_id=BESIDE_TARO,
        language="en",
        max_turns=10,
        phase="closed",
        started_at=at,
        ended_at=at,
        closed_at=at,
        models={},
    )
    session.add(row)
    session.flush()
    remembered = SummaryRow(
        conversation_id=conversation_id,
        person_id=person_id,
        world_id="main",
        partner_id=partner_id,
        summary=summary,
        topics=[],
        at=at,
        night=night,
        revision=0,
    )
    session.add(remembered)


def begin(
    room: ConversationDependencies,
    *,
    character_id: str = "aoi",
    npc_id: str = "npc_taro",
    goal: Goal | None = GOAL,
    max_turns: int = 10,
    world_id: str = "main",
) -> str:
    """Start a conversation where the character stands; the answer is its id."""
    wanted = Start(opener_id=character_id, partner_id=npc_id, goal=goal, max_turns=max_turns)
    names = room.models.names()
    row = room.database.write_now(lambda s: start(s, room.worlds.open(s, world_id, lock=True), wanted, names))
    return row.id


def begin_living(
    room: ConversationDependencies,
    conversation_id: str = "c1",
    *,
    ahead: int = AHEAD,
    partner_id: str = "npc_taro",
    goal: Goal | None = GOAL,
    max_turns: int = 10,
) -> WorldTime:
    """A talk of Aoi's begins `ahead` minutes after what the clock shows; the answer is when."""

    def work(session: Session) -> WorldTime:
        world = room.worlds.open(session, "main", lock=True)
        starts = WorldTime(world.now + ahead)
        held = TalkState(
            id=f"aoi@{starts}",
            start=starts,
            shortest=3,
            person_id="aoi",
            partner_id=partner_id,
            with_npc=partner_id.startswith("npc_"),
        )
        wanted = Start(
            opener_id="aoi",
            partner_id=partner_id,
            goal=goal,
            max_turns=max_turns,
            conversation_id=conversation_id,
        )
        start_talk(session, world.at(starts), held, wanted, BESIDE_TARO, room.models.names())
        return starts

    return room.database.write_now(work)


async def hold_living(engine: Engine, starts: WorldTime, conversation_id: str = "c1", *, index: int = 0) -> int:
    """Ask for turn after turn, as the clock's driver does; the answer is how many were asked for."""
    while not (await engine.turn(main(conversation_id), index, WorldTime(starts + index))).is_over:
        index += 1
    return index + 1


def meet(
    room: ConversationDependencies,
    *,
    character_id: str = "aoi",
    npc_id: str = "npc_taro",
    goal: Goal | None = GOAL,
    max_turns: int = 10,
    world_id: str = "main",
) -> str:
    """Walk up to Taro (or Hamako) and start a conversation; the answer is its id."""
    place(room, character_id, world_id=world_id)
    return begin(room, character_id=character_id, npc_id=npc_id, goal=goal, max_turns=max_turns, world_id=world_id)


def talk(room: ConversationDependencies, conversation_id: str, *, world_id: str = "main") -> ConversationRow:
    """The conversation as the database has it."""
    return room.database.read_now(lambda s: s.get_one(ConversationRow, (world_id, conversation_id)))


def turns(room: ConversationDependencies, conversation_id: str) -> list[TurnRow]:
    """Its committed turns in order."""
    query = select(TurnRow).where(TurnRow.conversation_id == conversation_id).order_by(col(TurnRow.turn))
    return room.database.read_now(lambda s: list(s.exec(query)))


def todays(room: ConversationDependencies, person_id: str) -> list[str]:
    """The conversations of the day the person lives."""
    return room.database.read_now(
        lambda s: [row.conversation_id for row in todays_summaries(s, room.worlds.open(s, "main"), person_id)]
    )


def rows(room: ConversationDependencies, table: type[SQLModel]) -> list[dict[str, Any]]:
    """All rows of a table, in the order of their keys."""
    return room.database.read_now(lambda s: dump(s, table))


def events_told_to(room: ConversationDependencies, audience: Audience) -> list[dict[str, Any]]:
    """All events that this audience is told, as rows."""
    return [row for row in rows(room, EventRow) if row["audience"] == audience]


def engaged(room: ConversationDependencies) -> list[tuple[str, str]]:
    """Who talks now, and in which conversation."""
    return sorted((row["person_id"], row["conversation_id"]) for row in rows(room, ParticipantRow) if row["engaged"])


def dump(session: Session, table: type[SQLModel]) -> list[dict[str, Any]]:
    """All rows of a table as values, in the order of their keys."""
    keys = list(table.__table__.primary_key)  # type: ignore[attr-defined]  # SQLModel hides it
    return [row.model_dump() for row in session.exec(select(table).order_by(*keys)).unique()]
