"""Owns what a model proposed to be somebody's for long, after a scene: it stands with the intervention that asked."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from service.store.phase import ProposalState
from service.store.shown import WorldMinute
from service.store.tables import InterventionRow

LongTermKind = Literal["experience", "goal", "memory"]

_OF_ROW = ("conversation_id", "number", "index", "person_id")
"""What a proposal has from where it stands."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The `index`th answer to the `number`th intervention of a scene: something that may be added to what is a
    person's, with the turns it rests on. Only what is accepted holds, from world time `at` on.
    """

    conversation_id: str
    number: int
    index: int
    person_id: str
    """whose it is"""
    kind: LongTermKind
    """an experience, a goal, or a memory"""
    text: str
    """what is proposed"""
    importance: int
    """how much it matters, 1 to 10"""
    evidence: list[int]
    """the turns, from 0, that it rests on"""
    state: ProposalState
    """only what is accepted holds"""
    at: WorldMinute
    """the world time of its state"""
    refused_for: str = ""
    """why it was refused at once: `unseen` rests on turns that the person did not perceive, `known` is its own already;
    empty: it was not"""

    @property
    def id(self) -> str:
        """By which it is judged, and remembered where it is accepted."""
        return f"{self.conversation_id}-{self.number}-{self.index}"

    def kept(self) -> dict[str, Any]:
        """As it stands in its row."""
        return {name: value for name, value in asdict(self).items() if name not in _OF_ROW}


def proposals_in(session: Session, world_id: str, which: ColumnElement[bool] | bool = True) -> list[Proposal]:
    """Those of the world's interventions, in the order in which they were made."""
    query = select(InterventionRow).where(
        InterventionRow.world_id == world_id, InterventionRow.kind == "long_term_update_request", which
    )
    rows = session.exec(query.order_by(col(InterventionRow.conversation_id), col(InterventionRow.number)))
    return [
        Proposal(
            conversation_id=row.conversation_id,
            number=row.number,
            index=index,
            person_id=row.target_id or "",
            **{**kept, "state": ProposalState(kept["state"])},
        )
        for row in rows
        for index, kept in enumerate(row.proposals)
    ]
