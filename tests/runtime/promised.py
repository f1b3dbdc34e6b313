"""Owns promises for tests of living worlds: appointments as a closing would have stored them."""

from collections.abc import Iterable

from service.people.commitment import Due, expires_at
from service.people.worlds import WorldRepository
from service.store.session import Database
from service.store.tables import CommitmentRow
from world.time import WorldTime


def appointment(
    by_id: str,
    to_id: str,
    node_id: str | None,
    due_at: WorldTime,
    made_at: WorldTime,
    *,
    since: WorldTime | None = None,
) -> CommitmentRow:
    """The one promised the other to be there then, or in the part of a day from `since` on; without a node it is
    words.
    """
    due = Due(at=due_at, since=since, has_hour=since is None)
    return CommitmentRow(
        world_id="main",
        id=f"{by_id}-{to_id}-{due_at}",
        by_id=by_id,
        to_id=to_id,
        what="meet",
        place=node_id or "",
        node_id=node_id,
        due_at=due_at,
        since_at=since,
        has_hour=due.has_hour,
        conversation_id="before",
        turn=0,
        made_at=made_at,
        expires_at=expires_at(made_at, due),
    )


def place_promises(database: Database, worlds: WorldRepository, promised: Iterable[CommitmentRow]) -> None:
    """Store them in the world `main`, which begins with that."""

    def work(session: object) -> None:
        worlds.open(session, "main", lock=True)  # type: ignore[arg-type]
        session.add_all(CommitmentRow(**row.model_dump()) for row in promised)  # type: ignore[attr-defined]

    database.write_now(work)
