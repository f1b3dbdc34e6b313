"""Owns how one person stands to another, and what mood a person is in: both are the sum of changes that are only added.

A change carries its world time, so the state at any minute is a filter, and a closing that comes late (decision 4) adds
its change where it belongs: affinity is a sum, and the last word in world time holds for stance and mood.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sqlmodel import Session, col, select

from service.content.profile import Mood
from service.locales import Language, sentence
from service.people.worlds import WorldView
from service.store.tables import AttitudeChangeRow, MoodRow
from world.time import MINUTES_PER_HOUR, WorldTime

AFFINITY_MIN, AFFINITY_MAX = -100, 100

_LIKING: tuple[tuple[int, str], ...] = (
    (60, "people.liking.very_fond"),
    (25, "people.liking.fond"),
    (8, "people.liking.well_disposed"),
    (-7, "people.liking.indifferent"),
    (-24, "people.liking.cool"),
    (-59, "people.liking.dislike"),
    (AFFINITY_MIN, "people.liking.hate"),
)
"""Affinity in words: each holds from its number up to the one above."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attitude:
    """How an owner stands to another person at one moment.

    `affinity` is -100..100; `power`, `intimacy` and `task_oriented` are -3..3, None while nobody has judged them.
    `times_met` counts their conversations; `last_met_at` is when the last of them ended.
    """

    affinity: int = 0
    stance: str = ""
    power: int | None = None
    intimacy: int | None = None
    task_oriented: int | None = None
    times_met: int = 0
    last_met_at: WorldTime | None = None


STRANGERS = Attitude()
"""How two stand who have had nothing to do with each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feeling:
    """A mood, and since when a person has been in it."""

    mood: Mood
    since: WorldTime


def bounded_affinity(affinity: int) -> int:
    """Within -100..100."""
    return max(AFFINITY_MIN, min(AFFINITY_MAX, affinity))


def moved_affinity(before: int, proposed: int, step: int) -> int:
    """Affinity after a conversation: what was proposed, but at most `step` away from before, within -100..100."""
    return bounded_affinity(max(before - step, min(before + step, proposed)))


def liking(affinity: int, name: str, language: Language) -> str:
    """How somebody with that affinity (-100..100) likes the one of that name, said to that somebody."""
    return sentence(language, next(key for least, key in _LIKING if affinity >= least), name=name)


def felt_mood(feeling: Feeling | None, authored: Mood, now: WorldTime, cools_hours: int) -> Mood:
    """The mood at `now`: what a person feels cools to its `authored` mood `cools_hours` world hours after it was
    set.
    """
    if feeling is None or now - feeling.since >= cools_hours * MINUTES_PER_HOUR:
        return authored
    return feeling.mood


def attitude(session: Session, world_id: str, owner_id: str, other_id: str, at: WorldTime) -> Attitude:
    """How the owner stands to the other at `at`."""
    found = _attitudes(session, world_id, at, [owner_id], [other_id])
    return found.get((owner_id, other_id), STRANGERS)


def attitudes_between(
    session: Session, world_id: str, one: str, other: str, at: WorldTime
) -> tuple[Attitude, Attitude]:
    """How `one` stands to `other` at `at`, and how `other` stands to `one`."""
    found = _attitudes(session, world_id, at, [one, other], [one, other])
    return found.get((one, other), STRANGERS), found.get((other, one), STRANGERS)


def attitudes_of(
    session: Session, world_id: str, owner_ids: Iterable[str], at: WorldTime
) -> dict[str, dict[str, Attitude]]:
    """How each of the owners stands at `at` to everybody it has had to do with, by owner and by other."""
    by_owner: dict[str, dict[str, Attitude]] = {owner_id: {} for owner_id in owner_ids}
    for (owner_id, other_id), found in _attitudes(session, world_id, at, list(by_owner), None).items():
        by_owner[owner_id][other_id] = found
    return by_owner


def set_affinity(
    session: Session, world: WorldView, owner_id: str, other_id: str, affinity: int, change_id: str
) -> None:
    """From the world's clock on the owner's affinity towards the other is this; the caller commits."""
    stored = _stored_affinity(session, world.id, owner_id, other_id, world.now)
    change = AttitudeChangeRow(
        world_id=world.id,
        owner_id=owner_id,
        other_id=other_id,
        id=change_id,
        at=world.now,
        affinity_delta=affinity - stored,
    )
    session.add(change)


def mood(session: Session, world: WorldView, person_id: str, cools_hours: int) -> Mood:
    """The person's mood at the moment of `world`. Raises: NotFound."""
    return moods(session, world, [person_id], cools_hours)[person_id]


