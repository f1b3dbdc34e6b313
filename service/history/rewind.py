"""Owns what a world held at an earlier moment, from rows that are only ever added to: nothing here reads a store.

Where everybody stood, what was said, learned, felt and promised is as it was then. What is not written down minute by
minute begins anew there: what characters were doing, needed and had planned. A talk that was going on goes on as one
that a client has started.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter

from service.conversation.turn_taking import next_step
from service.errors import existing, refuse
from service.locales import Phrase
from service.store.event_kinds import (
    Carries,
    ConversationClosed,
    ConversationEnded,
    ConversationStarted,
    PersonMade,
    PersonRemoved,
    Slept,
)
from service.store.events import hear_of_world
from service.store.perception import LATER_MINUTES
from service.store.phase import Audience, ClockPolicy, Phase, Speaker, TurnForm
from service.store.policy import POLICIES, Policy, reopened
from service.store.tables import ConversationRow, ParticipantRow, TurnRow
from service.store.world_rows import Row, Rows
from world.time import WorldTime, iso


@dataclass(frozen=True, kw_only=True)
class PastMoment:
    """A moment of a world: the beginning of minute `at`, or before turn `turn` of a conversation is spoken."""

    at: WorldTime | None = None
    conversation_id: str | None = None
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Events from `event` on have not happened, nor what belongs to minute `at` or later; of the conversation that goes
    on anew, nothing from `turn` on.
    """

    at: float = inf
    event: float = inf
    conversation_id: str | None
    turn: int
    forgotten: Collection[str] | None = None
    """Ids of the memories that go, where all of the world but this conversation stays as it is; None: all goes back."""
    open: dict[str, Phase] = field(default_factory=dict)
    """Conversations that were not closed yet, and how far they were."""
    gone: set[str] = field(default_factory=set)
    """Conversations that had not begun."""
    over: dict[str, int] = field(default_factory=dict)
    """Those that were closed, and when they had ended."""


def rewound(rows: Rows, moment: PastMoment) -> Rows:
    """The rows as they were at that moment.

    Raises:
        NotFound: there is no such turn.
        Invalid: the world has not lived that moment.
    """
    cut = _cut(rows, moment)
    (world,) = rows["worlds"]
    since, until = WorldTime(world["started_at"]), WorldTime(world["now"])
    not_lived = Phrase("answers.invalid_fields.not_lived", since=iso(since), until=iso(until))
    refuse((not since <= cut.at <= until, "body.at", not_lived))
    undone = [event for event in of_world(rows["events"]) if event["id"] >= cut.event]
    kept = standing(rows, cut)
    kept["worlds"] = [_world(world, of_world(kept["events"]), cut)]
    kept["people"] = [_person(row, undone) for row in kept["people"]]
    kept["made_people"] = _made(rows["made_people"], undone)
    scenes = {row["id"] for row in rows["conversations"] if row["form"] == TurnForm.SCENE}
    talks = {of for of, phase in cut.open.items() if phase == Phase.RUNNING} - scenes
    kept["participants"] = [
        one | {"engaged": one["conversation_id"] in talks and one["left_turn"] is None} for one in kept["participants"]
    ]
    return kept


def standing(rows: Rows, cut: Cut) -> Rows:
    """The rows that stand at the cut. A prompt is made anew where its conversation goes on, for who had not spoken by
    then, and where its words were let go of when the conversation was closed.
    """
    kept = {name: _CUTS.get(name, _by_policy)(some, POLICIES[name], cut) for name, some in rows.items()}
    spoke = {(row["conversation_id"], row["speaker_id"]) for row in kept["turns"]}
    kept["prompts"] = [
        row
        for row in kept["prompts"]
        if cut.open.get(row["conversation_id"]) != Phase.RUNNING
        or (row["system"] is not None and (row["conversation_id"], row["person_id"]) in spoke)
    ]
    kept["participants"] = _stayed(kept, cut.open)
    kept["conversations"] = [_awaiting(row, kept) if row["id"] in cut.open else row for row in kept["conversations"]]
    return going_along(kept)


def going_along(kept: Rows) -> Rows:
    """The rows without those that belong to a memory which is not among them."""
    there = {
        (row[policy.whose or ""], row[policy.memory or ""])
        for name, policy in POLICIES.items()
        for row in (kept.get(name, ()) if policy.remembered_as else ())
    }
    along = {name: one for name, one in POLICIES.items() if one.memory and not one.remembered_as and not one.known}
    for name, policy in along.items():
        kept[name] = [row for row in kept.get(name, ()) if (row[policy.whose or ""], row[policy.memory or ""]) in there]
    return kept


