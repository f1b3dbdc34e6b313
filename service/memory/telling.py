"""Owns how what is remembered reads to the one who remembers it, truth by form; and how a line of a prompt is referred
to (``memory:…``, ``turn:conversation/3``), and found again.

What its author wrote, or what it perceived itself, stands by itself. Whatever it was told is told with who told it, and
when; so it is true whatever is the case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import tuple_
from sqlmodel import Session, SQLModel, col, select

from service.llm.chat import estimate_tokens
from service.llm.marks import without_marks
from service.memory.lexical import normal
from service.memory.record import (
    ANYBODY,
    Episode,
    Group,
    HeardTurn,
    Item,
    Kind,
    Memory,
    Mode,
    Recalled,
    Source,
    Support,
    turn_key,
)
from service.people.commitments import as_commitment, commitment_line
from service.people.worlds import WorldView
from service.store.session import Database
from service.store.shown import ToldWorldTime
from service.store.tables import CommitmentRow, MemoryRow, SummaryRow, TurnRow
from world.time import WorldTime

_ENDS = ".。 "
_STOPS, _CLOSES = ".。!?！？…", "\"'”’」』"
"""What a sentence ends with, and what may stand after it: such a sentence needs no full stop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """Lines of a prompt, and the references to what they tell of (telling.py)."""

    lines: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


class _Group(NamedTuple):
    """What stands together in a line: of what sort, and from whom ("": nobody)."""

    sort: str
    person_id: str


_ALONE = _Group("", "")


def said_of(text: str) -> str:
    """What a sentence says, by which it is found again in another text: without its end."""
    return normal(text).rstrip(f"{_ENDS}!?")


def one_line(text: str) -> str:
    """The text without line breaks and repeated white space."""
    return " ".join(text.split())


def plain(text: str) -> str:
    """The text on one line, without control tokens and template marks."""
    return one_line(without_marks(text))


def clause(world: WorldView, one: Memory, *, dated: bool = False) -> str:
    """What a memory says, without its teller: with through whose hands it came, and how it was meant. `dated`: and when
    it was learned.
    """
    text = one.text
    if one.via:
        came = world.say("common.comma").join(map(world.name_of, reversed(one.via)))
        text = world.say("remembered.by_way_of", text=text.rstrip(_ENDS), source=came)
    notes = [world.say(f"remembered.meant.{one.mode}")] if one.mode is not Mode.STATED else []
    notes += [_confided(world, one)] if one.kept_from else []
    notes += [world.say("remembered.unsure")] if one.support is Support.UNSURE else []
    notes += [world.ago(one.known_from)] if dated else []
    if one.quote:
        text = world.say("remembered.quoted", text=text.rstrip(_ENDS), quote=one.quote)
    return world.say("remembered.noted", text=text.rstrip(_ENDS), notes="; ".join(notes)) if notes else text


def _confided(world: WorldView, one: Memory) -> str:
    if ANYBODY in one.kept_from:
        return world.say("remembered.in_confidence")
    names = world.say("common.comma").join(map(world.name_of, one.kept_from))
    return world.say("remembered.kept_from", names=names)


def told_of(world: WorldView, item: Item, owner_id: str) -> str:
    """What the owner is told of it, without when: with who told it, where it was told."""
    if isinstance(item, HeardTurn):
        text = f"{_label(world, item, owner_id)}: {item.text}"
        return world.say("remembered.overheard", text=text) if item.overheard else text
    if isinstance(item, Episode):
        return episode_told(world, item)
    group = _group(item, owner_id)
    return clause(world, item) if group == _ALONE else _grouped(world, group, [clause(world, item)])


def episode_told(world: WorldView, one: Episode) -> str:
    """A summary; but for an author's, as what one recalls of the talk: a second model may obey what was said in it."""
    if one.support is Support.AUTHOR or not one.partner_id:
        return one.text
    return world.say("remembered.recalled_talk", name=world.name_of(one.partner_id), summary=one.text)


def remembered_as(world: WorldView, one: Recalled | Item, owner_id: str) -> str:
    """A line of its own that tells the owner of it: with when it was learned, or said."""
    item = one.item if isinstance(one, Recalled) else one
    return f"({world.ago(item.known_from)}) {told_of(world, item, owner_id)}"


def in_turn(world: WorldView, said: Iterable[HeardTurn], owner_id: str) -> list[str]:
    """Turns as the owner heard them one after another, what one speaker said at one time in one line; with when, where
    that is another time than that of the line before.
    """
    lines, before, spoke = list[str](), "", ""
    for one in said:
        since = world.ago(one.known_from)
        if (since, one.speaker_id) == (before, spoke):
            lines[-1] += f" … {one.text}"
        else:
            line = f"{_label(world, one, owner_id)}: {one.text}"
            lines.append(line if since == before else f"({since}) {line}")
        before, spoke = since, one.speaker_id
    return lines


def _label(world: WorldView, one: HeardTurn, owner_id: str) -> str:
    return world.say("remembered.you") if one.speaker_id == owner_id else one.speaker_name


