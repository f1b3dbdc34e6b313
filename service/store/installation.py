"""Owns the id of the installation: which service's database this is."""

from sqlalchemy import update
from sqlmodel import Session, col, select

from service.store.tables import InstallationRow


def installation_id(session: Session) -> str:
    """The installation's own; made by the first who asks. The caller commits."""
    row = session.exec(select(InstallationRow)).first()
    if row is None:
        row = InstallationRow()
        session.add(row)
        session.flush()
    return row.id


def try_write(session: Session) -> None:
    """Write what stands there already: whether the database can be written to. The caller commits."""
    kept = installation_id(session)
    session.execute(update(InstallationRow).where(col(InstallationRow.id) == kept).values(id=kept))