def _cut(rows: Rows, moment: PastMoment) -> Cut:
    if moment.conversation_id is None:
        at = moment.at or WorldTime(0)
        later = [event["id"] for event in of_world(rows["events"]) if event["at"] >= at]
    else:
        said = {row["turn"]: row["at"] for row in rows["turns"] if row["conversation_id"] == moment.conversation_id}
        at = existing(said.get(moment.turn), "turn", moment.turn)
        over = (ConversationEnded.kind, ConversationClosed.kind)
        later = [
            event["id"]
            for event in of_world(rows["events"])
            if event["at"] > at
            or (event["kind"] in over and event["data"]["conversation_id"] == moment.conversation_id)
        ]
    cut = Cut(
        at=at,
        event=min(later, default=inf),
        conversation_id=moment.conversation_id,
        turn=moment.turn,
    )
    happened = {
        kind: _conversations(rows, kind, cut) for kind in (ConversationStarted, ConversationEnded, ConversationClosed)
    }
    for row in rows["conversations"]:
        of = row["id"]
        if of == moment.conversation_id:
            cut.open[of] = Phase.RUNNING
        elif of not in happened[ConversationStarted] and row["started_at"] >= at:
            cut.gone.add(of)
        elif of in happened[ConversationClosed] or (row["closed_at"] is not None and row["closed_at"] < at):
            cut.over[of] = row["ended_at"]
        else:
            cut.open[of] = Phase.CLOSING if of in happened[ConversationEnded] else Phase.RUNNING
    return cut


def _conversations(rows: Rows, payload: type, cut: Cut) -> set[str]:
    """Ids of the conversations of which such an event had been told."""
    return {
        event["data"]["conversation_id"]
        for event in of_world(rows["events"])
        if event["kind"] == payload.kind and event["id"] < cut.event  # type: ignore[attr-defined] # a payload
    }


def _by_policy(rows: list[Row], policy: Policy, cut: Cut) -> list[Row]:
    """What a table's policy says that there was then: all of the world itself, nothing that is of the moment."""
    anew = dict.fromkeys(policy.passing_columns if cut.forgotten is None else ())
    there = [row | anew for row in rows if _stood(row, policy, cut)]
    if policy.ended is None:
        return there
    gone = {row[policy.memory]: row for row in rows if not _stood(row, policy, cut)} if policy.memory else {}
    return [_then(row, policy, gone, cut) for row in there]


def _then(row: Row, policy: Policy, gone: Mapping[str, Row], cut: Cut) -> Row:
    """The row as it stood at the cut: open again if it ended later, or if the row that ended it was not there yet."""
    if policy.ended_by is not None and row[policy.ended_by] is not None:
        row = reopened(row, policy, gone)
        if row[policy.ended_by] is not None:
            return row
    if policy.ended_in is not None and (row[policy.ended_in] in cut.open or row[policy.ended_in] in cut.gone):
        return row | policy.unended
    return row | policy.unended if (row[policy.ended or ""] or 0) >= cut.at else row


def _stood(row: Row, policy: Policy, cut: Cut) -> bool:
    of = row[policy.conversation] if policy.conversation else None
    if cut.forgotten is not None and policy.memory is not None:
        return row[policy.memory] not in cut.forgotten
    if policy.passing:
        return cut.forgotten is not None and (of is None or of != cut.conversation_id)
    if policy.turn is not None and of is not None:
        return _was_said(of, row[policy.turn], row[policy.known or ""], cut)
    if policy.known is None:
        return of not in cut.gone
    return _was(of, row[policy.known], cut)


def _was(of: str | None, at: int, cut: Cut) -> bool:
    """Whether something was known at the cut that is known since `at`: it is earlier, and its conversation, if it came
    of one, was closed by then.
    """
    known_later = of in cut.over and at == cut.over[of] + LATER_MINUTES
    is_known = at < cut.at or (of is not None and at == cut.at) or known_later
    return of not in cut.open and of not in cut.gone and is_known


def _was_said(of: str, turn: int, at: int, cut: Cut) -> bool:
    if of == cut.conversation_id:
        return turn < cut.turn
    return of not in cut.gone and (at <= cut.at or cut.open.get(of) != Phase.RUNNING)


def _conversations_then(rows: list[Row], policy: Policy, cut: Cut) -> list[Row]:
    return [
        row
        if (phase := cut.open.get(row["id"])) is None
        else row | _REOPENED | {"phase": phase.value} | ({} if phase == Phase.CLOSING else _goes_on(row))
        for row in _by_policy(rows, policy, cut)
    ]


_REOPENED: Row = {
    "closed_at": None,
    "changes": None,
    "failure": None,
    "clock_policy": ClockPolicy.NONE.value,
    "talk_id": None,
}


def _goes_on(row: Row) -> Row:
    """The columns of a conversation that are otherwise while it goes on."""
    stands = {"stands_at": 0} if row["form"] == TurnForm.SCENE else {}
    return {"end_reason": None, "ended_at": None, "goal_achieved": False, "awaits": None, "silent_at": 0.0, **stands}


def _awaiting(row: Row, kept: Rows) -> Row:
    """Where a human is to speak next, its words are awaited."""
    people, said = _people(row["id"], kept), _said(row["id"], kept)
    then = ConversationRow(**row, participants=[ParticipantRow(**one) for one in people])
    step = next_step(then, [TurnRow(**one) for one in said])
    speaks = people[step] if isinstance(step, int) and row["phase"] == Phase.RUNNING else None
    waits = speaks is not None and speaks["speaker"] == Speaker.HUMAN
    return row | {"awaits": speaks["person_id"] if speaks is not None and waits else None}


