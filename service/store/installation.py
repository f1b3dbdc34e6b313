"""Owns the installation's row: which service's database this is."""

from sqlalchemy import update
from sqlmodel import Session, col

from service.store.tables import InstallationRow


def installation(session: Session, *, lock: bool = False) -> InstallationRow:
    """Its row; made by the first who asks. With `lock` it is held until the transaction ends. The caller commits."""
    row = session.get(InstallationRow, 1, with_for_update=lock or None)
    if row is None:
        row = InstallationRow()
        session.add(row)
        session.flush()
    return row


def installation_id(session: Session) -> str:
    """The installation's own."""
    return installation(session).id


def try_write(session: Session) -> None:
    """Write what stands there already: whether the database can be written to. The caller commits."""
    kept = installation_id(session)
    session.execute(update(InstallationRow).where(col(InstallationRow.id) == kept).values(id=kept))
