"""Owns the tests of an attitude that is judged before each turn: LoCoMo's relationship reflection."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.moderator import Questions
from service.conversation.why import why_said
from service.errors import ModelServerError
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.memory.closing.context import AttitudeDraft
from service.offline.model import OfflineModel
from service.people.attitude import Attitude, attitude
from service.store.events import events_after
from service.store.phase import EndReason, Phase
from service.store.tables import AttitudeChangeRow, ConversationRow, UsageRow
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    begin_living,
    hold_living,
    meet,
    pass_minutes,
    recollection,
    replies,
    rows,
    says,
    talk,
    turns,
)
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import MINUTES_PER_DAY, WorldTime

PARTS = "(It is time to part: answer what was said, then say goodbye.)"
ORDERS = "Carry my nets down to the pier! I order it, and I have decided it."
ASKS = Questions(
    power="Who ordered whom about, nets and all?",
    intimacy="Did Taro tell of his family?",
    task_oriented="Did Taro want work done?",
)
AWAY = ModelServerError(model="scripted", status_code=500, reason="out of order")
LATEST = WorldTime(2**62)


def stands(power: int = 0, intimacy: int = 0, task_oriented: int = 0) -> AttitudeDraft:
    """The three values, as they are answered."""
    return AttitudeDraft(power=power, intimacy=intimacy, task_oriented=task_oriented)


@pytest.fixture
def room(room: ConversationDependencies) -> ConversationDependencies:
    """The room, in which attitudes are judged before each turn."""
    memory = room.settings.memory.model_copy(update={"attitude": "per_turn"})
    return replace(room, settings=room.settings.model_copy(update={"memory": memory}))


@pytest.fixture
def script(script: ScriptedModel) -> ScriptedModel:
    """A talk of four turns, with how the three that answer stand; then its closing."""
    script.enqueue(says(HELLO), ASKS, stands(1, 0, 2), replies(ORDERS), ASKS, stands(-1, 2), says(THANKS, leaves=True))
    script.enqueue(ASKS, stands(1, 0, 2), replies(FAREWELL, leaves=True))
    return script


def _converse(room: ConversationDependencies, conversation_id: str) -> ConversationRow:
    asyncio.run(Engine(room).converse(main(conversation_id)))
    return talk(room, conversation_id)


def _close(room: ConversationDependencies, conversation_id: str) -> ConversationRow:
    return asyncio.run(close(room, main(conversation_id)))


def _judged(room: ConversationDependencies) -> list[tuple[str, str, tuple[int | None, ...]]]:
    """What was judged, in the order in which it was."""
    found = sorted(rows(room, AttitudeChangeRow), key=lambda row: (row["at"], row["id"]))
    dimensions = ("power", "intimacy", "task_oriented")
    return [(one["owner_id"], one["id"], tuple(one[name] for name in dimensions)) for one in found if not one["met"]]


def _towards(room: ConversationDependencies, owner_id: str, other_id: str, at: WorldTime = LATEST) -> Attitude:
    return room.database.read_now(lambda s: attitude(s, "main", owner_id, other_id, at))


def _asked(script: ScriptedModel, name: str = "attitude") -> list[str]:
    return ["\n".join(one.content for one in prompt.messages) for prompt in script.history if prompt.name == name]


def _counted(room: ConversationDependencies) -> dict[str, tuple[int, int]]:
    return {used["role"]: (used["calls"], used["failures"]) for used in rows(room, UsageRow)}


def test_before_each_turn_but_the_first_two_calls_judge_how_its_speaker_stands_to_the_other(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = meet(room)
    row = _converse(room, conversation_id)
    assert [(prompt.name, prompt.role) for prompt in script.history] == [
        ("speaker", "character"),
        *[("attitude", "npc")] * 2,
        ("speaker", "npc"),
        *[("attitude", "character")] * 2,
        ("speaker", "character"),
        *[("attitude", "npc")] * 2,
        ("speaker", "npc"),
    ]
    assert _judged(room) == [
        ("npc_taro", f"{conversation_id}/0001", (1, 0, 2)),
        ("aoi", f"{conversation_id}/0002", (-1, 2, 0)),
        ("npc_taro", f"{conversation_id}/0003", (1, 0, 2)),
    ]
    assert [turn.note for turn in turns(room, conversation_id)] == [
        "",
        "(By now: With Aoi you mostly lead, and you keep to the point. Let it show.)",
        "(By now: With Taro you are close, and you mostly give way. Let it show.)",
        PARTS,  # of the other one it was told last in these words
    ]
    assert _counted(room) == {"attitude": (6, 0), "character": (2, 0), "npc": (2, 0)}
    assert row.calls == 10
    asked = _asked(script)
    assert "Until now" not in asked[0], "nobody had judged it"
    assert "Until now: power 1 intimacy 0 task_oriented 2" in asked[4]
    assert asked[5].startswith(asked[4]), "the second prompt goes on from the first"
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    reasons = [asyncio.run(why_said(room, world, conversation_id, index)).knew for index in range(4)]
    assert [knew.stance if knew else None for knew in reasons] == [
        "",
        "With Aoi you mostly lead, and you keep to the point.",
        "With Taro you are close, and you mostly give way.",
        "With Aoi you mostly lead, and you keep to the point.",
    ]


def test_the_values_are_carried_into_the_next_talk_which_finds_evidence_for_each_dimension(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first = meet(room)
    _converse(room, first)
    nothing: dict[str, Any] = {"attitude": None, "memories": []}
    script.enqueue(recollection(first=nothing, second={**nothing, "affinity": 8}))
    closed = _close(room, first)
    assert closed.changes is not None
    assert "attitude:" not in _asked(script, "closing")[0], "the closing does not judge it again"
    assert closed.changes["attitude"] == {"power": -1, "intimacy": 2, "task_oriented": 0}
    assert closed.changes["stance"] == "With Taro you are close, and you mostly give way."
    told = room.database.read_now(lambda s: events_after(s, "main", 0, 1000))
    (event,) = [one for one in told if one.kind == "conversation_closed"]
    assert event.data["attitudes"] == {
        "aoi": {"affinity": 0, "power": -1, "intimacy": 2, "task_oriented": 0},
        "npc_taro": {"affinity": 8, "power": 1, "intimacy": 0, "task_oriented": 2},
    }
    pass_minutes(room, MINUTES_PER_DAY)
    script.enqueue(
        says(HELLO), ASKS, stands(2), replies(FAMILY, leaves=True), ASKS, stands(-1, 2), says(THANKS, leaves=True)
    )
    script.history.clear()
    later = meet(room)
    _converse(room, later)
    assert "With Taro you are close, and you mostly give way." in _asked(script, "speaker")[0]
    asked = _asked(script)
    assert "Until now: power -1 intimacy 2 task_oriented 0" in asked[2]
    assert "Remembered, on power: (yesterday morning) " in asked[3]
    assert f"Taro: {ORDERS}" in asked[3]
    assert "Remembered, on task_oriented" not in asked[3]
    assert [turn.note for turn in turns(room, later)][2] == PARTS, "it was told so when they met"
    assert _towards(room, "npc_taro", "aoi").power == 2


@pytest.mark.parametrize("answers", [(AWAY,), (ASKS, AWAY)])
def test_where_a_model_fails_the_turn_is_spoken_with_the_values_of_before(
    room: ConversationDependencies, caplog: pytest.LogCaptureFixture, answers: Sequence[BaseModel | ModelServerError]
) -> None:
    script = ScriptedModel(says(HELLO), ASKS, stands(1), replies(ORDERS), *answers, says(THANKS, leaves=True))
    script.enqueue(*answers, replies(FAREWELL, leaves=True))
    room = replace(room, models=Models(dict.fromkeys(ROLES, script)))
    conversation_id = meet(room)
    row = _converse(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.WANTS_TO_END)
    assert [turn.text for turn in turns(room, conversation_id)] == [HELLO, ORDERS, THANKS, FAREWELL]
    assert _judged(room) == [("npc_taro", f"{conversation_id}/0001", (1, 0, 0))]
    calls, failures = _counted(room)["attitude"]
    assert failures == 2
    assert row.calls == 4 + calls
    assert "goes on without its attitude" in caplog.text


def test_who_goes_on_after_a_stop_asks_nothing_twice(room: ConversationDependencies, script: ScriptedModel) -> None:
    """The process dies while the model speaks: after the attitude was judged, and before the turn is committed."""

    class Killed(Exception):
        pass

    def dies(prompt: Prompt[Any]) -> BaseModel:
        raise Killed

    conversation_id = meet(room)
    stopped = ScriptedModel(says(HELLO), ASKS, stands(1, 0, 2), dies)

    async def run() -> None:
        first = Engine(replace(room, models=Models(dict.fromkeys(ROLES, stopped))))
        with pytest.raises(Killed):
            await first.converse(main(conversation_id))

    asyncio.run(run())
    assert len(turns(room, conversation_id)) == 1
    script = ScriptedModel(replies(ORDERS, leaves=True), ASKS, stands(-1, 2), says(THANKS, leaves=True))
    _converse(replace(room, models=Models(dict.fromkeys(ROLES, script))), conversation_id)
    assert script.unused == 0
    notes = [turn.note for turn in turns(room, conversation_id)]
    assert "With Aoi you mostly lead, and you keep to the point." in notes[1]
    assert [one[:2] for one in _judged(room)] == [
        ("npc_taro", f"{conversation_id}/0001"),
        ("aoi", f"{conversation_id}/0002"),
    ]
    assert _counted(room)["attitude"] == (4, 0)


def test_who_interrupts_a_judgement_pays_for_it(room: ConversationDependencies) -> None:
    asked = asyncio.Event()

    def asks(prompt: Prompt[Any]) -> BaseModel:
        asked.set()
        slow.latency_seconds = 60
        return ASKS

    slow = ScriptedModel(says(HELLO), asks)
    room = replace(room, models=Models(dict.fromkeys(ROLES, slow)))
    conversation_id = meet(room)

    async def run() -> None:
        engine = Engine(room)
        await engine.turn(main(conversation_id), 0, None)
        speaking = asyncio.create_task(engine.turn(main(conversation_id), 1, None))
        await asked.wait()
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking

    asyncio.run(run())
    assert _counted(room) == {"character": (1, 0), "attitude": (1, 1)}


def test_in_the_living_world_it_is_judged_at_the_minute_of_the_turn_whatever_the_clock_shows(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room)

    async def run() -> None:
        engine = Engine(room)
        for index in range(4):
            await engine.turn(main("c1"), index, WorldTime(starts + index))
            pass_minutes(room, 7)  # the clock goes on as fast as it will

    asyncio.run(run())
    assert [(row["at"] - starts, row["owner_id"]) for row in rows(room, AttitudeChangeRow)] == [
        (2, "aoi"),
        (1, "npc_taro"),
        (3, "npc_taro"),
    ]
    assert _towards(room, "aoi", "npc_taro", WorldTime(starts + 1)) == Attitude()
    assert _towards(room, "aoi", "npc_taro", WorldTime(starts + 2)).intimacy == 2


def test_without_a_model_it_is_judged_as_a_closing_does(room: ConversationDependencies) -> None:
    room = replace(room, models=Models(dict.fromkeys(ROLES, OfflineModel())))
    starts = begin_living(room)
    spoken = asyncio.run(hold_living(Engine(room), starts))
    assert [values for *_, values in _judged(room)] == [(0, 0, 0)] * (spoken - 1)
    assert _counted(room)["attitude"] == (2 * (spoken - 1), 0)
