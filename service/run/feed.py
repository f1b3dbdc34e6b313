"""Owns how what happens reads in the feed: one line an event, with its time; a conversation as a block when it is
over.
"""

from collections.abc import Collection

from service.decision.descriptions import action_name, clock_of, failed_line
from service.locales import Listed, Phrase
from service.locales.time import clock_label
from service.people.worlds import WorldView
from service.run.show import one_line
from service.run.story_events import StoryEvent
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Announced,
    Arrived,
    ClosingFailed,
    CommitmentBroken,
    CommitmentDue,
    CommitmentKept,
    CommitmentMade,
    CommitmentMoved,
    CommitmentReleased,
    ConversationClosed,
    ConversationEnded,
    ConversationJoined,
    ConversationLeft,
    ConversationStarted,
    DayBegan,
    Decided,
    Departed,
    FactRejected,
    MemoryExpired,
    Observed,
    Payload,
    Planned,
    Reflected,
    Slept,
    WeatherSet,
)
from world.actions import WALK
from world.life import Because
from world.option import Refusal
from world.time import WorldTime, parse_time


class Feed:
    """The feed of a world. `followed`: the persons it tells of; events that are nobody's are always told."""

    def __init__(self, world: WorldView, followed: Collection[str]) -> None:
        self._world = world
        self._followed = frozenset(followed)

    def lines(self, happened: StoryEvent) -> list[str]:
        """The lines that show an event; none where the event before or after it says as much."""
        event, payload = happened.event, happened.payload
        at = WorldTime(event.at)
        if isinstance(payload, DayBegan):
            return ["", self._world.say("run.day_began", label=clock_label(at, self._world.language))]
        if event.person_id is not None and not self._followed.intersection((event.person_id, happened.partner_id)):
            return []
        if isinstance(payload, ConversationEnded):
            lines = self._dialogue(happened, payload)
            return [f"{clock_of(at)}  {line}" if i == 0 else line for i, line in enumerate(lines)]
        text = self._line(happened, payload)
        return [f"{clock_of(at)}  {text}"] if text else []

    def _line(self, happened: StoryEvent, payload: Payload) -> str | None:
        match payload:
            case Decided():
                return self._decided(happened, payload)
            case Departed():
                minutes = parse_time(payload.arrives_at) - happened.event.at
                return self._say("run.departed", happened, place=self._place(payload.to_node_id), minutes=minutes)
            case Arrived():
                return self._say("run.arrived", happened, place=self._place(payload.node_id))
            case ActivityStarted():
                return self._say("run.activity_started", happened, what=self._what(payload), until=payload.until[-5:])
            case ActivityEnded():
                return self._ended(happened, payload)
            case ActionFailed():
                return self._failed(happened, payload)
            case Planned():
                return self._planned(happened, payload)
            case ConversationStarted():
                partner, place = self._name(payload.partner_id), self._place(payload.node_id)
                return self._say("run.conversation_started", happened, partner=partner, place=place)
            case ConversationJoined():
                return self._say("run.conversation_joined", happened, people=self._table(happened))
            case ConversationLeft():
                return self._say("run.conversation_left", happened)
            case ConversationClosed():
                return self._remembered(happened)
            case ClosingFailed():
                partner = self._name(payload.partner_id)
                return self._say("run.closing_failed", happened, partner=partner, error=payload.error)
            case FactRejected():
                return self._rejected(happened, payload)
            case (
                CommitmentMade()
                | CommitmentDue()
                | CommitmentKept()
                | CommitmentBroken()
                | CommitmentMoved()
                | CommitmentReleased()
            ):
                other, what = self._name(payload.to_id), one_line(payload.what)
                return self._say(f"run.{payload.kind}", happened, other=other, what=what)
            case Reflected():
                return self._reflected(happened, payload)
            case Observed():
                return self._say("run.observed", happened, text=one_line(payload.text))
            case Slept() | MemoryExpired() | Announced() | WeatherSet():
                return self._say(f"run.{payload.kind}", happened, **_plain(payload))
        return self._say("run.other", happened, kind=payload.kind)

    def _say(self, key: str, happened: StoryEvent, /, **values: object) -> str:
        return self._world.say(key, name=self._name(happened.event.person_id), **values)

    def _name(self, person_id: str | None) -> str:
        return self._world.say("run.world") if person_id is None else self._world.name_of(person_id)

    def _decided(self, happened: StoryEvent, decided: Decided) -> str | None:
        if decided.by in ("routine", "plan", "client"):
            return None  # what it does then is told
        text = self._say("run.decided", happened, what=self._what(decided))
        if decided.thought:
            text += self._world.say("run.thought", thought=one_line(decided.thought))
        if decided.by == "fallback":
            text += self._world.say("run.fallback", failure=decided.failure or "")
        elif decided.failure:
            text += self._world.say("run.no_plan", failure=decided.failure)
        return text

    def _rejected(self, happened: StoryEvent, rejected: FactRejected) -> str:
        reason = Phrase(f"web.reason_{rejected.reason}")
        return self._say("run.fact_rejected", happened, statement=one_line(rejected.statement), reason=reason)

    def _reflected(self, happened: StoryEvent, reflected: Reflected) -> str | None:
        insights = self._world.say("common.semicolon").join(map(one_line, reflected.insights))
        return self._say("run.reflected", happened, insights=insights) if insights else None

    def _planned(self, happened: StoryEvent, planned: Planned) -> str:
        blocks = (f"{block.starts} {one_line(block.activity)}" for block in planned.blocks)
        return self._say("run.planned", happened, blocks=self._world.say("common.semicolon").join(blocks))

    def _ended(self, happened: StoryEvent, ended: ActivityEnded) -> str | None:
        if ended.because == Because.DONE or ended.action_id == WALK:
            return None
        because = Phrase(f"run.because.{ended.because}")
        return self._say("run.activity_ended", happened, what=self._what(ended), because=because)

    def _failed(self, happened: StoryEvent, failed: ActionFailed) -> str:
        what = Refusal(
            action_id=failed.action_id,
            reason=failed.reason,
            facility_id=failed.facility_id,
            target_id=failed.target_id,
        )
        return self._say("run.action_failed", happened, failed=failed_line(self._world, what))

    def _dialogue(self, happened: StoryEvent, ended: ConversationEnded) -> list[str]:
        say, talk = self._world.say, happened.conversation
        goal = say("run.goal", goal=one_line(talk.goal)) if talk is not None and talk.goal else ""
        others = talk.person_ids[1:] if talk is not None else (ended.partner_id,)
        partner = Listed(map(self._name, others)).of(self._world.language)
        head = self._say("run.conversation_ended", happened, partner=partner, goal=goal)
        turns = [say("run.turn", name=turn.speaker_name, text=one_line(turn.text)) for turn in happened.turns]
        reason = say(f"ends.{ended.reason}")
        if talk is not None and talk.failure is not None:
            reason = f"{reason}: {one_line(str(talk.failure.get(self._world.language, talk.failure['en'])))}"
        return [head, *turns, say("run.over", reason=reason)]

    def _remembered(self, happened: StoryEvent) -> str | None:
        found = {row.person_id: row.summary for row in happened.summaries}
        summary = found.get(happened.event.person_id or "")
        return self._say("run.conversation_closed", happened, summary=one_line(summary)) if summary else None

    def _table(self, happened: StoryEvent) -> str:
        """Those who began the talk."""
        people = happened.conversation.person_ids[:2] if happened.conversation else ()
        return Listed(map(self._name, people)).of(self._world.language)

    def _what(self, done: Decided | ActivityStarted | ActivityEnded) -> str:
        name, place = action_name(self._world, done.action_id), ""
        facility = self._world.map.facilities.get(done.facility_id or "")
        if isinstance(done, Decided) and done.target_id:
            place = self._name(done.target_id)
        elif facility is not None:
            place = facility.name
        if not place:
            return name
        return self._world.say("common.aside", what=name, inside=place)

    def _place(self, node_id: str) -> str:
        return self._world.map.label(node_id) if node_id in self._world.map.nodes else node_id


def _plain(payload: Payload) -> dict[str, str]:
    return {key: one_line(str(value)) for key, value in payload}
