"""Owns how one person stands to another, and what mood a person is in: both are the sum of changes that are only added.

A change carries its world time, so the state at any minute is a filter, and a closing that comes late (decision 4) adds
its change where it belongs: affinity is a sum, and the last word in world time holds for what else was judged, and for
mood. The three dimensions are those of LoCoMo's relationship reflection.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal, cast, get_args

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
    (-7, ""),
    (-24, "people.liking.cool"),
    (-59, "people.liking.dislike"),
    (AFFINITY_MIN, "people.liking.hate"),
)
"""Affinity in words: each holds from its number up to the one above; "": nothing is said of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attitude:
    """How an owner stands to another person at one moment.

    `affinity` is -100..100; the others are None while nobody has judged them.
    """

    affinity: int = 0
    power: int | None = None
    """-3 (submits) to 3 (has the say); null: not judged yet"""
    intimacy: int | None = None
    """-3 (closed) to 3 (as close as can be)"""
    task_oriented: int | None = None
    """-3 (company alone) to 3 (the matter at hand alone)"""
    times_met: int = 0
    """how many conversations the two have had"""
    last_met_at: WorldTime | None = None
    """the world time of their last conversation; null: they have not met"""

    @property
    def judged(self) -> "dict[Dimension, int]":
        """The dimensions that somebody has judged, -3..3."""
        return {name: degree for name in DIMENSIONS if (degree := getattr(self, name)) is not None}


