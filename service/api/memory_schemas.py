"""Owns what travels where a past is given, and where single memories are searched, read and changed."""

from typing import Annotated

from pydantic import Field

from service.api.dependencies import NOT_BLANK, Change, MayBeLeftOut, Now, OneToTen, Out, WorldTimeText
from service.api.schemas import OneMemoryOut, Page, RecalledOut
from service.memory.authoring import Action
from service.memory.record import Kind
from service.memory.seeding import Seeded
from service.store.tables import MemoryAuditRow

MOST_TEXT = 2000

NewText = Annotated[str, Field(min_length=1, max_length=MOST_TEXT, pattern=NOT_BLANK)]


class SeededOut(Out, of=Seeded, shows="statements turns summaries insights known"):
    """What became of a past. All of it that is not `waiting` is found by its words."""

    person_id: str = Field(description="id of the one who remembers it now")
    waiting: int = Field(
        description="1 while the graph in Neo4j has yet to be given some of it; it is found all the same"
    )
    pending_vectors: int = Field(
        description="how many of the person's memories are to have a vector and have none yet; 0 where nothing embeds"
    )


class MemoryItemOut(OneMemoryOut):
    """One memory, and what it came of where it was given."""

    given_id: str | None = Field(description="the caller's own id of the line it came of; null: it was learned here")
    given_conversation: str | None = Field(
        description="the caller's own id of the talk that line was of; null: it was of none"
    )
    forgotten_at: WorldTimeText | None = Field(
        description="the world time since which it has faded; null: it is remembered"
    )


class HitOut(MemoryItemOut, RecalledOut):
    """A memory that a search found, and what its score is the sum of."""


class SearchOut(Out):
    """What a search found. Nothing that bears on the query: `found` is false."""

    person_id: str = Field(description="id of the one who remembers")
    query: str = Field(description="what was looked for")
    about: str | None = Field(description="about whom or what it was asked")
    now: Now
    as_of: WorldTimeText = Field(description="the world time whose knowledge was searched")
    found: bool = Field(description="whether any hit bears on the query")
    hits: list[HitOut] = Field(description="the memories found, the best first")


class MemoriesPage(Page):
    """A person's memories one by one, the latest first."""

    person_id: str = Field(description="id of the one who remembers")
    total: int = Field(description="how many there are of what was asked for, on all pages")
    waiting: int = Field(
        description="1 while the graph in Neo4j has yet to be given some of it; it is found all the same"
    )
    pending_vectors: int = Field(
        description="how many of the person's memories are to have a vector and have none yet; 0 where nothing embeds"
    )
    items: list[MemoryItemOut] = Field(description="the memories of this page")


class MemoryIn(
    Change,
    examples={
        "say it otherwise": {"text": "Taro's brother was lost at sea.", "importance": 9},
        "it is over": {"valid_to": "2026-03-01T00:00"},
    },
):
    """What an author changes about one memory. What is left out stays as it is."""

    text: MayBeLeftOut[NewText] = Field(
        default=None, description="what it says: its author says so from then on, whoever told it"
    )
    importance: MayBeLeftOut[OneToTen] = Field(
        default=None, description="of no turn or summary: from 1, small talk, to 10, what changes a life"
    )
    valid_to: Annotated[str, Field(max_length=19)] | None = Field(
        default=None,
        description="of no turn or summary: the world time from which it is no longer true; null: it holds again",
    )


class AuditOut(Out, of=MemoryAuditRow, shows="id memory_id before after reason at written_at"):
    """What was done to a person's memory by hand, once."""

    action: Action = Field(description="what was done")
    kind: Kind | None = Field(description="what the memory is; null: a past was given")
    by: str = Field(validation_alias="author", description="who did it, as the caller said; empty: it did not say")


class AuditPage(Page):
    """What was done to a person's memory by hand, the latest first."""

    person_id: str = Field(description="id of the one who remembers")
    items: list[AuditOut] = Field(description="the entries of this page")
