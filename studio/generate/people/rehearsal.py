"""Owns a person without a model: put together from authored parts by what the plan says of it. Pure."""

import random
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from service.public.words import Language
from studio.generate.people.asking import MadePerson, folded_name
from studio.generate.people.days import work_of
from studio.generate.people.parts import (
    GENERATIONS,
    WORKING_AGE,
    Parts,
    PersonSlot,
    Pool,
    Sex,
    Temper,
    Tied,
    deal,
    found,
    parts,
)

_ELDER, _ADULT = 60, 28
_EITHER = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)(?:\|([^\[\]|]*))?\]")
_GRUFF = 45
"""From which age on people may be gruff."""
_MOST_FACTS = 6


def person(slot: PersonSlot, language: Language, names_taken: Collection[str]) -> MadePerson:
    """Somebody as the slot says, whose name is none of those taken; the same arguments make the same person. What the
    slot leaves open is dealt out.
    """
    return _Rehearsed(slot, language).person(names_taken)


class _Rehearsed:
    def __init__(self, slot: PersonSlot, language: Language) -> None:
        self._slot, self._parts = slot, parts(language)
        self._rng = random.Random(f"{slot.seed}:person")
        self._is_child = slot.age < WORKING_AGE
        self._pool: Pool = self._parts.child if self._is_child else self._parts.adult
        self._temper = _temper(slot, self._parts)
        self._sex = _sex(slot, self._parts)
        self._work = work_of(slot, language)
        self._is_polite = self._rng.random() < (self._temper.polite + self._sex.polite) / (2 if self._is_child else 1)
        is_gruff = slot.age >= _GRUFF and self._sex.gruff and not self._is_polite
        self._register = 1 if self._is_polite else 3 if is_gruff else 2
        self._me = self._rng.choice(self._sex.me.get(self._voice()) or ("",))

    def person(self, names_taken: Collection[str]) -> MadePerson:
        """All of it."""
        pool, temper, work = self._pool, self._temper, self._work
        pastime = self._one("pastime", [one for one in pool.pastimes if one.since <= self._slot.age])
        past = self._one("past", [one for one in pool.pasts if one.since <= self._slot.age])
        quirk = self._one("quirk", pool.quirks)
        wish = self._one("wish", [one for one in pool.wishes if one.since <= self._slot.age])
        tied = self._tied()
        facts = [self._one("work fact", work.facts), pastime.fact, past.fact, *self._some("tie fact", tied.facts, 1)]
        facts += [f"{name}: {value}" for name, value in self._slot.more.items()]
        dealt = (
            self._both(self._one("greeting", pool.greetings), self._one("small talk", pool.smalltalk)),
            *self._some("work line", work.lines, 2),
            self._one("temper line", temper.lines) if self._rng.random() < 0.5 else quirk.line,
            pastime.line,
            past.line,
            *self._some("tie line", tied.lines, 1),
            wish.line,
            self._one("ask", pool.asks),
            self._one("reply", temper.replies),
            self._one("thanks", pool.thanks),
            self._one("farewell", pool.farewells),
        )
        goals = [{"goal": wish.what, "importance": wish.weight}]
        goals += [{"goal": one, "importance": 5} for one in self._some("work goal", work.goals, 1)]
        whole: dict[str, Any] = {
            "name": self._name(names_taken),
            **self._character(),
            "facts": facts[:_MOST_FACTS],
            "lines": list(dealt),
            "goals": goals,
            "likes": [pastime.what],
            "dislikes": self._some("dislike", pool.dislikes, 2),
            "beliefs": self._some("belief", pool.beliefs, 1),
            "skills": self._some("skill", work.skills, 2),
            "behaviours": [quirk.what],
            "experiences": [past.what],
        }
        return MadePerson.model_validate(self._filled(whole))

    def _voice(self) -> str:
        if self._is_child:
            return "child"
        if self._is_polite:
            return "polite"
        return "elder" if self._slot.age >= _ELDER else "plain"

    def _one(self, pool: str, items: Sequence[Any]) -> Any:
        return deal(self._slot, pool, items)[0]

    def _some(self, pool: str, items: Sequence[str], most: int) -> list[str]:
        return deal(self._slot, pool, items, most)

    def _both(self, one: str, other: str) -> str:
        return self._parts.beside.format(one=one, other=other)

    def _character(self) -> dict[str, Any]:
        """What it is like. Two of one temper and one manner are so many numbers apart that they differ in the rest."""
        temper, pool, number = self._temper, self._pool, self._slot.number
        lap = number // len(pool.manners)
        own = temper.personality[(lap + number) % len(temper.personality)]
        return {
            "personality": self._both(own, pool.manners[number % len(pool.manners)]),
            "tendencies": [
                *self._some("tendency", temper.tendencies, 2),
                pool.tendencies[number % len(pool.tendencies)],
            ],
        }

    def _tied(self) -> Tied:
        """Of one of those it lives with; of living alone; else of a friend."""
        kinds = {tie.kind for tie in self._slot.ties}
        near = [kind for kind in ("partner", "child", "parent", "sibling") if kind in kinds]
        if near:
            return self._parts.ties[near[self._slot.number % len(near)]]
        is_alone = self._slot.lives == "alone" and not self._is_child
        return self._parts.alone if is_alone else self._parts.ties["friend"]

    def _name(self, taken: Collection[str]) -> str:
        """The slot's family name, and a given name that nobody else has; where all are taken, that nobody of the family
        has.
        """
        known = {folded_name(name) for name in taken}
        given, told = [*self._given()], "\n".join(known)
        fresh = [one for one in given if folded_name(one) not in told]
        for family in (self._slot.family_name, *self._order(self._parts.family)):
            for one in (*fresh, *given):
                if folded_name(name := self._full(family, one)) not in known:
                    return name
        return self._full(self._slot.family_name, f"{given[0]} {self._slot.number + 1}")

    def _full(self, family: str, given: str) -> str:
        return self._parts.joint.format(family=family, given=given) if family else given

    def _given(self) -> Iterator[str]:
        """Names of its generation, then of the others."""
        at = 2 if self._slot.age >= _ELDER else 1 if self._slot.age >= _ADULT else 0
        for generation in sorted(GENERATIONS, key=lambda one: abs(GENERATIONS.index(one) - at)):
            yield from self._order(self._sex.given[generation])

    def _order(self, names: Sequence[str]) -> list[str]:
        return self._rng.sample(names, len(names))

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            said = _EITHER.sub(lambda either: either[self._register] or either[min(self._register, 2)], value)
            return said.replace("{me}", self._me).replace("{work}", self._slot.work)
        if isinstance(value, dict):
            return {name: self._filled(one) for name, one in value.items()}
        return [self._filled(one) for one in value] if isinstance(value, list) else value


def _temper(slot: PersonSlot, there: Parts) -> Temper:
    """The temper of that name; else the one whose traits are most like the slot's; else any."""
    known = found("tempers", slot.temper) if slot.temper else None
    if known is not None:
        return there.tempers[known]
    dealt = deal(slot, "temper", list(there.tempers.values()))[0]
    if not slot.traits:
        return dealt
    return max(there.tempers.values(), key=lambda one: (len(slot.traits.items() & one.traits.items()), one is dealt))


def _sex(slot: PersonSlot, there: Parts) -> Sex:
    """The sex of that name; of others, the one whose names anybody may have."""
    return there.sexes[found("sexes", slot.sex) or "other"]
