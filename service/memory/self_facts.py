"""Owns what persons told about themselves: beside what their author wrote, so that they stay consistent."""

from collections.abc import Mapping, Sequence

from sqlmodel import Session, col, select

from service.memory.comparison import are_same, excludes
from service.memory.extraction import SelfClaim
from service.memory.validate import ValidClaim
from service.store.ids import derived_id
from service.store.tables import SelfFactRow, TurnRow
from world.time import WorldTime


def self_facts(session: Session, world_id: str, *person_ids: str, history: bool = False) -> list[SelfFactRow]:
    """What the persons told about themselves so far, oldest first; with `history` the closed ones too."""
    query = select(SelfFactRow).where(SelfFactRow.world_id == world_id, col(SelfFactRow.person_id).in_(person_ids))
    if not history:
        query = query.where(col(SelfFactRow.invalid_at).is_(None))
    return list(session.exec(query.order_by(col(SelfFactRow.valid_at), col(SelfFactRow.id))))


def new_self_facts(
    known: Sequence[SelfFactRow],
    person_id: str,
    told: Sequence[ValidClaim[SelfClaim]],
    turns: Mapping[int, TurnRow],
    ids: Mapping[str, str],
    names: frozenset[str],
    late: WorldTime | None = None,
) -> list[SelfFactRow]:
    """What the person told in `turns` that is new; `ids` are those behind the refs. It closes what it replaces, and
    holds since it was told, or since `late`.

    It is held against what holds by now (`known`): another closing may have written since this one's prompt.
    """
    rows: list[SelfFactRow] = []
    for index, fact in enumerate(told):
        claim, said = fact.claim, turns[fact.claim.turn]
        same = next((old for old in known if are_same(fact.statement, old.statement, names)), None)
        if same is not None:
            same.tellings += 1
            continue
        row = SelfFactRow(
            world_id=said.world_id,
            person_id=person_id,
            id=derived_id(said.conversation_id, person_id, "self_fact", index),
            statement=fact.statement,
            words=fact.words,
            conversation_id=said.conversation_id,
            turn=claim.turn,
            mode=fact.mode,
            importance=claim.importance,
            held=fact.held,
            valid_at=said.at if late is None else late,
        )
        replaced = {ids.get(ref) for ref in fact.replaces}
        for old in known:
            if old.id in replaced or _exclude(old, row):
                _supersede(old, row)
        rows.append(row)
    return rows


def _exclude(old: SelfFactRow, new: SelfFactRow) -> bool:
    """Whether both cannot be true. Which was told later may be found out later: either may be the one that ends."""
    one, other = new.statement, old.statement
    return new.held and old.held and (excludes(one, other) or excludes(other, one))


def _supersede(old: SelfFactRow, new: SelfFactRow) -> None:
    """The one said later holds. A talk that is settled late may bring a fact that was overtaken before it was known."""
    earlier, later = (old, new) if old.valid_at <= new.valid_at else (new, old)
    if earlier.invalid_at is None:
        earlier.invalid_at, earlier.replaced_by = later.valid_at, later.id
