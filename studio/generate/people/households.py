"""Owns who lives together and who is friends, in a plan of people: parents are older than their children, nobody has
two homes, ties hold both ways. Pure.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from studio.generate.people.parts import OTHER_SIDE, WORKING_AGE, Lives, Tie, TieKind

_PARENT_GAP = range(18, 43)
"""Years by which a parent is older than its child."""
_PARTNERS, _SIBLINGS, _SHARED = 12, 12, 25
"""Years that such people are apart at most."""
_MOST_CHILDREN = 4
_TRIES = 8
_ATTEMPTS, _ATTEMPTED = 24, 6_000
"""So often households are made anew, and for so many people in all."""


@dataclass(frozen=True, kw_only=True)
class Somebody:
    """One of the people, as far as it matters for ties."""

    number: int
    age: int
    sex: str


@dataclass(kw_only=True)
class Together:
    """Households by their members' numbers, and everybody's ties."""

    households: list[list[int]] = field(default_factory=list)
    ties: defaultdict[int, set[Tie]] = field(default_factory=lambda: defaultdict(set))

    @property
    def household_of(self) -> dict[int, int]:
        """The number of everybody's household."""
        return {number: home for home, members in enumerate(self.households) for number in members}

    def tie(self, one: int, other: int, kind: TieKind) -> None:
        """The other is this to the one; both ways."""
        self.ties[one].add(Tie(other, kind))
        self.ties[other].add(Tie(one, OTHER_SIDE[kind]))

    def are_tied(self, one: int, other: int) -> bool:
        """In whatever way."""
        return any(tie.number == other for tie in self.ties[one])

    def kin(self) -> list[list[int]]:
        """People of one family name: households of kin as a whole, everybody else alone."""
        return [
            group
            for members in self.households
            for group in ([members] if self.kind(members) != "shared" else [[one] for one in members])
        ]

    def kind(self, members: Sequence[int]) -> Lives:
        """What kind of household it is."""
        return kind_of({one: self.ties[one] for one in members})

    def off(self, wanted: Mapping[str, int]) -> int:
        """How far the numbers of people in each kind of household are from those wanted."""
        there = Counter[str]()
        for members in self.households:
            there[self.kind(members)] += len(members)
        return sum(abs(there[kind] - wanted.get(kind, 0)) for kind in {*there, *wanted})

    def befriend_colleagues(self, works: Sequence[str], rng: random.Random) -> None:
        """Tie people of one work to a few of the others."""
        for work in sorted(set(works)):
            numbers = [number for number, one in enumerate(works) if one == work]
            rng.shuffle(numbers)
            for one, other in pairwise(numbers) if work else ():
                if not self.are_tied(one, other):
                    self.tie(one, other, "colleague")


def kind_of(home: Mapping[int, Iterable[Tie]]) -> Lives:
    """What kind of household people are, by their ties."""
    kinds = {tie.kind for ties in home.values() for tie in ties if tie.number in home}
    if len(home) == 1:
        return "alone"
    if "child" in kinds:
        return "family"
    if "partner" in kinds:
        return "couple"
    return "siblings" if "sibling" in kinds else "shared"


