"""Owns what becomes of the facts that a graph's own reader has found in a summary: memories, as told in that talk."""

from collections.abc import Iterable, Sequence

from sqlmodel import Session, col, select

from service.llm.marks import without_marks
from service.memory.episodes import episode_of, read_turns
from service.memory.fading import NOTHING
from service.memory.lexical import tokens
from service.memory.memory_store import MemoryStore
from service.memory.projection import Found
from service.memory.record import Embedded, Episode, Group, HeardTurn, Kind, Memory
from service.memory.telling import one_line
from service.people.worlds import WorldView
from service.store.tables import MemoryOwnerRow, SummaryRow


def unread(session: Session, world: WorldView, group: Group) -> Episode | None:
    """The oldest summary of the person that was not read yet; only those of characters are. The caller commits."""
    row = SummaryRow
    mine = select(row).where(*group.owns(row), col(row.is_read).is_(False))
    rows = session.exec(mine.order_by(col(row.at), col(row.conversation_id))).all()
    for one in rows:
        if one.summary and group.person_id in world.cast.characters:
            return episode_of(one)
        one.is_read = True
    return None


def adopt(
    session: Session,
    world: WorldView,
    memory: MemoryStore,
    group: Group,
    episode: Episode,
    found: Sequence[Found],
    embedded: Embedded,
) -> None:
    """Let the person remember what was found in the summary, which has been read now; the caller commits. Of a talk
    that was forgotten meanwhile nothing is remembered.
    """
    row = session.get(SummaryRow, group.key(episode.conversation_id))
    if row is None or row.is_read or row.summary != episode.summary:
        return
    heard = [
        one
        for one in read_turns(session, group, NOTHING, after=row.revision - 1)
        if one.conversation_id == episode.conversation_id
    ]
    memories = [_memory(world, group, episode, one, heard) for one in found if _plain(one.text)]
    row.is_read, row.revision = True, memory.remember(session, group, memories, embedded)
    session.get_one(MemoryOwnerRow, group.key()).projection_due = 0.0


def _memory(world: WorldView, group: Group, episode: Episode, found: Found, heard: Iterable[HeardTurn]) -> Memory:
    """In a talk of two the partner has told it; of more than two nobody in particular."""
    teller = None if episode.others else episode.partner_id
    said = [one for one in heard if teller in (None, one.speaker_id)]
    about = next(
        (name for name in found.names if _person(world, name) not in (teller, group.person_id)), found.names[0]
    )
    begins = episode.at if found.valid_from is None else min(found.valid_from, episode.at)
    return Memory(
        id=found.id,
        kind=Kind.FACT,
        text=_plain(found.text),
        about=about,
        subject_id=_person(world, about),
        told_by=teller,
        conversation_id=episode.conversation_id,
        turns=_likeliest(found.text, said),
        partner_id=episode.partner_id,
        valid_from=begins,
        known_from=episode.at,
        replaces=found.replaces,
    )


def _plain(text: str) -> str:
    return one_line(without_marks(text))


def _person(world: WorldView, name: str) -> str | None:
    """The id of the one who alone is called so."""
    return next((one for one in world.cast.everybody if world.own_name(one) == name), None)


def _likeliest(text: str, said: Iterable[HeardTurn]) -> tuple[int, ...]:
    """The turn that shares the most words with the text; none, where none shares any."""
    words = frozenset(tokens(text))
    shared = {one.turn: len(words & frozenset(tokens(one.text))) for one in said}
    best = max(shared, key=lambda turn: shared[turn], default=None)
    return () if best is None or not shared[best] else (best,)
