"""Owns the tests of worlds that are wholly apart: whatever happens in one, every query of the other answers as
before.
"""

from typing import Any

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.memory.mind import self_told
from service.memory.recall import recent_memory
from service.people.person import positions
from service.runtime.client_actions import sleep
from service.store.events import events_after
from service.store.idempotency import Once, once
from service.store.usage import usage_rows
from tests.conversation.talks import meet
from tests.runtime.worlds import command, fill, tick
from tests.scripted_model import ScriptedModel


def _answers(room: ConversationDependencies, world_id: str) -> dict[str, Any]:
    def work(session: Session) -> dict[str, Any]:
        world = room.worlds.open(session, world_id)
        recent = recent_memory(session, world, "aoi", "npc_taro")
        return {
            "clock": world.now,
            "where": positions(session, world),
            "attitudes": (recent.attitude, recent.partners),
            "last": recent.last_summary.model_dump() if recent.last_summary else None,
            "mid_term": recent.mid_term,
            "today": [row.model_dump() for row in recent.today],
            "unsettled": [row.model_dump() for row in recent.unsettled],
            "learned": self_told(session, world, "npc_taro")["npc_taro"],
            "events": [row.model_dump() for row in events_after(session, world_id, 0, 999)],
            "usage": [row.model_dump() for row in usage_rows(session, world_id)],
        }

    return room.database.read_now(work)


def test_nothing_of_one_world_shows_in_another(room: ConversationDependencies, script: ScriptedModel) -> None:
    untouched = _answers(room, "third")
    fill(room, script)
    before = _answers(room, "other")
    assert all(before[key] for key in ("where", "last", "mid_term", "today", "learned", "events", "usage"))
    command(room, lambda s, world_session: sleep(s, world_session, "aoi"))
    tick(room, 999)
    room.database.write_now(lambda s: once(s, Once.of("main", "k2", "x", {}), dict))
    meet(room, world_id="main")
    assert _answers(room, "other") == before
    assert _answers(room, "third") == untouched
    assert untouched["events"] == untouched["usage"] == []