def live_together(
    people: Sequence[Somebody], wanted: Mapping[str, int], friends: float, rng: random.Random
) -> Together:
    """Households, as many people in each kind as are wanted and their ages allow: the nearest of some attempts; and
    friends of other households. Children live with parents as long as anybody could be one. Who is left over lives
    alone.
    """
    best = _housed(people, wanted, rng)
    for _ in range(min(_ATTEMPTS, _ATTEMPTED // len(people))):
        if best.off(wanted) == 0:
            break
        best = min(best, _housed(people, wanted, rng), key=lambda one: one.off(wanted))
    _befriend(best, people, round(friends * len(people) / 2), rng)
    return best


def _housed(people: Sequence[Somebody], wanted: Mapping[str, int], rng: random.Random) -> Together:
    made = _Households(people, rng)
    made.families(wanted.get("family", 0))
    made.lost_children()
    made.pairs(wanted.get("couple", 0))
    made.groups("sibling", wanted.get("siblings", 0), 3, _SIBLINGS)
    made.groups("friend", wanted.get("shared", 0), 4, _SHARED)
    made.rest()
    return made.together


class _Households:
    def __init__(self, people: Sequence[Somebody], rng: random.Random) -> None:
        self._rng = rng
        self._free = {one.number: one for one in rng.sample(list(people), len(people))}
        self.together = Together()

    def families(self, wanted: int) -> None:
        """Children first; then, while there is room, people who are grown up and live with their parents."""
        placed, hopeless = 0, set[int]()
        while True:
            small = [one for one in self._free.values() if one.age < WORKING_AGE and one.number not in hopeless]
            grown = [one for one in self._free.values() if one.age >= WORKING_AGE and one.number not in hopeless]
            room = wanted - placed
            if not small and (room < 2 or not grown):
                return
            child = small[0] if small else min(grown, key=lambda one: one.age)
            parents = self._parents(child, may_be_two=room > 2 or bool(small))
            if not parents:
                hopeless.add(child.number)
                continue
            share = -(-len(small) // max(1, room // 4))  # so that all children find a home
            most = min(_MOST_CHILDREN, max(share, self._rng.choice((1, 2, 2, 3))))
            children = [child, *self._more_children(child, parents, most - 1, room - len(parents) - 1)]
            placed += len(parents) + len(children)
            self._settle_family(parents, children)

    def _parents(self, child: Somebody, *, may_be_two: bool) -> list[Somebody]:
        able = [one for one in self._free.values() if one.age - child.age in _PARENT_GAP and one.age > _PARENT_GAP[0]]
        if not able:
            return []
        one = self._rng.choice(able)
        others = [
            other
            for other in able
            if other.sex != one.sex and abs(other.age - one.age) <= _PARTNERS and other is not one
        ]
        return [one, self._rng.choice(others)] if others and may_be_two and self._rng.random() < 0.85 else [one]

    def _more_children(self, child: Somebody, parents: Sequence[Somebody], most: int, room: int) -> Iterable[Somebody]:
        """Children before grown ones; the grown only where there is room. Nobody is left over for whom a family is too
        small.
        """
        able = [
            one
            for one in self._free.values()
            if one is not child
            and one not in parents
            and abs(one.age - child.age) <= _SIBLINGS
            and all(parent.age - one.age in _PARENT_GAP for parent in parents)
        ]
        small = [one for one in able if one.age < WORKING_AGE][:most]
        left = min(most, room) - len(small)
        grown = [one for one in able if one.age >= WORKING_AGE]
        if room - len(small) - max(left, 0) == 1:
            left = max(left, 0) + 1
        return [*small, *grown[: max(left, 0)]]

    def _settle_family(self, parents: Sequence[Somebody], children: Sequence[Somebody]) -> None:
        self._settle((*parents, *children))
        for n, child in enumerate(children):
            for parent in parents:
                self.together.tie(child.number, parent.number, "parent")
            for other in children[:n]:
                self.together.tie(child.number, other.number, "sibling")
        if len(parents) == 2:
            self.together.tie(parents[0].number, parents[1].number, "partner")

    def lost_children(self) -> None:
        """Children for whom nobody could be a parent live with one another, and with somebody grown up."""
        small = [one for one in self._free.values() if one.age < WORKING_AGE]
        for start in range(0, len(small), 4):
            group = small[start : start + 4]
            carer = [one for one in self._free.values() if one.age >= WORKING_AGE][:1]
            self._settle((*group, *carer), "friend")

    def pairs(self, wanted: int) -> None:
        """Partners: of different sexes where there are, and near in age."""
        for mixed in (True, False):
            for one in [one for one in self._free.values() if one.age >= WORKING_AGE + 2]:
                if wanted < 2 or one.number not in self._free:
                    continue
                able = [
                    other
                    for other in self._free.values()
                    if other is not one
                    and other.age >= WORKING_AGE + 2
                    and abs(other.age - one.age) <= (_PARTNERS if mixed else 2 * _PARTNERS)
                    and (not mixed or other.sex != one.sex)
                ]
                if able:
                    other = min(able, key=lambda other: (other.sex == one.sex, abs(other.age - one.age)))
                    self._settle((one, other), "partner")
                    wanted -= 2

    def groups(self, kind: TieKind, wanted: int, most: int, apart: int) -> None:
        """Brothers and sisters, or friends, under one roof."""
        for one in list(self._free.values()):
            if wanted < 2 or one.number not in self._free:
                continue
            near = [o for o in self._free.values() if o is not one and abs(o.age - one.age) <= apart]
            size = wanted if wanted <= 3 else self._rng.choice((2, most - 1, 2))
            group = (one, *near[: size - 1])
            if len(group) < 2:
                continue
            self._settle(group, kind)
            wanted -= len(group)

    def rest(self) -> None:
        """Everybody else lives alone."""
        for one in list(self._free.values()):
            self._settle((one,))

    def _settle(self, members: Iterable[Somebody], kind: TieKind | None = None) -> None:
        """They live together; with a `kind`, each is that to each."""
        numbers = [one.number for one in members]
        self.together.households.append(numbers)
        if kind is not None:
            for one, other in combinations(numbers, 2):
                self.together.tie(one, other, kind)
        for number in numbers:
            del self._free[number]


def _befriend(together: Together, people: Sequence[Somebody], pairs: int, rng: random.Random) -> None:
    """So many friendships, of people near in age, and not all of them one person's."""
    friends = dict.fromkeys((one.number for one in people), 0)
    home = together.household_of
    for _ in range(pairs * _TRIES if len(people) > 1 else 0):
        if pairs == 0:
            return
        one = min(rng.sample(list(people), min(3, len(people))), key=lambda one: friends[one.number])
        others = [other for other in rng.sample(list(people), min(_TRIES, len(people))) if other is not one]
        other = min(others, key=lambda other: (abs(other.age - one.age), other.number), default=None)
        if other is None or home[one.number] == home[other.number] or together.are_tied(one.number, other.number):
            continue
        together.tie(one.number, other.number, "friend")
        friends[one.number] += 1
        friends[other.number] += 1
        pairs -= 1
