"""Owns what a world holds once one scene of it goes on anew from an earlier turn: nothing here reads a store.

A scene takes no time of the world, and whatever came of it bears its id. So it is taken back by itself: its turns and
what was done to it, what was remembered, felt and promised, and what was thought of that. All else stays as it is, also
what others have said since of what they knew from it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter

from service.errors import NotFound
from service.memory.record import turn_key
from service.runtime.rewind import REOPENED, awaiting, goes_on, stayed
from service.store.event_kinds import (
    CommitmentKept,
    ConversationJoined,
    ConversationLeft,
    ConversationStarted,
    Reflected,
)
from service.store.ids import derived_id
from service.store.phase import Phase
from service.store.policy import Policy, policy_of
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
    kept = {name: _CUTS.get(name, _by_policy)(some, policy_of(name), cut) for name, some in rows.items()}
    kept["events"] = _events(rows, kept, cut)
    kept["participants"] = stayed(kept, [conversation_id])
    kept["conversations"] = [
        awaiting(row | REOPENED | goes_on(row) | {"phase": Phase.RUNNING.value}, kept)
        if row["id"] == conversation_id
        else row
        for row in rows["conversations"]
    ]
    return kept


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """What is no more of a conversation: all from `turn` on, and from the command `seq` on; of the commands since
    `spoken_seq` those that moved or told somebody. `facts` are forgotten, by person and id, `thoughts` drawn from them
    too; `gone` are the ids of all that. `asked` are the interventions that stay, `spoke` who has spoken by then.
    `promises` were made in it, and those that it `fulfilled` are open again.
    """

    conversation_id: str
    turn: int
    seq: int
    spoken_seq: int
    asked: frozenset[int]
    spoke: frozenset[str]
    facts: Mapping[tuple[str, str], Row]
    thoughts: frozenset[str]
    gone: frozenset[str]
    promises: frozenset[str]
    fulfilled: frozenset[str]

    def is_of_it(self, row: Row) -> bool:
        """Whether the row belongs to the conversation."""
        return bool(row.get("conversation_id") == self.conversation_id)

    def stays(self, proposal_id: str) -> bool:
        """Whether the proposal was asked for before that turn."""
        return _request_of(proposal_id) in self.asked


def _request_of(proposal_id: str) -> int:
    """The number of the intervention that asked for the proposal."""
    return int(proposal_id.split("-")[-2])


def _taken_back(rows: Rows, of: str, turn: int) -> _Cut:
    def of_it(name: str) -> list[Row]:
        return [row for row in rows.get(name, ()) if row["conversation_id"] == of]

    asked = frozenset(row["number"] for row in of_it("interventions") if row["before_turn"] < turn)
    stay = {row["id"] for row in of_it("long_term") if _request_of(row["id"]) in asked}
    facts = {
        (row["person_id"], row["id"]): row
        for name in ("facts", "graph_facts", "self_facts")
        for row in of_it(name)
        if row["id"] not in stay
    }
    sources = {f"talk:{of}", *(f"fact:{fact_id}" for _, fact_id in facts)}
    insights = [row for row in rows["insights"] if sources & set(row["evidence"])]
    unsaid = [turn_key(of, row["turn"]) for row in of_it("turns") if row["turn"] >= turn]
    told = {row["id"] for row in of_it("attitude_changes")}
    turns = {row["seq"]: said for row in of_it("commands") if (said := _turn_of(row)) is not None}
    return _Cut(
        conversation_id=of,
        turn=turn,
        seq=min((seq for seq, said in turns.items() if said == turn), default=0),
        spoken_seq=max((seq for seq, said in turns.items() if said < turn), default=0),
        asked=asked,
        spoke=frozenset(row["speaker_id"] for row in of_it("turns") if row["turn"] < turn),
        facts=facts,
        thoughts=frozenset(row["text"] for row in insights),
        gone=frozenset([of, *unsaid, *(fact_id for _, fact_id in facts), *(row["id"] for row in insights)]),
        promises=frozenset(row["id"] for row in of_it("commitments")),
        fulfilled=frozenset(row["id"] for row in rows["commitments"] if _outcome(row["id"]) in told),
    )


def _outcome(commitment_id: str) -> str:
    """Of what follows from a promise that was kept or broken."""
    return derived_id(commitment_id, "outcome")


def _turn_of(command: Row) -> int | None:
    """The turn that the command tells of; None: it tells of none."""
    kind, data = command["kind"], command["data"]
    said = {"answered": data.get("turn"), "said": data.get("words", {}).get("turn")}
    return said.get(kind)


def _by_policy(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    """What a table's policy says that there is without those turns."""
    return [row for row in rows if _stays(row, policy, cut)]


