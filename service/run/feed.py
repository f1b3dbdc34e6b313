"""Owns how what happens reads in the feed: one line an event, with its time; a conversation as a block when it is over."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from service.decision.agent_state import Failed
from service.decision.wording import action_name, clock_of, failed_line
from service.locales import Phrase
from service.people.worlds import WorldView
from service.run.show import one_line
from service.run.told import Told
from world.actions import WALK
from world.life import Because
from world.time import WorldTime, clock_label, parse_time


class Feed:
    """The feed of a world. `followed`: of whom it tells; what is nobody's is always told."""

    def __init__(self, world: WorldView, followed: Collection[str]) -> None:
        self._world = world
        self._followed = frozenset(followed)
        self._words: Mapping[str, Callable[[Told], str | None]] = {
            "decided": self._decided,
            "planned": self._planned,
            "departed": self._departed,
            "arrived": lambda told: self._say("run.arrived", told, place=self._place(told.event.data)),
            "activity_started": self._started,
            "activity_ended": self._ended,
            "action_failed": self._failed,
            "slept": lambda told: self._say("run.slept", told, cleared=told.event.data["cleared"]),
            "conversation_started": self._met,
            "conversation_closed": self._remembered,
            "closing_failed": lambda told: self._say(
                "run.closing_failed", told, partner=self._name(told.partner_id), error=told.event.data["error"]
            ),
            "fact_rejected": self._rejected,
            "memory_expired": lambda told: self._say("run.memory_expired", told, **_plain(told.event.data)),
            "announced": lambda told: self._say("run.announced", told, **_plain(told.event.data)),
            "weather": lambda told: self._say("run.weather", told, **_plain(told.event.data)),
        }

    def lines(self, told: Told) -> list[str]:
        """What is to be shown of it; nothing of what says no more than the event before or after it."""
        event = told.event
        at = WorldTime(event.at)
        if event.kind == "day_began":
            return ["", self._world.say("run.day_began", label=clock_label(at, self._world.language))]
        if event.person_id is not None and not self._followed.intersection((event.person_id, told.partner_id)):
            return []
        if event.kind == "conversation_ended":
            return [f"{clock_of(at)}  {line}" if i == 0 else line for i, line in enumerate(self._dialogue(told))]
        words = self._words.get(event.kind)
        text = words(told) if words else self._say("run.other", told, kind=event.kind)
        return [f"{clock_of(at)}  {text}"] if text else []

    def _say(self, key: str, told: Told, /, **values: object) -> str:
        return self._world.say(key, name=self._name(told.event.person_id), **values)

    def _name(self, person_id: str | None) -> str:
        return self._world.say("run.world") if person_id is None else self._world.name_of(person_id)

    def _decided(self, told: Told) -> str | None:
        data = told.event.data
        if data.get("by") in ("routine", "plan", "client"):
            return None  # what it does then is told
        text = self._say("run.decided", told, what=self._what(data))
        if data.get("thought"):
            text += self._world.say("run.thought", thought=one_line(str(data["thought"])))
        if data.get("by") == "fallback":
            text += self._world.say("run.fallback", failure=data.get("failure", ""))
        return text

    def _rejected(self, told: Told) -> str:
        data = _plain(told.event.data)
        reason = Phrase(f"web.reason_{data['reason']}")
        return self._say("run.fact_rejected", told, **{**data, "reason": reason})

    def _planned(self, told: Told) -> str:
        blocks = (f"{block['starts']} {one_line(str(block['activity']))}" for block in told.event.data["blocks"])
        return self._say("run.planned", told, blocks=self._world.say("run.block_joint").join(blocks))

    def _departed(self, told: Told) -> str:
        data = told.event.data
        minutes = parse_time(data["arrives_at"]) - told.event.at
        return self._say("run.departed", told, place=self._world.map.label(data["to_node_id"]), minutes=minutes)

    def _started(self, told: Told) -> str:
        data = told.event.data
        return self._say("run.activity_started", told, what=self._what(data), until=data["until"][-5:])

    def _ended(self, told: Told) -> str | None:
        data = told.event.data
        if data["because"] == Because.DONE or data["action_id"] == WALK:
            return None
        because = Phrase(f"run.because.{data['because']}")
        return self._say("run.activity_ended", told, what=self._what(data), because=because)

    def _failed(self, told: Told) -> str:
        data = told.event.data
        failed = Failed(
            action_id=data["action_id"],
            reason=data["reason"],
            facility_id=data.get("facility_id"),
            target_id=data.get("target_id"),
        )
        return self._say("run.action_failed", told, failed=failed_line(self._world, failed))

    def _met(self, told: Told) -> str:
        data = told.event.data
        return self._say("run.conversation_started", told, partner=self._name(data["npc_id"]), place=self._place(data))

    def _dialogue(self, told: Told) -> list[str]:
        say, talk = self._world.say, told.conversation
        goal = say("run.goal", goal=one_line(talk.goal)) if talk is not None and talk.goal else ""
        head = self._say("run.conversation_ended", told, partner=self._name(told.event.data["npc_id"]), goal=goal)
        turns = [say("run.turn", name=turn.speaker_name, text=one_line(turn.text)) for turn in told.turns]
        reason = say(f"ends.{told.event.data['reason']}")
        if talk is not None and talk.failure is not None:
            reason = f"{reason}: {one_line(str(talk.failure[self._world.language]))}"
        return [head, *turns, say("run.over", reason=reason)]

    def _remembered(self, told: Told) -> str | None:
        found = {row.person_id: row.summary for row in told.summaries}
        summary = found.get(told.event.person_id or "")
        return self._say("run.conversation_closed", told, summary=one_line(summary)) if summary else None

    def _what(self, data: Mapping[str, Any]) -> str:
        name, place = action_name(self._world, data["action_id"]), ""
        facility = self._world.map.facilities.get(data.get("facility_id") or "")
        if data.get("target_id"):
            place = self._name(data["target_id"])
        elif facility is not None:
            place = facility.name
        if not place:
            return name
        return self._world.say("common.aside", what=name, inside=place)

    def _place(self, data: Mapping[str, Any]) -> str:
        node_id = str(data["node_id"])
        return self._world.map.label(node_id) if node_id in self._world.map.nodes else node_id


def _plain(data: Mapping[str, Any]) -> dict[str, str]:
    return {key: one_line(str(value)) for key, value in data.items() if key != "name"}
