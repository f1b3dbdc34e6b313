"""Owns what persons told about themselves: beside what their author wrote, so that they stay consistent."""

from collections.abc import Mapping, Sequence

from sqlmodel import Session, col, select

from service.memory.grounding import are_same, contradict
from service.memory.validate import ValidSelfFact
from service.store.ids import derived_id
from service.store.tables import SelfFactRow, TurnRow


def self_facts(session: Session, world_id: str, *person_ids: str, history: bool = False) -> list[SelfFactRow]:
    """What the persons told about themselves so far, oldest first; with `history` the closed ones too."""
    query = select(SelfFactRow).where(SelfFactRow.world_id == world_id, col(SelfFactRow.person_id).in_(person_ids))
    if not history:
        query = query.where(col(SelfFactRow.invalid_at).is_(None))
    return list(session.exec(query.order_by(col(SelfFactRow.valid_at), col(SelfFactRow.id))))


def new_self_facts(
    known: Sequence[SelfFactRow],
    person_id: str,
    told: Sequence[ValidSelfFact],
    turns: Mapping[int, TurnRow],
    ids: Mapping[str, str],
    names: frozenset[str],
) -> list[SelfFactRow]:
    """What the person told in `turns` that is new; `ids` are those behind the refs. It closes what it replaces.

    It is held against what holds by now (`known`): another closing may have written since this one's prompt.
    """
    rows: list[SelfFactRow] = []
    for index, fact in enumerate(told):
        claim = fact.claim
        if any(are_same(claim.statement, old.statement, names) for old in known):
            continue
        said = turns[claim.turn]
        row = SelfFactRow(
            world_id=said.world_id,
            person_id=person_id,
            id=derived_id(said.conversation_id, person_id, "self_fact", index),
            statement=claim.statement,
            words=said.text,
            conversation_id=said.conversation_id,
            turn=claim.turn,
            mode=claim.mode,
            importance=claim.importance,
            valid_at=said.at,
        )
        replaced = {ids.get(ref) for ref in fact.replaces}
        for old in known:
            if old.id in replaced or contradict(old.statement, claim.statement, names):
                _supersede(old, row)
        rows.append(row)
    return rows


def _supersede(old: SelfFactRow, new: SelfFactRow) -> None:
    """The one said later holds. A talk that is settled late may bring a fact that was overtaken before it was known."""
    earlier, later = (old, new) if old.valid_at <= new.valid_at else (new, old)
    if earlier.invalid_at is None:
        earlier.invalid_at, earlier.replaced_by = later.valid_at, later.id
