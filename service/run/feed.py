"""Owns the feed of a run: the events since the last look, and how each reads: one line with its time; a conversation
as a block when it is over.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, select

from service.decision.descriptions import action_name, clock_of, failed_line
from service.locales import Listed, Phrase, room
from service.locales.time import clock_label
from service.people.worlds import WorldView
from service.run.show import one_line
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
from service.store.events import events_after, payload_in
from service.store.tables import ConversationRow, EventRow, SummaryRow, TurnRow, said_in
from world.actions import WALK
from world.life import Because
from world.option import Refusal
from world.time import WorldTime, parse_time

PAGE = 300
_Talk = ConversationStarted | ConversationJoined | ConversationEnded | ConversationClosed | ClosingFailed


@dataclass(frozen=True, kw_only=True)
class StoryEvent:
    """An event. Of a conversation that ended: its turns; of one that is closed: what each character remembers of it."""

    event: EventRow
    conversation: ConversationRow | None = None
    turns: tuple[TurnRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()

    @property
    def payload(self) -> Payload:
        """What the event tells."""
        return payload_in(self.event)

    @property
    def partner_id(self) -> str | None:
        """Whom the person talks to."""
        return self.conversation.partner_id if self.conversation else None


def story_events_after(session: Session, world_id: str, after: int) -> list[StoryEvent]:
    """A page of what happened, oldest first."""
    return [_with_conversation(session, event) for event in events_after(session, world_id, after, PAGE)]


def _with_conversation(session: Session, event: EventRow) -> StoryEvent:
    payload = payload_in(event)
    if not isinstance(payload, _Talk):
        return StoryEvent(event=event)
    talk = session.get(ConversationRow, (event.world_id, payload.conversation_id))
    if talk is None:  # the author has made its character forget
        return StoryEvent(event=event)
    turns: tuple[TurnRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()
    if isinstance(payload, ConversationEnded):
        of_talk = select(TurnRow).where(*said_in(talk.key))
        turns = tuple(session.exec(of_talk.order_by(col(TurnRow.turn))))
    if isinstance(payload, ConversationClosed):
        of_it = select(SummaryRow).where(SummaryRow.world_id == talk.world_id, SummaryRow.conversation_id == talk.id)
        summaries = tuple(session.exec(of_it))
    return StoryEvent(event=event, conversation=talk, turns=turns, summaries=summaries)


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
