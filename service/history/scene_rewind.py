"""Owns what a world holds once one scene of it goes on anew from an earlier turn: nothing here reads a store.

A scene takes no time of the world, and whatever came of it bears its id. So it is taken back by itself: its turns and
what was done to it, what was remembered, felt and promised, and what was thought of that. All else stays as it is, also
what others have said since of what they knew from it.
"""

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter

from service.errors import NotFound
from service.history.rewind import Cut, of_world, standing
from service.memory.record import Kind, turn_key
from service.memory.telling import MemoryKind, ref, turn_ref
from service.store.event_kinds import (
    CommitmentDue,
    CommitmentMade,
    ConversationJoined,
    ConversationLeft,
    ConversationStarted,
    Reflected,
)
from service.store.ids import derived_id
from service.store.phase import Audience, Phase
from service.store.world_rows import Row, Rows


def without_turns(rows: Rows, conversation_id: str, turn: int) -> Rows:
    """The rows, as if turn `turn` of that scene, and what came after it in the scene, had not been.

    Raises:
        NotFound: there is no such turn.
    """
    of_it = (row["turn"] for row in rows["turns"] if row["conversation_id"] == conversation_id)
    if turn not in of_it:
        raise NotFound(kind="turn", id=turn)
    cut = _taken_back(rows, conversation_id, turn)
    running = {conversation_id: Phase.RUNNING}
    kept = standing(rows, Cut(conversation_id=conversation_id, turn=turn, forgotten=cut.forgotten, open=running))
    outcomes = {derived_id(commitment_id, "outcome") for commitment_id in cut.promises}
    kept["attitude_changes"] = [row for row in kept["attitude_changes"] if row["id"] not in outcomes]
    kept["pending_events"] = [
        row for row in kept["pending_events"] if row["data"].get("commitment_id") not in cut.promises
    ]
    kept["events"] = [row for row in kept["events"] if not cut.is_of_it(row) or _stays(row, cut)]
    kept["events"] = _events(kept, cut)
    return kept


@dataclass(frozen=True, kw_only=True)
class _SceneCut:
    """What is taken back of a conversation: all from the command `seq` on, and commands since `spoken_seq` that moved
    or told somebody. `forgotten` are the ids of memories that go, and of insights drawn from them, whose words are
    `thoughts`. `asked` are the interventions that stay. `promises` were made in it; those that it `ended` are open
    again, and an attitude that one of them has changed is as it was.
    """

    conversation_id: str
    seq: int
    spoken_seq: int
    asked: frozenset[int]
    thoughts: frozenset[str]
    forgotten: frozenset[str]
    promises: frozenset[str]
    ended: frozenset[str]

    def is_of_it(self, row: Row) -> bool:
        """Whether the row belongs to the conversation."""
        return bool(row.get("conversation_id") == self.conversation_id)


def _taken_back(rows: Rows, of: str, turn: int) -> _SceneCut:
    def of_it(name: str) -> list[Row]:
        return [row for row in rows.get(name, ()) if row["conversation_id"] == of]

    asked = frozenset(row["number"] for row in of_it("interventions") if row["before_turn"] < turn)
    requests = (row for row in of_it("interventions") if row["number"] in asked)
    stay = {f"{of}-{row['number']}-{index}" for row in requests for index in range(len(row["proposals"]))}
    unsaid = {row["turn"] for row in of_it("turns") if row["turn"] >= turn}
    # An author may have corrected a turn before that one: such a row stands for it.
    stay |= {row["id"] for row in of_it("memories") if row["kind"] == Kind.TURN and row["turns"][0] < turn}
    forgotten = {row["id"] for row in of_it("memories") if row["id"] not in stay}
    refs = {ref(MemoryKind.TALK, of), *(turn_ref(of, one) for one in unsaid)}
    refs |= {ref(MemoryKind.MEMORY, one) for one in forgotten}
    thoughts = [row for row in rows["memories"] if refs & set(row["evidence"])]
    turns = {row["id"]: said for row in of_it("events") if (said := _turn_of(row)) is not None}
    return _SceneCut(
        conversation_id=of,
        seq=min((seq for seq, said in turns.items() if said == turn), default=0),
        spoken_seq=max((seq for seq, said in turns.items() if said < turn), default=0),
        asked=asked,
        thoughts=frozenset(row["text"] for row in thoughts),
        forgotten=frozenset([of, *forgotten, *(turn_key(of, one) for one in unsaid), *(row["id"] for row in thoughts)]),
        promises=frozenset(row["id"] for row in of_it("commitments")),
        ended=frozenset(row["id"] for row in rows["commitments"] if row["ended_in"] == of),
    )


def _turn_of(command: Row) -> int | None:
    """The turn that the command tells of; None: it tells of none."""
    kind, data = command["kind"], command["data"]
    said = {"answered": data.get("turn"), "said": data.get("words", {}).get("turn")}
    return said.get(kind)


def _stays(command: Row, cut: _SceneCut) -> bool:
    """Whether a command of the conversation was given before that turn."""
    kind, data = command["kind"], command["data"]
    if kind == "proposed":
        return data["number"] in cut.asked
    if kind == "judged":  # a proposal's id names the intervention that asked for it
        return int(data["proposal_id"].split("-")[-2]) in cut.asked
    return bool(command["id"] < (cut.spoken_seq if kind in ("intervened", "joined", "left") else cut.seq))


_BEFORE_ITS_END = (CommitmentMade.kind, CommitmentDue.kind)
"""What is told of a promise while it is open."""


def _events(kept: Rows, cut: _SceneCut) -> list[Row]:
    """The events that stay: the scene has begun, and of who came and went only what was before that turn."""
    moves = _moves(kept, cut)
    found = [event for event in kept["events"] if event["audience"] != Audience.WORLD]
    for event in sorted(of_world(kept["events"]), key=itemgetter("id")):
        kind, data = event["kind"], event["data"]
        if data.get("conversation_id") == cut.conversation_id:
            move = (kind, event["person_id"])
            if kind != ConversationStarted.kind and moves[move] <= 0:
                continue
            moves[move] -= 1
        promise = data.get("commitment_id")
        if promise in cut.promises or (promise in cut.ended and kind not in _BEFORE_ITS_END):
            continue
        if kind == Reflected.kind:
            insights = [text for text in data["insights"] if text not in cut.thoughts]
            event = event | {"data": data | {"insights": insights}}
        found.append(event)
    return found


def _moves(kept: Rows, cut: _SceneCut) -> Counter[tuple[str, str]]:
    """How often each joined and left before that turn: as a writer wanted, or with its goodbye."""
    named = {"joined": ConversationJoined.kind, "left": ConversationLeft.kind}
    moves = Counter(
        (named[row["kind"]], row["data"]["person_id"])
        for row in kept["events"]
        if cut.is_of_it(row) and row["kind"] in named
    )
    moves.update(
        (ConversationLeft.kind, row["speaker_id"]) for row in kept["turns"] if cut.is_of_it(row) and row["wants_to_end"]
    )
    return moves