def tell(world: WorldView, owner_id: str, found: Iterable[Recalled], *, tokens: int, told: Iterable[str] = ()) -> Told:
    """What the owner is told of what was found, best first, in at most so many tokens: what one teller told stands in
    one line. What does not fit is passed over, and what stands in a text that is `told` already, or in a line before,
    also as another memory of the same turn. Of several values of one slot the newest comes first, and the older ones
    are marked.
    """
    known, sources = [normal(text) for text in told], set[str]()
    groups: dict[_Group, list[str]] = {}
    refs: list[str] = []
    for item, is_old, beside in _newest_first(found):
        said = said_of(item.text)
        turns = turns_of(item)
        if any(said in text for text in known) or (isinstance(item, HeardTurn) and turns & sources):
            continue
        group = _group(item, owner_id) if isinstance(item, Memory) else _ALONE
        if group == _ALONE:
            line = remembered_as(world, item, owner_id)
        elif isinstance(item, Memory):
            line = clause(world, item, dated=True)
        if beside is not None and turns.isdisjoint(sources) and said_of(beside.text) not in known:
            both = _exchange(world, owner_id, item, beside)
            if estimate_tokens(both) <= tokens:
                line, turns = both, turns | turns_of(beside)
        line = world.say("remembered.before", text=line.rstrip(_ENDS)) if is_old else line
        taken = estimate_tokens(line)
        if group != _ALONE and group not in groups:
            taken += estimate_tokens(_grouped(world, group, []))
        if taken > tokens:
            continue
        tokens -= taken
        known.append(said)
        sources |= turns
        refs.append(ref_of(item))
        groups.setdefault(group if group != _ALONE else _Group(line, ""), []).append(line)
    lines = (lines[0] if group.sort == lines[0] else _grouped(world, group, lines) for group, lines in groups.items())
    return Told(lines=tuple(lines), refs=tuple(dict.fromkeys(refs)))


def _exchange(world: WorldView, owner_id: str, one: Item, beside: HeardTurn) -> str:
    """A question with its answer, in the order in which they were said."""
    said = [turn for turn in sorted((one, beside), key=lambda turn: turn.id) if isinstance(turn, HeardTurn)]
    told = " / ".join(f"{_label(world, turn, owner_id)}: {turn.text}" for turn in said)
    told = world.say("remembered.overheard", text=told) if said[0].overheard else told
    return f"({world.ago(said[0].known_from)}) {told}"


def _newest_first(found: Iterable[Recalled]) -> list[tuple[Item, bool, HeardTurn | None]]:
    """The items in their order, but the values of one slot among themselves the newest first; which are older; and
    what stands beside each.
    """
    found = list(found)
    items = [one.item for one in found]
    slots: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if isinstance(item, Memory) and item.slot and item.mode is Mode.STATED:
            slots.setdefault(item.slot, []).append(place)
    old = set[int]()
    for places in slots.values():
        values = sorted((items[place] for place in places), key=lambda one: -one.known_from)
        for place, value in zip(places, values, strict=True):
            items[place] = value
        old.update(places[1:])
    return [(item, place in old, one.beside) for place, (item, one) in enumerate(zip(items, found, strict=True))]


def turns_of(item: Item) -> set[str]:
    """The turns that it is, or was drawn from."""
    if isinstance(item, HeardTurn):
        return {item.id}
    return {turn_key(item.conversation_id, turn) for turn in item.turns} if isinstance(item, Memory) else set()


def _group(one: Memory, owner_id: str) -> _Group:
    """The group it stands in, in a prompt. A plan of two, or what nobody in particular said, is of their talk."""
    if one.kind is Kind.INSIGHT and one.source is not Source.GOAL:
        return _Group("thought", "")
    if one.is_bare:
        return _ALONE
    if one.told_by == owner_id:
        return _Group("self", "")
    if one.told_by:
        return _Group("told", one.told_by)
    return _Group("talk", one.partner_id) if one.partner_id else _Group("heard", "")


def _grouped(world: WorldView, group: _Group, told: Sequence[str]) -> str:
    name = world.name_of(group.person_id) if group.person_id else ""
    full_stop = world.say("common.full_stop")
    stop, gap = full_stop[:1], full_stop[1:]
    ended = (one if one.rstrip(_CLOSES)[-1:] in _STOPS else one + stop for one in map(str.strip, told))
    return world.say(f"remembered.group.{group.sort}", name=name, told=gap.join(ended))


RowT = TypeVar("RowT", bound=SQLModel)


class MemoryKind(StrEnum):
    """What somebody knows that its prompts may hold."""

    MEMORY = "memory"
    """Something it remembers, of whatever kind (memory/record.py)."""
    TURN = "turn"
    """A turn, by its conversation and number."""
    TALK = "talk"
    """The summary of a conversation."""
    PROMISE = "promise"
    """A promise, by it or to it."""
    LORE = "lore"
    """What its author lets people know (content/lore.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """What a reference leads to. `text`, `at` and where it comes from are null where it is not there any more."""

    kind: MemoryKind
    """memory: something it remembers; turn: of a conversation; talk: the summary of one; promise: by it or to it; lore:
    what the game's files let it know"""
    id: str
    """id of the memory; of a turn its conversation, a slash and its number"""
    text: str | None
    """the memory in words; null: it is not there any more"""
    at: ToldWorldTime | None
    """the world time since when it is remembered; null: it is gone"""
    conversation_id: str | None
    """the conversation it comes of; null: of none, or it is gone"""
    turn: int | None
    """the turn of that conversation, from 0; null: of none"""
    told_by: str | None = None
    """of a memory: id of who told it, if it was not the one who remembers; null: nobody, or several together"""


