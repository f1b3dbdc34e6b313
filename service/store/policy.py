"""Owns what a table declares of its rows beside its columns: whose they are, which conversation they hang on, from when
they are known, whom they name. Forgetting, going back, copying and comparing walk over these declarations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import JSON, Column, ColumnElement, String, Table, cast, or_
from sqlmodel import SQLModel

TableT = TypeVar("TableT", bound=SQLModel)

POLICIES: dict[str, "Policy"] = {}
"""Those declared, by the name of their table."""

TABLES: dict[str, type[SQLModel]] = {}
"""The tables that declare a policy, by name."""


class GoesWith(StrEnum):
    """What takes a person's row away: that it forgets what it lived through, or that it leaves the world."""

    MEMORY = "memory"
    PERSON = "person"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What becomes of the rows of a table; it stands above the class of the table, as its decorator. Columns are named.

    `whose` is the person whose row it is (None: the world's), and it goes with its memory or with itself (`goes`; None:
    with neither). `names` are the others that it is of: whoever forgets one of them lets go of it; in the `words` of a
    row others may be named, be it one that a model was `shown` or not. `conversation` is the one it hangs on, `turn`
    the turn of that, `known` the world time from which it stands. Of a conversation, a row with a turn came with it,
    one that is known since came of it, and any other was there when it began. From `ended` on it is otherwise: before,
    it had the columns `unended`; it may have ended in a conversation (`ended_in`). `memory` is the id of the memory
    that it is, or goes with, `remembered_as` the kind of memory that it is, in the words of the column `text`.
    `passing` is of the moment: at another one it begins anew; so do the `passing_columns` of a row that stays. Not
    `copied`: it is no part of a story, but of how it came to be. Not `exported`: it is made anew where an export
    is read in; so are rows with the values `unexported`, and the columns that are `here` alone: what a service needs to
    go on, and how it counts.
    """

    whose: str | None = None
    goes: GoesWith | None = None
    names: tuple[str, ...] = ()
    conversation: str | None = None
    turn: str | None = None
    known: str | None = None
    ended: str | None = None
    unended: dict[str, Any] = field(default_factory=dict)
    ended_by: str | None = None
    ended_in: str | None = None
    memory: str | None = None
    remembered_as: str | None = None
    text: str = ""
    words: tuple[str, ...] = ()
    shown: bool = False
    passing: bool = False
    passing_columns: tuple[str, ...] = ()
    copied: bool = True
    exported: bool = True
    unexported: dict[str, str] = field(default_factory=dict)
    here: tuple[str, ...] = ()

    def __call__(self, table: type[TableT]) -> type[TableT]:
        """Declare it of the table."""
        name = str(table.__tablename__)
        POLICIES[name], TABLES[name] = self, table
        return table

    def columns_of(self, table: Table) -> list[Column[Any]]:
        """Those of the table that an export has."""
        apart = ("world_id", *self.here, *self.passing_columns)
        return [column for column in table.c if column.name not in apart]


def going_with(what: GoesWith) -> Iterator[tuple[Any, Policy]]:
    """The tables whose rows go with that of their person, each with its policy."""
    return ((TABLES[name], policy) for name, policy in POLICIES.items() if policy.goes == what)


def names(table: Any, person_id: str) -> ColumnElement[bool]:
    """The row is of that person, beside the one whose it is: a column that says so is its id, or a list with it."""
    columns = [getattr(table, name) for name in POLICIES[table.__tablename__].names]
    return or_(
        *(
            cast(one, String).contains(f'"{person_id}"', autoescape=True)
            if isinstance(one.type, JSON)
            else one == person_id
            for one in columns
        )
    )


def reopened(row: Mapping[str, Any], policy: Policy, gone: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The row without what `gone` rows, by id, have ended: it ends where those did."""
    by = row
    while by[policy.ended_by or ""] in gone:
        by = gone[by[policy.ended_by or ""]]
    return {**row, **{name: by[name] for name in policy.unended}}


def exported() -> list[tuple[Table, Policy]]:
    """The tables that an export holds row by row."""
    tables = ((SQLModel.metadata.tables[name], policy) for name, policy in POLICIES.items())
    return [(table, one) for table, one in tables if one.exported and one.copied and not one.passing]