def moods(session: Session, world: WorldView, person_ids: Iterable[str], cools_hours: int) -> dict[str, Mood]:
    """The mood of each at the moment of `world`. Raises: NotFound."""
    authored = {person_id: world.cast.person(person_id).mood for person_id in person_ids}
    rows = select(MoodRow.person_id, MoodRow.mood, MoodRow.at).where(
        MoodRow.world_id == world.id,
        col(MoodRow.person_id).in_(list(authored)),
        MoodRow.at <= world.now,
        MoodRow.at > world.now - cools_hours * MINUTES_PER_HOUR,
    )
    felt: dict[str, Feeling] = {}
    for person_id, name, at in session.exec(rows.order_by(col(MoodRow.at), col(MoodRow.id))):
        known: Mood = next(one for one in get_args(Mood) if one == name)
        felt[person_id] = Feeling(mood=known, since=WorldTime(at))
    return {
        person_id: felt_mood(felt.get(person_id), own, world.now, cools_hours) for person_id, own in authored.items()
    }


def _attitudes(
    session: Session, world_id: str, at: WorldTime, owners: list[str], others: list[str] | None
) -> dict[tuple[str, str], Attitude]:
    changes = select(AttitudeChangeRow).where(
        AttitudeChangeRow.world_id == world_id,
        col(AttitudeChangeRow.owner_id).in_(owners),
        AttitudeChangeRow.at <= at,
    )
    if others is not None:
        changes = changes.where(col(AttitudeChangeRow.other_id).in_(others))
    of_pair: defaultdict[tuple[str, str], list[AttitudeChangeRow]] = defaultdict(list)
    for row in session.exec(changes.order_by(col(AttitudeChangeRow.at), col(AttitudeChangeRow.id))):
        of_pair[row.owner_id, row.other_id].append(row)
    return {pair: _sum_of(rows) for pair, rows in of_pair.items()}


def _sum_of(changes: Iterable[AttitudeChangeRow]) -> Attitude:
    """The attitude that changes in the order of their world time make."""
    affinity = times_met = 0
    latest: dict[str, Any] = {}
    for change in changes:
        affinity += change.affinity_delta
        times_met += change.met
        latest |= _judged(change)
    return Attitude(affinity=bounded_affinity(affinity), times_met=times_met, **latest)


def _judged(change: AttitudeChangeRow) -> Mapping[str, Any]:
    """What the change says anew; what it does not name stays as it was."""
    said: dict[str, Any] = {
        "power": change.power,
        "intimacy": change.intimacy,
        "task_oriented": change.task_oriented,
        "stance": change.stance or None,
        "last_met_at": WorldTime(change.at) if change.met else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _stored_affinity(session: Session, world_id: str, owner_id: str, other_id: str, at: WorldTime) -> int:
    """The sum as it is stored: changes of talks that overlapped may have led it beyond the bounds."""
    deltas = select(AttitudeChangeRow.affinity_delta).where(
        AttitudeChangeRow.world_id == world_id,
        AttitudeChangeRow.owner_id == owner_id,
        AttitudeChangeRow.other_id == other_id,
        AttitudeChangeRow.at <= at,
    )
    return sum(session.exec(deltas))
