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
    """What becomes of the rows of a table; it stands above the class of the table, as its decorator. All but `goes`,
    `remembered_as` and the flags are names of columns. Of a conversation's rows, one with a turn came with that turn,
    one that is known since some time came of the conversation, and any other was there when it began.
    """

    whose: str | None = None
    """the person whose row it is; None: it is the world's"""
    goes: GoesWith | None = None
    """what takes it away; None: neither that the person forgets, nor that it leaves"""
    names: tuple[str, ...] = ()
    """the others that it is of: whoever forgets one of them lets go of it"""
    conversation: str | None = None
    """the conversation it belongs to"""
    turn: str | None = None
    """the turn of that conversation"""
    known: str | None = None
    """the world time from which it stands"""
    ended: str | None = None
    """the world time from which it is otherwise; before, its columns were as `unended` says"""
    unended: dict[str, Any] = field(default_factory=dict)
    ended_by: str | None = None
    """the row of the same table that ended it"""
    ended_in: str | None = None
    """the conversation that ended it"""
    memory: str | None = None
    """the id of the memory that it is, or belongs to"""
    remembered_as: str | None = None
    """the kind of memory that it is, or the column that says so; None: it is none"""
    text: str = ""
    """what that memory says"""
    words: tuple[str, ...] = ()
    """where others may be named in words"""
    shown: bool = False
    """a model was shown those words"""
    passing: bool = False
    """it is of the moment: a world that goes back begins without it"""
    passing_columns: tuple[str, ...] = ()
    """columns of the moment, in a row that stays"""
    copied: bool = True
    """it is part of the world's story, which is kept, restored and branched"""
    outlives: bool = False
    """it stays when its world is forgotten"""
    exported: bool = True
    """an export holds it; else it is made anew where one is read in"""
    unexported: dict[str, str] = field(default_factory=dict)
    """rows with these values are not exported"""
    here: tuple[str, ...] = ()
    """columns that are not exported: what a service needs to go on, and how it counts"""

    def __call__(self, table: type[TableT]) -> type[TableT]:
        """Declare it of the table."""
        name = str(table.__tablename__)
        POLICIES[name], TABLES[name] = self, table
        return table

    def columns_of(self, table: Table) -> list[Column[Any]]:
        """Those of the table that an export has."""
        return [one for one in table.c if one.name not in ("world_id", *self.here, *self.passing_columns)]


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