Dimension = Literal["power", "intimacy", "task_oriented"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

STRANGERS = Attitude()
"""How two stand who have had nothing to do with each other."""


def bounded_affinity(affinity: int) -> int:
    """Within -100..100."""
    return max(AFFINITY_MIN, min(AFFINITY_MAX, affinity))


def moved_affinity(before: int, proposed: int, step: int) -> int:
    """Affinity after a conversation: what was proposed, but at most `step` away from before, within -100..100."""
    return bounded_affinity(max(before - step, min(before + step, proposed)))


def stance(attitude: Attitude, name: str, language: Language) -> str:
    """How the owner of the attitude stands to the one of that name, said to the owner: its affinity and the three
    dimensions. Of what is about 0 nothing is said; "": of nothing.
    """
    key = next(key for least, key in _LIKING if attitude.affinity >= least)
    liking = key and sentence(language, key, name=name)
    told = [
        sentence(language, f"people.{dimension}.{'up' if degree > 0 else 'down'}_{abs(degree)}")
        for dimension in ("intimacy", "power", "task_oriented")
        if (degree := attitude.judged.get(dimension))
    ]
    if not told:
        return liking and sentence(language, "people.stance.liking", liking=liking)
    *first, last = told
    comma, joint = (sentence(language, f"people.stance.{one}") for one in ("comma", "joint"))
    how = joint.join(filter(None, (comma.join(first), last)))
    return sentence(language, f"people.stance.{'both' if liking else 'how'}", liking=liking, name=name, how=how)


def attitude(session: Session, world_id: str, owner_id: str, other_id: str, at: WorldTime) -> Attitude:
    """How the owner stands to the other at `at`."""
    return sum_of(attitude_changes(session, world_id, at, [owner_id], [other_id]))


def attitudes_among(
    session: Session, world_id: str, person_ids: Collection[str], at: WorldTime
) -> dict[tuple[str, str], Attitude]:
    """How each of these persons stands to each other one at `at`, by owner and other."""
    found = sums_by_pair(attitude_changes(session, world_id, at, person_ids, person_ids))
    return {pair: found.get(pair, STRANGERS) for pair in permutations(person_ids, 2)}


def attitudes_of(
    session: Session, world_id: str, owner_ids: Iterable[str], at: WorldTime
) -> dict[str, dict[str, Attitude]]:
    """How each of the owners stands at `at` to everybody it has had to do with, by owner and by other."""
    by_owner: dict[str, dict[str, Attitude]] = {owner_id: {} for owner_id in owner_ids}
    for (owner_id, other_id), found in sums_by_pair(attitude_changes(session, world_id, at, by_owner)).items():
        by_owner[owner_id][other_id] = found
    return by_owner


def set_affinity(
    session: Session, world: WorldView, owner_id: str, other_id: str, affinity: int, change_id: str
) -> None:
    """From the world's clock on the owner's affinity towards the other is this; the caller commits. The sum as it is
    stored may lie beyond the bounds: changes of talks that overlapped may have led it there.
    """
    changes = attitude_changes(session, world.id, world.now, [owner_id], [other_id])
    session.add(
        AttitudeChangeRow(
            world_id=world.id,
            owner_id=owner_id,
            other_id=other_id,
            id=change_id,
            at=world.now,
            affinity_delta=affinity - sum(one.affinity_delta for one in changes),
        )
    )


def moods(session: Session, world: WorldView, person_ids: Collection[str], cools_hours: int) -> dict[str, Mood]:
    """The mood of each at the moment of `world`. Raises: NotFound."""
    return felt_moods(mood_changes(session, world, person_ids, cools_hours), world, person_ids, cools_hours)


def mood_changes(session: Session, world: WorldView, person_ids: Collection[str], cools_hours: int) -> list[MoodRow]:
    """The moods these persons were put in that are not cool yet at the moment of `world`."""
    rows = select(MoodRow).where(
        MoodRow.world_id == world.id,
        col(MoodRow.person_id).in_(person_ids),
        MoodRow.at <= world.now,
        MoodRow.at > world.now - cools_hours * MINUTES_PER_HOUR,
    )
    return list(session.exec(rows))


def felt_moods(
    changes: Iterable[MoodRow], world: WorldView, person_ids: Collection[str], cools_hours: int
) -> dict[str, Mood]:
    """The mood of each at the moment of `world`, after those changes that came by then: the last one holds, and cools
    to the mood its author wrote `cools_hours` world hours after. Raises: NotFound.
    """
    felt: dict[str, Mood] = {i: world.cast.person(i).mood for i in person_ids}
    for change in sorted(changes, key=lambda one: (one.at, one.id)):
        if change.person_id in felt and 0 <= world.now - change.at < cools_hours * MINUTES_PER_HOUR:
            felt[change.person_id] = cast("Mood", change.mood)
    return felt


def attitude_changes(
    session: Session,
    world_id: str,
    at: WorldTime,
    owner_ids: Collection[str],
    other_ids: Collection[str] | None = None,
) -> list[AttitudeChangeRow]:
    """What changed by `at` about how the owners stand to the others (None: to anybody)."""
    changes = select(AttitudeChangeRow).where(
        AttitudeChangeRow.world_id == world_id,
        col(AttitudeChangeRow.owner_id).in_(owner_ids),
        AttitudeChangeRow.at <= at,
    )
    if other_ids is not None:
        changes = changes.where(col(AttitudeChangeRow.other_id).in_(other_ids))
    return list(session.exec(changes))


def sum_of(changes: Iterable[AttitudeChangeRow]) -> Attitude:
    """The attitude that changes of one owner towards one other make, in the order of their world time."""
    affinity = times_met = 0
    latest: dict[str, Any] = {}
    for change in sorted(changes, key=lambda one: (one.at, one.id)):
        affinity += change.affinity_delta
        times_met += change.met
        # What the change does not name stays as it was.
        said: dict[str, Any] = {name: getattr(change, name) for name in DIMENSIONS}
        said["last_met_at"] = WorldTime(change.at) if change.met else None
        latest |= {name: value for name, value in said.items() if value is not None}
    return Attitude(affinity=bounded_affinity(affinity), times_met=times_met, **latest)


def sums_by_pair(changes: Iterable[AttitudeChangeRow]) -> dict[tuple[str, str], Attitude]:
    """The attitude that the changes make of each owner towards each other that they name."""
    found: defaultdict[tuple[str, str], list[AttitudeChangeRow]] = defaultdict(list)
    for change in changes:
        found[change.owner_id, change.other_id].append(change)
    return {pair: sum_of(some) for pair, some in found.items()}
