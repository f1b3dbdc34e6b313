"""Owns how an NPC feels: mood that cools, affinity that moves by steps, and the rows that keep both."""

from sqlmodel import Session

from service.cast.profile import Mood, NpcProfile
from service.cast.stage import World
from service.store.tables import NpcRow, RelationRow
from world.time import MINUTES_PER_HOUR, WorldTime

AFFINITY_MIN, AFFINITY_MAX = -100, 100


def moved_affinity(before: int, proposed: int, step: int) -> int:
    """Affinity after a conversation: what was proposed, but at most `step` away from before, within -100..100."""
    nearest = max(before - step, min(before + step, proposed))
    return max(AFFINITY_MIN, min(AFFINITY_MAX, nearest))


def felt_mood(mood: Mood, since: WorldTime, now: WorldTime, cools_hours: int) -> Mood:
    """The mood at `now`: a mood cools to neutral `cools_hours` world hours after it was set."""
    return mood if now - since < cools_hours * MINUTES_PER_HOUR else "neutral"


def npc_row(session: Session, world: World, npc: NpcProfile, *, lock: bool = False) -> NpcRow:
    """The NPC's row; before its first conversation a fresh one, in the mood its author gave it.

    With `lock` (inside a write) the row is stored, and held until the transaction ends.
    """
    row = session.get(NpcRow, (world.id, npc.id), with_for_update=lock or None)
    if row is None:
        row = NpcRow(world_id=world.id, npc_id=npc.id, mood=npc.mood, mood_at=world.started_at)
        if lock:
            session.add(row)
            session.flush()
    return row


def mood_of(row: NpcRow, now: WorldTime, cools_hours: int) -> Mood:
    """The mood of an NPC's row at `now`."""
    mood: Mood = "happy" if row.mood == "happy" else "angry" if row.mood == "angry" else "neutral"
    return felt_mood(mood, WorldTime(row.mood_at), now, cools_hours)


def relation_row(session: Session, world_id: str, npc_id: str, character_id: str, *, lock: bool = False) -> RelationRow:
    """The two's row; a fresh one when they never met. With `lock` as in `npc_row`."""
    row = session.get(RelationRow, (world_id, npc_id, character_id), with_for_update=lock or None)
    if row is None:
        row = RelationRow(world_id=world_id, npc_id=npc_id, character_id=character_id)
        if lock:
            session.add(row)
            session.flush()
    return row