def ref(kind: MemoryKind, item_id: str) -> str:
    """The reference to what has that id."""
    return f"{kind}:{item_id}"


def turn_ref(conversation_id: str, turn: int) -> str:
    """The reference to a turn."""
    return ref(MemoryKind.TURN, f"{conversation_id}/{turn}")


def ref_of(item: Item) -> str:
    """The reference to what a search has found."""
    if isinstance(item, Memory):
        return ref(MemoryKind.MEMORY, item.id)
    if isinstance(item, HeardTurn):
        return turn_ref(item.conversation_id, item.turn)
    return ref(MemoryKind.TALK, item.conversation_id)


async def look_up(database: Database, world: WorldView, person_id: str, refs: Sequence[str]) -> tuple[Remembered, ...]:
    """What the person's references lead to, in their order."""
    wanted = [(MemoryKind(kind), item_id) for kind, _, item_id in (one.partition(":") for one in refs)]
    found = dict(await database.read(lambda s: _in_sql(s, world, person_id, wanted)))
    for one in world.cast.lore:
        text = one.text.of(world.language)
        found[MemoryKind.LORE, one.id] = _known(MemoryKind.LORE, one.id, text, world.started_at, None)
    gone = {"text": None, "at": None, "conversation_id": None, "turn": None}
    return tuple(found.get(key) or Remembered(kind=key[0], id=key[1], **gone) for key in wanted)


_Key = tuple[MemoryKind, str]


def _in_sql(session: Session, world: WorldView, person_id: str, wanted: Sequence[_Key]) -> Mapping[_Key, Remembered]:
    own = Group(world_id=world.id, person_id=person_id)
    ids = {kind: [item_id for one, item_id in wanted if one is kind] for kind in MemoryKind}

    def rows(kind: MemoryKind, table: type[RowT], key: str, *mine: Any) -> Iterable[RowT]:
        columns: Any = table
        which = select(table).where(columns.world_id == world.id, getattr(columns, key).in_(ids[kind]), *mine)
        return session.exec(which) if ids[kind] else ()

    turns = [(talk, int(turn)) for talk, _, turn in (one.partition("/") for one in ids[MemoryKind.TURN])]
    said = select(TurnRow).where(
        TurnRow.world_id == world.id, tuple_(col(TurnRow.conversation_id), col(TurnRow.turn)).in_(turns)
    )
    kind = MemoryKind
    found = [
        *(
            _known(kind.TURN, f"{row.conversation_id}/{row.turn}", f"{row.speaker_name}: {row.text}", row.at, row)
            for row in (session.exec(said) if turns else ())
        ),
        *(
            _known(kind.TALK, row.conversation_id, row.summary, row.at, row)
            for row in rows(kind.TALK, SummaryRow, "conversation_id", *own.owns(SummaryRow))
        ),
        *(
            _known(
                kind.MEMORY, row.id, row.text, row.known_from, row, None if row.told_by == person_id else row.told_by
            )
            for row in rows(kind.MEMORY, MemoryRow, "id", *own.owns(MemoryRow), col(MemoryRow.deleted).is_(False))
        ),
        *(
            _known(kind.PROMISE, row.id, commitment_line(world, as_commitment(row), person_id), row.made_at, row)
            for row in rows(kind.PROMISE, CommitmentRow, "id")
        ),
    ]
    return {(one.kind, one.id): one for one in found}


def _known(
    kind: MemoryKind, item_id: str, text: str, at: int, source: object, told_by: str | None = None
) -> Remembered:
    """`source` has a `conversation_id` and a `turn`, or `turns`, where there are any."""
    return Remembered(
        kind=kind,
        id=item_id,
        text=text,
        at=WorldTime(at),
        conversation_id=getattr(source, "conversation_id", None) or None,
        turn=next(iter(getattr(source, "turns", ())), getattr(source, "turn", None)),
        told_by=told_by or None,
    )


def remembered_line(world: WorldView, one: Remembered, then: WorldTime) -> str:
    """How it reads to who asks why: what it was at the moment `then`, since when, and where it comes from."""
    if one.text is None or one.at is None:
        return world.say("why.memory_gone", id=one.id)
    if one.kind is MemoryKind.LORE:
        return world.say("why.lore", text=one.text)
    text = f"{world.name_of(one.told_by)}: {one.text}" if one.told_by else one.text
    since = world.at(then).ago(one.at)
    if one.conversation_id is None:
        return world.say("why.memory", since=since, text=text)
    key = "why.memory_of_talk" if one.turn is None else "why.memory_of_turn"
    return world.say(key, since=since, text=text, conversation=one.conversation_id, turn=one.turn)
