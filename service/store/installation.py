"""Owns the id of the installation: which service's database this is."""

from sqlmodel import Session, select

from service.store.tables import InstallationRow


def installation_id(session: Session) -> str:
    """The installation's own; made by the first who asks. The caller commits."""
    row = session.exec(select(InstallationRow)).first()
    if row is None:
        row = InstallationRow()
        session.add(row)
        session.flush()
    return row.id