def _people(conversation_id: str, kept: Rows) -> list[Row]:
    found = (one for one in kept["participants"] if one["conversation_id"] == conversation_id)
    return sorted(found, key=itemgetter("seat"))


def _said(conversation_id: str, kept: Rows) -> list[Row]:
    return sorted((one for one in kept["turns"] if one["conversation_id"] == conversation_id), key=itemgetter("turn"))


def _stayed(kept: Rows, open_ones: Collection[str]) -> list[Row]:
    """Everybody who takes part. In conversations that go on, a person that joined after their last turn is left out,
    one that left later is there, and one that joined again later is away.
    """
    found = [one for one in kept["participants"] if one["conversation_id"] not in open_ones]
    for conversation_id in open_ones:
        people, said = _people(conversation_id, kept), _said(conversation_id, kept)
        ends, spoke = len(said), {turn["speaker_id"] for turn in said}
        said_goodbye = said[-1]["speaker_id"] if said and said[-1]["wants_to_end"] else None
        while people and 0 < people[-1]["joined_turn"] >= ends and people[-1]["person_id"] not in spoke:
            people.pop()
        for one in people:
            left = one["left_turn"]
            if 0 < one["joined_turn"] >= ends:
                one = one | {"joined_turn": ends, "left_turn": ends}
            elif left is not None and (left > ends or (left == ends and one["person_id"] != said_goodbye)):
                one = one | {"left_turn": None}
            found.append(one)
    return found


def _interventions(rows: list[Row], policy: Policy, cut: Cut) -> list[Row]:
    """With what was proposed, and judged, by then."""
    there = _by_policy(rows, policy, cut)
    if cut.forgotten is not None:
        return there
    return [
        row | {"proposals": [one for one in row["proposals"] if _was(row["conversation_id"], one["at"], cut)]}
        for row in there
    ]


def of_world(events: Iterable[Row]) -> Iterator[Row]:
    """What happened in the world."""
    return (event for event in events if event["audience"] == Audience.WORLD)


def _events(rows: list[Row], policy: Policy, cut: Cut) -> list[Row]:
    """What happened before, and of the logs of conversations what was told before: those that had begun, but for what
    was told to participants of the one that goes on anew.
    """
    return [row for row in rows if _was_told(row, cut)]


def _was_told(event: Row, cut: Cut) -> bool:
    if event["audience"] == Audience.WORLD:
        return bool(event["id"] < cut.event)
    is_told_anew = event["audience"] == Audience.PARTICIPANTS and event["conversation_id"] == cut.conversation_id
    return bool(event["at"] < cut.at) and event["conversation_id"] not in cut.gone and not is_told_anew


def _movements(rows: list[Row], policy: Policy, cut: Cut) -> list[Row]:
    """The ways that had begun, each as far as it had been walked."""
    kept = []
    for row in rows:
        if row["starts_at"] <= cut.at:
            behind = max(1, sum(t <= cut.at for t in row["times"])) if row["path"] else 0
            kept.append(row | {"path": row["path"][:behind], "times": row["times"][:behind]})
    return kept


_CUTS: Mapping[str, Callable[[list[Row], Policy, Cut], list[Row]]] = {
    "conversations": _conversations_then,
    "events": _events,
    "interventions": _interventions,
    "movements": _movements,
}
"""Where a row is more than there or not, and of the logs, which are no conversation's own."""


def _world(world: Row, events: Iterable[Row], cut: Cut) -> Row:
    """The world's row: weather, flags and notices as they had been set by then. Its clock is stopped."""
    told: Row = {"weather": "", "flags": {}, "notices": []}
    for event in events:
        hear_of_world(told, event["at"], event["kind"], event["data"])
    return world | {
        **told,
        "now": cut.at,
        "reached": 0,
        "target": None,
        "clock_mode": "manual",
        "clock_stopped": None,
    }


def _person(row: Row, undone: list[Row]) -> Row:
    """The person's row, without the nights and the things that came after the cut."""
    mine = [event for event in reversed(undone) if event["person_id"] == row["person_id"]]
    items = list(row["items"])
    for event in mine:
        if event["kind"] == Carries.kind:
            items = [item for item in items if item not in event["data"]["given"]] + list(event["data"]["taken"])
    return row | {"items": items, "sleeps": row["sleeps"] - sum(event["kind"] == Slept.kind for event in mine)}


def _made(rows: list[Row], undone: list[Row]) -> list[Row]:
    """The people that were made by then; one that was removed later is there."""
    made = {event["person_id"] for event in undone if event["kind"] == PersonMade.kind and event["data"]["is_new"]}
    removed = {event["person_id"] for event in undone if event["kind"] == PersonRemoved.kind}
    return [
        row | {"removed": False} if row["person_id"] in removed else row for row in rows if row["person_id"] not in made
    ]