def _stays(row: Row, policy: Policy, cut: _Cut) -> bool:
    """What was there when the scene began stays, and what came with an earlier turn; not what came of all of it."""
    if policy.memory is not None:  # what authors have done to a memory is written down under its id towards clients
        key = (row[policy.memory] or "").removeprefix(f"{row.get('kind')}.").replace(".", "/")
        return key not in cut.gone
    if policy.conversation is None or not cut.is_of_it(row):
        return True
    if policy.turn is not None:
        return bool(row[policy.turn] < cut.turn)
    return policy.known is None and not policy.passing


def _prompts(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    """Those of who has not spoken by then are made anew, and those whose words were let go of when it was closed."""
    return [
        row for row in rows if not cut.is_of_it(row) or (row["system"] is not None and row["person_id"] in cut.spoke)
    ]


def _long_term(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    return [row for row in rows if not cut.is_of_it(row) or cut.stays(row["id"])]


def _facts(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    """What closed them is no more: they hold, or whatever closed that closed them."""
    found = []
    for row in rows:
        whose = row["person_id"]
        if (whose, row["id"]) in cut.facts:
            continue
        by: Row = row
        while by["replaced_by"] is not None and (whose, by["replaced_by"]) in cut.facts:
            by = cut.facts[whose, by["replaced_by"]]
        closed = {name: by[name] for name in ("invalid_at", "expired_at", "replaced_by") if name in row}
        found.append(row | closed)
    return found


def _attitudes(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    """How somebody stands to who kept or broke a promise of the scene goes with the promise."""
    outcomes = set(map(_outcome, cut.promises))
    return [row for row in _by_policy(rows, policy, cut) if row["id"] not in outcomes]


def _commitments(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    there = _by_policy(rows, policy, cut)
    return [row | policy.unended if row["id"] in cut.fulfilled else row for row in there]


def _pending(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    return [row for row in rows if row["data"].get("commitment_id") not in cut.promises]


def _commands(rows: list[Row], policy: Policy, cut: _Cut) -> list[Row]:
    def stays(row: Row) -> bool:
        kind, data = row["kind"], row["data"]
        if not cut.is_of_it(row):
            return True
        if kind in ("proposed", "judged"):
            return data["number"] in cut.asked if kind == "proposed" else cut.stays(data["proposal_id"])
        if kind in ("intervened", "joined", "left"):
            return bool(row["seq"] < cut.spoken_seq)
        return bool(row["seq"] < cut.seq)

    return [row for row in rows if stays(row)]


_CUTS: Mapping[str, Callable[[list[Row], Policy, _Cut], list[Row]]] = {
    "attitude_changes": _attitudes,
    "commands": _commands,
    "commitments": _commitments,
    "facts": _facts,
    "graph_facts": _facts,
    "long_term": _long_term,
    "pending_events": _pending,
    "prompts": _prompts,
    "self_facts": _facts,
}
"""Where a row follows from another, and is more than there or not."""


def _events(rows: Rows, kept: Rows, cut: _Cut) -> list[Row]:
    """The log without what came of it: it has begun, and some came and went before that turn."""
    moves = _moves(kept, cut)
    found = []
    for event in sorted(rows["events"], key=itemgetter("id")):
        kind, data = event["kind"], event["data"]
        if data.get("conversation_id") == cut.conversation_id:
            move = (kind, event["person_id"])
            if kind != ConversationStarted.kind and moves[move] <= 0:
                continue
            moves[move] -= 1
        promise = data.get("commitment_id")
        if promise in cut.promises or (kind == CommitmentKept.kind and promise in cut.fulfilled):
            continue
        if kind == Reflected.kind:
            event = event | {"data": data | {"insights": _others(data["insights"], cut.thoughts)}}
        found.append(event)
    return found


def _moves(kept: Rows, cut: _Cut) -> Counter[tuple[str, str]]:
    """How often each joined and left before that turn: as a writer wanted, or with its goodbye."""
    named = {"joined": ConversationJoined.kind, "left": ConversationLeft.kind}
    moves = Counter(
        (named[row["kind"]], row["data"]["person_id"])
        for row in kept["commands"]
        if cut.is_of_it(row) and row["kind"] in named
    )
    moves.update(
        (ConversationLeft.kind, row["speaker_id"]) for row in kept["turns"] if cut.is_of_it(row) and row["wants_to_end"]
    )
    return moves


def _others(texts: Iterable[str], gone: frozenset[str]) -> list[str]:
    return [text for text in texts if text not in gone]
