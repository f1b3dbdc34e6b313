"""Owns the file of a demography: by which shares people are made. Its form, and what must hold in it."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from service.content.fields import UNWRITTEN, ContentModel, ContentProblem, Key, Text, Words, problem, quote, refusal
from service.content.persons import BigFiveEntry
from service.content.references import unknown
from service.generate.people.parts import Lives

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
