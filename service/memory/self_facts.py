"""Owns what persons told about themselves: beside what their author wrote, so that they stay consistent."""

from sqlmodel import Session, col, select

from service.store.tables import SelfFactRow


def self_facts(session: Session, world_id: str, person_id: str, *, history: bool = False) -> list[SelfFactRow]:
    """What the person told about itself so far, oldest first; with `history` the closed ones too."""
    query = select(SelfFactRow).where(SelfFactRow.world_id == world_id, SelfFactRow.person_id == person_id)
    if not history:
        query = query.where(col(SelfFactRow.invalid_at).is_(None))
    return list(session.exec(query.order_by(col(SelfFactRow.valid_at), col(SelfFactRow.id))))
