"""Owns the file of a demography, by which shares people are made, and the plan of them before anybody is: as many of
each kind as the shares ask for, crossed by chance; who lives together and who is friends. What came out is held against
it. Pure.
"""

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby, pairwise
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field
from rich.console import Console
from rich.table import Table

from service.public.files import (
    UNWRITTEN,
    BigFiveEntry,
    Content,
    ContentModel,
    ContentProblem,
    Degree,
    Key,
    Text,
    Words,
    problem,
    quote,
    refusal,
    unknown,
)
from service.public.words import Language, room, sentence
from studio.generate.people.days import known_works, open_posts
from studio.generate.people.households import Somebody, Together, live_together
from studio.generate.people.parts import TRAITS, WORKING_AGE, Lives, PersonSlot, Trait, found, parts

MOST_PEOPLE = 10_000
HOUSEHOLDS = tuple(filter(None, get_args(Lives)))
OLDEST = 120

_AGES = re.compile(r"([0-9]{1,3})(?:\s*[-–〜~]\s*([0-9]{1,3}))?")
_CLOSE = 0.001
"""How far a sum of shares may lie from the whole, as a part of it: thirds are written 0.333."""

Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


def _uniform(value: object) -> object:
    """A list is of equal shares."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return value
    if len(set(value)) != len(value) or not value:
        raise refusal("shares")
    return dict.fromkeys(value, 1 / len(value))


Shares = Annotated[dict[Words, Share], BeforeValidator(_uniform)]
"""What part of the people each value has: a mapping, or a list of values that have the same part."""


class TiesEntry(ContentModel):
    """Who lives together, and how many friends people have."""

    households: Shares = Field(
        default={},
        description="parts of the people who live alone, as a couple, … ; left out: as is usual / "
        "独り暮らし、夫婦などの人の割合。なければふつうの割合",
    )
    friends: float = Field(
        default=2,
        ge=0,
        le=20,
        allow_inf_nan=False,
        description="friends outside the household, on the average / 世帯の外の友人の数(平均)",
    )


class DemographyFile(ContentModel):
    """A demography: which people are to be made, by shares that add up to 1 (or 100), or lists."""

    count: int | None = Field(default=None, ge=1, le=MOST_PEOPLE, description="so many people / 人数")
    seed: int | None = Field(default=None, description="of all chance / 乱数のシード")
    about: Text = Field(default=UNWRITTEN, description="who these people are, in words / どんな人たちか(文)")
    age: Shares = Field(default={}, description='ranges of years, as "18-29" / 年齢の範囲("18-29" など)')
    sex: Shares = Field(default={}, description="as people are to be told of / 性別の呼び方")
    work: Shares = Field(
        default={},
        description="what those of 16 and older do: a facility or an action of the world, or any other work / "
        "16歳以上の人の仕事。施設や行動、またはほかの仕事",
    )
    temper: Shares = Field(default={}, description="what they are like, in a word or some / どんな気質か")
    tempers: dict[Words, BigFiveEntry] = Field(
        default={}, description="the five traits of a temper, by its name / 気質ごとの五因子"
    )
    ties: TiesEntry = Field(default=TiesEntry(), description="households and friends / 世帯と友人")
    npcs: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="the part that stands at posts; left out: a tenth / 持ち場に立つ人の割合。なければ1割",
    )
    more: dict[Words, Shares] = Field(
        default={}, description="further attributes, by their names / そのほかの属性(名前ごと)"
    )

    def by_shares(self) -> Iterator[tuple[Key, Mapping[str, float]]]:
        """Every attribute that the file gives shares of, with its key."""
        yield from (((name,), shares) for name in ("age", "sex", "work", "temper") if (shares := getattr(self, name)))
        if self.ties.households:
            yield ("ties", "households"), self.ties.households
        yield from ((("more", name), shares) for name, shares in self.more.items())


def years_of(text: str) -> range | None:
    """The years of ``"18-29"``, both ends included, or ``"40"``; None: it is no such range."""
    match = _AGES.fullmatch(text.strip())
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, last + 1) if first <= last <= OLDEST else None


def check_demography(demography: DemographyFile, file: str) -> Iterator[ContentProblem]:
    """Every attribute whose shares do not add up, every range of ages that is none or meets another, and every
    household and temper that is not known.
    """
    for key, shares in demography.by_shares():
        total = sum(shares.values())
        if not any(abs(total - whole) <= _CLOSE * whole for whole in (1, 100)):
            yield problem(file, key, "demography.sum", total=f"{total:.6g}")
    yield from _ages(demography, file)
    for kind in demography.ties.households:
        if kind not in HOUSEHOLDS:
            key = ("ties", "households", kind)
            yield unknown(file, key, "demography.unknown_household", kind, HOUSEHOLDS)
    if demography.temper:
        for temper in demography.tempers:
            if temper not in demography.temper:
                yield unknown(file, ("tempers", temper), "demography.unknown_temper", temper, demography.temper)


def _ages(demography: DemographyFile, file: str) -> Iterator[ContentProblem]:
    ranges = {text: years_of(text) for text in demography.age}
    for text, years in ranges.items():
        if years is None:
            yield problem(file, ("age", text), "demography.no_ages", found=quote(text), oldest=OLDEST)
    known = sorted((years.start, years.stop, text) for text, years in ranges.items() if years is not None)
    for (_, stop, one), (start, _, other) in pairwise(known):
        if start < stop:
            yield problem(file, ("age", other), "demography.ages_meet", found=quote(other), other=quote(one))


_NPCS = 0.1
_HOUSEHOLDS = {"alone": 0.2, "couple": 0.2, "family": 0.5, "siblings": 0.05, "shared": 0.05}
_FAMILY_NAMES_FROM = 5
"""So many people have to be there before their names say whether families have names here."""
_LONGEST_GIVEN = 3
"""Letters of a given name where letters are syllables; a longer name has a family name before it."""
_SEXES = ("female", "male")
_USUAL_YEARS = (16, 74)

Whole = Mapping[str, float]
"""What part of the people each value has; in all they are 1."""


Row = dict[str, Any]
"""One value of one attribute: its `share`, how many people come nearest to it (`wanted`), how many the plan has
(`planned`), and how many were `made`.
"""


@dataclass(frozen=True, kw_only=True)
class PeoplePlan:
    """Whom to make. `shares` are of the whole, by attribute; those of `work` are among people of working age."""

    slots: tuple[PersonSlot, ...]
    shares: Mapping[str, Whole]


def sampling_plan(file: DemographyFile, count: int, seed: int, language: Language, world: Content) -> PeoplePlan:
    """The people that the demography asks for, as many as `count`; the same arguments make the same plan.

    What the demography leaves open is uniform: over the works that the world has a place for, and over the parts of the
    language.
    """
    shares = _all_shares(file, language, world)
    rng = random.Random(f"people:{seed}")
    values = {
        name: _crossed(shares[name], count, rng)
        for name in ("age", "sex", "temper", *(f"more.{name}" for name in file.more))
    }
    ages = [rng.choice(_years(text)) for text in values["age"]]
    people = [Somebody(number=n, age=ages[n], sex=values["sex"][n]) for n in range(count)]
    together = live_together(people, quotas(shares["households"], count), file.ties.friends, rng)
    home_of = together.household_of
    works = _works(shares["work"], people, rng)
    together.befriend_colleagues(works, rng)
    names = _family_names(together, language, world, seed)
    npcs = _npcs(shares["npcs"], works, world, rng)
    return PeoplePlan(
        shares=shares,
        slots=tuple(
            PersonSlot(
                number=n,
                seed=seed * 1_000_003 + n,
                age=ages[n],
                sex=values["sex"][n],
                work=works[n],
                temper=values["temper"][n],
                traits=_traits(file, values["temper"][n]),
                household=home_of[n],
                lives=together.kind(together.households[home_of[n]]),
                family_name=names.get(n, ""),
                ties=tuple(sorted(together.ties[n])),
                npc=n in npcs,
                more={name: values[f"more.{name}"][n] for name in file.more},
            )
            for n in range(count)
        ),
    )


def quotas(shares: Whole, count: int) -> dict[str, int]:
    """How many of `count` have each value: by largest remainder, so that no other whole numbers are nearer."""
    whole = sum(shares.values())
    exact = {value: share / whole * count for value, share in shares.items()}
    least = {value: int(part + 1e-9) for value, part in exact.items()}
    rest = sorted(exact, key=lambda value: least[value] - exact[value])[: count - sum(least.values())]
    return {value: number + (value in rest) for value, number in least.items()}


def outcome(plan: PeoplePlan, made: Collection[int]) -> list[Row]:
    """The plan against what came out: `made` are the numbers of the slots for which there is somebody."""
    return [row for attribute in plan.shares for row in _rows(plan, attribute, made)]


def outcome_lines(rows: Iterable[Row], language: Language) -> list[str]:
    """The table of it, for the terminal."""
    table = Table(box=None, pad_edge=False)
    for column in ("attribute", "value", "share", "wanted", "planned", "made"):
        numbers = column not in ("attribute", "value")
        heading = sentence(language, f"demography.columns.{column}")
        table.add_column(heading, justify="right" if numbers else "left", no_wrap=True)
    for attribute, group in groupby(rows, key=lambda row: row["attribute"]):
        for n, row in enumerate(group):
            name = _told("attributes", attribute.removeprefix("more."), language) if n == 0 else ""
            value = _told("values", row["value"], language) if attribute in ("households", "npcs") else row["value"]
            counts = (str(row["wanted"]), str(row["planned"]), str(row["made"]))
            table.add_row(name, value, f"{row['share']:.1%}", *counts)
    console = Console(file=StringIO(), width=200, color_system=None)
    with console.capture() as text:
        console.print(table)
    return [line.rstrip() for line in text.get().splitlines()]


def _told(kind: str, name: str, language: Language) -> str:
    known: str = room(language, "demography").get(f"{kind}.{name}", name)
    return known


def _rows(plan: PeoplePlan, attribute: str, made: Collection[int]) -> Iterator[Row]:
    shares = plan.shares[attribute]
    known = {slot.number: _value(plan, slot, attribute) for slot in plan.slots}
    values = {number: value for number, value in known.items() if value is not None}
    wanted = quotas(shares, len(values))
    planned = Counter(values.values())
    came = Counter(value for number, value in values.items() if number in made)
    for value, share in shares.items():
        counts = {"wanted": wanted[value], "planned": planned[value], "made": came[value]}
        yield {"attribute": attribute, "value": value, "share": share, **counts}


def _value(plan: PeoplePlan, slot: PersonSlot, attribute: str) -> str | None:
    """What the slot has of the attribute; None: it has none of it."""
    match attribute:
        case "age":
            return next(text for text in plan.shares["age"] if slot.age in _years(text))
        case "households":
            return slot.lives
        case "npcs":
            return "post" if slot.npc else "walks"
        case "work" if slot.age < WORKING_AGE:
            return None
    return str(getattr(slot, attribute, None) or slot.more.get(attribute.removeprefix("more."), ""))


def _all_shares(file: DemographyFile, language: Language, world: Content) -> dict[str, Whole]:
    there, npcs = parts(language), _NPCS if file.npcs is None else file.npcs
    return {
        "age": _whole(file.age or dict.fromkeys(there.ages, 1.0)),
        "sex": _whole(file.sex or {there.sexes[one].name: 1.0 for one in _SEXES}),
        "work": _whole(file.work or dict.fromkeys(known_works(world, language), 1.0)),
        "temper": _whole(file.temper or {one.name: 1.0 for one in there.tempers.values()}),
        "households": _whole(file.ties.households or _HOUSEHOLDS),
        "npcs": {"post": npcs, "walks": 1 - npcs},
        **{f"more.{name}": _whole(values) for name, values in file.more.items()},
    }


def _whole(shares: Whole) -> Whole:
    total = sum(shares.values())
    return {value: share / total for value, share in shares.items()}


def _crossed(shares: Whole, count: int, rng: random.Random) -> list[str]:
    values = [value for value, number in quotas(shares, count).items() for _ in range(number)]
    rng.shuffle(values)
    return values


def _years(text: str) -> range:
    years = years_of(text)
    assert years is not None  # noqa: S101 - the file was checked
    return years


def _works(shares: Whole, people: Sequence[Somebody], rng: random.Random) -> list[str]:
    """What each does; "" below working age. Works that belong to some years of life are given to people of these years
    first.
    """
    adults = [one for one in people if one.age >= WORKING_AGE]
    rng.shuffle(adults)
    given = dict[int, str]()
    numbers = quotas(shares, len(adults))
    for least_fit in (False, True):
        for work in sorted(numbers, key=_span):
            free = [one for one in adults if one.number not in given]
            fit = sorted(free, key=lambda one: _off(one.age, work)) if least_fit else free
            fit = [one for one in fit if least_fit or _off(one.age, work) == 0][: numbers[work]]
            given |= {one.number: work for one in fit}
            numbers[work] -= len(fit)
    return [given.get(one.number, "") for one in people]


def _ages_of(work: str) -> tuple[int, int]:
    work_id = found("works", work)
    return parts("en").works[work_id].ages if work_id else _USUAL_YEARS


def _span(work: str) -> int:
    first, last = _ages_of(work)
    return last - first


def _off(age: int, work: str) -> int:
    first, last = _ages_of(work)
    return max(first - age, age - last, 0)


def _traits(file: DemographyFile, temper: str) -> Mapping[Trait, Degree]:
    if temper in file.tempers:
        return {name: degree for name in TRAITS if (degree := getattr(file.tempers[temper], name)) != "medium"}
    temper_id = found("tempers", temper)
    return parts("en").tempers[temper_id].traits if temper_id else {}


def _family_names(together: Together, language: Language, world: Content, seed: int) -> dict[int, str]:
    """One for each household of kin, and each its own for others; none where people are called by one name only."""
    names = world.cast(language).names
    whole = sum(" " in name or "・" in name or (len(name) > _LONGEST_GIVEN and not name.isascii()) for name in names)
    if len(names) >= _FAMILY_NAMES_FROM and 2 * whole < len(names):
        return {}
    order = [name for name in parts(language).family if not any(name in one for one in names)]
    random.Random(f"families:{seed}").shuffle(order)
    kin = together.kin()
    return {number: order[n % len(order)] for n, group in enumerate(kin) for number in group}


def _npcs(shares: Whole, works: Sequence[str], world: Content, rng: random.Random) -> frozenset[int]:
    """Who stands at a post: people who work, as many as the map has room for at most."""
    room_for = min(quotas(shares, len(works))["post"], len(open_posts(world)))
    able = [n for n, work in enumerate(works) if work]
    return frozenset(rng.sample(able, min(room_for, len(able))))
