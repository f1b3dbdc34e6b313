"""Owns what travels where a past is given, and where single memories are searched, read and changed."""

from typing import Annotated, Any

from pydantic import Field

from service.api.fields import NOT_BLANK, Change, MayBeLeftOut, Now, OneToTen, Out, WorldTimeText
from service.api.schemas import Page
from service.memory.authoring import Action
from service.memory.extraction import Mode
from service.memory.record import Kind

MOST_TEXT = 2000

NewText = Annotated[str, Field(min_length=1, max_length=MOST_TEXT, pattern=NOT_BLANK)]


class SeededOut(Out):
    """What became of a past. All of it that is not `waiting` is found by its words."""

    person_id: str = Field(description="id of the one who remembers it now")
    statements: int = Field(description="how many statements became memories")
    turns: int = Field(description="how many turns of talks became memories")
    summaries: int = Field(description="how many summaries of talks became memories")
    insights: int = Field(description="how many insights became memories")
    known: int = Field(description="how many lines had been given before, and changed nothing")
    waiting: int = Field(
        description="1 while the graph in Neo4j has yet to be given some of the person's memory; it is found all the same"
    )
    pending_vectors: int = Field(
        description="how many of the person's memories are to have a vector and have none yet; 0 where nothing embeds"
    )


class MemoryItemOut(Out):
    """One memory: a fact, a turn that was heard, the summary of a talk, or an insight: what the person has come to
    think. What its kind does not have is null.
    """

    id: str = Field(description="what it is called here: its kind and its id", examples=["fact.9f0a3c52"])
    kind: Kind = Field(description="what it is")
    given_id: str | None = Field(description="the caller's own id of the line it came of; null: it was learned here")
    given_conversation: str | None = Field(
        description="the caller's own id of the talk that line was of; null: it was of none"
    )
    text: str = Field(
        description="what may be said of it: the fact or the words it was said in, the turn, the summary, the insight"
    )
    statement: str | None = Field(description="of a fact: the sentence by which it is found")
    words: str | None = Field(description="of a fact: who said it, what was asked before, and what was said")
    stated: bool | None = Field(description="of a fact: it may be told as one; false: only its words are told")
    mode: Mode | None = Field(description="of a fact: how it was meant")
    importance: int | None = Field(description="of a fact or an insight: 1, small talk, to 10, what changes a life")
    tellings: int | None = Field(description="of a fact: how often it was told")
    chain: list[str] | None = Field(
        description="of a fact: ids of those through whose hands it came: first who began it, last who told it"
    )
    subject: str | None = Field(description="of a fact: whom or what it is about")
    relation: str | None = Field(description="of a fact: how subject and object belong together")
    object: str | None = Field(description="of a fact: what is said of the subject")
    speaker_id: str | None = Field(description="of a turn: id of who said it; empty: nobody of this world")
    speaker_name: str | None = Field(description="of a turn: name of who said it")
    overheard: bool | None = Field(description="of a turn: the person took no part in that conversation")
    topics: list[str] | None = Field(description="of a summary: what the talk was about, in a few words")
    evidence: list[str] | None = Field(
        description="of an insight: the talks and facts that it was drawn from", examples=[["talk:6f1c0a94d2b7"]]
    )
    partner_id: str | None = Field(description="whom it was heard from, or whom the talk was with; null: nobody")
    conversation_id: str | None = Field(description="id of the talk it is of; null: it is of none")
    turn: int | None = Field(description="the turn it was said in, counted from 0; null: not known, or of a whole talk")
    at: WorldTimeText = Field(description="the world time since which it is known, or at which it was said")
    ago: str = Field(description="the world time since then, in the world's language")
    valid_from: WorldTimeText | None = Field(description="of a fact: the world time from which it is true")
    valid_to: WorldTimeText | None = Field(
        description="of a fact: the world time from which it is no longer true; null: none is known"
    )
    ended_at: WorldTimeText | None = Field(
        description="of a fact: the world time at which its end was learned; null: none was"
    )
    forgotten_at: WorldTimeText | None = Field(
        description="the world time since which it has faded; null: it is remembered"
    )


class HitOut(MemoryItemOut):
    """A memory that a search found, and what its score is the sum of."""

    score: float = Field(description="how well it answers; orders the hits of one search, and means nothing beyond it")
    parts: dict[str, float] = Field(
        description="what the score is made of: `words` (its own), `around` (the words beside it in its talk), `cues` "
        "(who speaks, when, question or answer, length), `cosine` (likeness, where there are vectors), `about`",
        examples=[{"words": 1.0, "around": 1.8, "cues": -0.2, "cosine": 0.9, "about": 0.0}],
    )
    bears: bool = Field(description="it bears on the query, and is not only the nearest there is")


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
    waiting: int = Field(description="1 while the graph in Neo4j has yet to be given some of it; it is found all the same")
    pending_vectors: int = Field(
        description="how many of the person's memories are to have a vector and have none yet; 0 where nothing embeds"
    )
    items: list[MemoryItemOut] = Field(description="the memories of this page")


class MemoryIn(Change):
    """What an author changes about one memory. What is left out stays as it is."""

    text: MayBeLeftOut[NewText] = Field(
        default=None, description="what it says: of a fact the sentence, told as one from then on"
    )
    importance: MayBeLeftOut[OneToTen] = Field(
        default=None, description="of a fact or an insight: from 1, small talk, to 10, what changes a life"
    )
    valid_to: Annotated[str, Field(max_length=19)] | None = Field(
        default=None, description="of a fact: the world time from which it is no longer true; null: it holds again"
    )


class AuditOut(Out):
    """What was done to a person's memory by hand, once."""

    id: str = Field(description="id of this entry; later ones sort after earlier ones")
    action: Action = Field(description="what was done")
    kind: Kind | None = Field(description="what the memory is; null: a past was given")
    memory_id: str | None = Field(description="what the memory is called; null: a past was given")
    before: dict[str, Any] | None = Field(description="what the memory said before; null: a past was given")
    after: dict[str, Any] | None = Field(
        description="what it says now; of a past how many lines of each kind; null: it is deleted"
    )
    by: str = Field(validation_alias="author", description="who did it, as the caller said; empty: it did not say")
    reason: str = Field(description="why, as the caller said; empty: it did not say")
    at: WorldTimeText = Field(description="the world time at which it was done")
    written_at: str = Field(
        description="the machine's time at which it was done, in UTC", examples=["2026-04-01T12:00:00Z"]
    )


class AuditPage(Page):
    """What was done to a person's memory by hand, the latest first."""

    person_id: str = Field(description="id of the one who remembers")
    items: list[AuditOut] = Field(description="the entries of this page")
