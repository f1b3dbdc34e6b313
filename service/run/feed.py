"""Owns how what happens reads in the feed: one line an event, with its time; a conversation as a block when it is
over.
"""

from collections.abc import Collection, Iterable

from service.decision.options import action_name, clock_of, failed_line
from service.locales import Listed, Phrase, clock_label, room
from service.people.worlds import WorldView
from service.run.show import one_line
from service.run.story_events import StoryEvent
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    ClosingFailed,
    ConversationClosed,
    ConversationEnded,
    ConversationJoined,
    ConversationStarted,
    DayBegan,
    Decided,
    Departed,
    FactRejected,
    OfCommitment,
    Payload,
    Planned,
    Reflected,
)
from world.actions import WALK, Refusal
from world.life import Because
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
            case Decided(by="routine" | "plan" | "client"):
                return None  # what it does then is told
            case ActivityEnded() if payload.because == Because.DONE or payload.action_id == WALK:
                return None
            case Reflected(insights=()):
                return None
            case ConversationClosed() if not self._remembered(happened):
                return None
        kind = payload.kind if payload.kind in room(self._world.language, "run") else "other"
        told = {name: one_line(str(value)) for name, value in payload}
        line = self._say(f"run.{kind}", happened, **{**told, "kind": payload.kind, **self._facts(happened, payload)})
        return line + self._why(payload) if isinstance(payload, Decided) else line

    def _facts(self, happened: StoryEvent, payload: Payload) -> dict[str, object]:
        """What the sentence of an event says otherwise than its payload."""
        match payload:
            case Decided():
                return {"what": self._what(payload)}
            case Departed():
                minutes = parse_time(payload.arrives_at) - happened.event.at
                return {"place": self._place(payload.to_node_id), "minutes": minutes}
            case Arrived():
                return {"place": self._place(payload.node_id)}
            case ActivityStarted():
                return {"what": self._what(payload), "until": payload.until[-5:]}
            case ActivityEnded():
                return {"what": self._what(payload), "because": Phrase(f"run.because.{payload.because}")}
            case ActionFailed():
                return {"failed": failed_line(self._world, Refusal(**payload.model_dump(exclude_none=True)))}
            case Planned():
                return {"blocks": self._row(f"{block.starts} {one_line(block.activity)}" for block in payload.blocks)}
            case ConversationStarted():
                return {"partner": self._name(payload.partner_id), "place": self._place(payload.node_id)}
            case ConversationJoined():  # those who began the talk
                people = happened.conversation.person_ids[:2] if happened.conversation else ()
                return {"people": Listed(map(self._name, people))}
            case ConversationClosed():
                return {"summary": self._remembered(happened)}
            case ClosingFailed():
                return {"partner": self._name(payload.partner_id)}
            case FactRejected():
                return {"reason": Phrase(f"web.reason_{payload.reason}")}
            case OfCommitment():
                return {"other": self._name(payload.to_id)}
            case Reflected():
                return {"insights": self._row(map(one_line, payload.insights))}
        return {}

    def _say(self, key: str, happened: StoryEvent, /, **values: object) -> str:
        return self._world.say(key, name=self._name(happened.event.person_id), **values)

    def _name(self, person_id: str | None) -> str:
        return self._world.say("run.world") if person_id is None else self._world.name_of(person_id)

    def _row(self, told: Iterable[str]) -> str:
        return self._world.say("common.semicolon").join(told)

    def _why(self, decided: Decided) -> str:
        thought = self._world.say("run.thought", thought=one_line(decided.thought)) if decided.thought else ""
        if decided.by == "fallback":
            return thought + self._world.say("run.fallback", failure=decided.failure or "")
        return thought + (self._world.say("run.no_plan", failure=decided.failure) if decided.failure else "")

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

    def _remembered(self, happened: StoryEvent) -> str:
        found = {row.person_id: row.summary for row in happened.summaries}
        return one_line(found.get(happened.event.person_id or "", ""))

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
