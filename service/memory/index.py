"""Owns the search in one person's memory: BM25 and cosine, summed, over what is held of it in the process.

The stores only read rows; whoever may answer, and in which order, is decided here. Filters come first, so what is rare
is counted among what may answer, and other people's memories change nothing.
"""

import math
import sys
from array import array
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.memory.episodes import NOTHING, WHOLE, Faded
from service.memory.lexical import (
    asks,
    asks_when,
    dates_named,
    floor,
    names_in,
    normal,
    query_tokens,
    says_little,
    tells_a_time,
    tokens,
    tokens_a_word,
)
from service.memory.ranking import (
    LIKE_ENOUGH,
    NOBODY,
    RECIPE,
    STANDS_OUT,
    Cues,
    Ints,
    Lines,
    Mask,
    QuerySigns,
    Scores,
    Term,
    Weights,
    around,
    by_cues,
    by_likeness,
    by_words,
    enough,
    in_context,
    in_order,
)
from service.memory.record import (
    DEFAULT_IMPORTANCE,
    FACTS,
    VIEWS,
    Episode,
    Group,
    HeardTurn,
    Item,
    Kind,
    Memory,
    Recalled,
    State,
    has_vector,
    turn_key,
)
from world.time import WorldTime

DEFAULT_BYTES = 256 * 1024 * 1024
_INDEX_BYTES = 1500
"""Of one that holds nothing yet."""

Packed = tuple[Kind, str, bytes]
"""The vector of an item: its kind, its id, float16."""

NEVER = np.iinfo(np.int64).max
"""The world time of what has not ended."""

_KINDS = {kind: number for number, kind in enumerate(Kind)}
_ITEM_BYTES = 1000
_TOKEN_BYTES = 450

# Columns of the table of numbers. _ASKS, _TIME and _FADED are 1 where it is a question, tells a time, and has faded.
_KIND, _VALID, _INVALID, _CREATED, _EXPIRED, _ENTITY, _PARTNER, _CONVERSATION, _TURN, _SPEAKER = range(10)
_ASKS, _TIME, _IMPORTANCE, _LENGTH, _WORDS, _VECTOR, _FADED = range(10, 17)
_COLUMNS = 17

_DIGITS = 9
"""Scores that differ later are equal: sums depend in their last digits on the order in which a memory was read."""

SAYS_LITTLE = 12
"""An answer of fewer words says little without its question."""

MOST_FADED = 0.25
"""Share of what is held that may have faded: of more the memory is read anew, without it."""


class OtherDay(Exception):
    """Somebody has asked the same memory on another world day in between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallQuery:
    """What recall was asked. `vector` is the query's, shape (dimensions,); None: words only. `day` is the world day by
    which memories have faded.
    """

    query: str
    at: WorldTime
    kinds: Collection[Kind] = FACTS
    about: str | None = None
    partner_id: str | None = None
    limit: int = 10
    history: bool = False
    vector: Vectors | None = None
    day: int = WHOLE

    @property
    def is_filtered(self) -> bool:
        """Whether `about` or `partner_id` chooses who may answer."""
        return self.about is not None or self.partner_id is not None


class PersonIndex:
    """One person's memory. Whoever fills it holds its `lock` from reading `state` on; asking takes the lock itself.

    `is_read`: the store was asked. `state`: how far it has been read (None: not at all). `space`: which vectors the
    memory has. `day`: the world day by which memories have faded in it.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.barred: Collection[tuple[Kind, str]] = ()
        """kinds and ids of what is deleted: it is not taken in, whatever the store still has of it"""
        self.clear()

    def clear(self) -> None:
        """Let go of everything, to read it anew. What is deleted is so still."""
        self.is_read = False
        self.state: State | None = None
        self.space: VectorSpace = NO_VECTORS
        self.day = WHOLE
        self.faded: Faded = NOTHING
        self._items: list[Item] = []
        self._places: dict[tuple[Kind, str], int] = {}
        self._names: dict[str, int] = {}
        self._company: dict[str, list[int]] = {}
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._numbers = _GrowingRows(np.empty((0, _COLUMNS), dtype=np.int64), by_column=True)
        self._matrix: _GrowingRows | None = None
        self._lines: Lines | None = None
        self._speakers: dict[str, int] = {}
        self._cited = array("q")
        self._uncited: list[tuple[int, tuple[Kind, str]]] = []
        self._held_bytes = 0
        self._embeddable = 0
        self._embedded = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def items(self) -> list[Item]:
        """All that is remembered, what has ended too."""
        with self.lock:
            faded = self._numbers.filled[:, _FADED]
            return [item for item, gone in zip(self._items, faded, strict=True) if not gone]

    @property
    def lacking(self) -> int:
        """How many are to have a vector and have none."""
        return self._embeddable - self._embedded

    @property
    def bytes(self) -> int:
        """About how many bytes are held."""
        vectors = 0 if self._matrix is None else self._matrix.bytes
        return _INDEX_BYTES + self._held_bytes + self._numbers.bytes + vectors

    def fade(self, day: int, faded: Faded) -> None:
        """Go on to a world day: what has faded by then does not answer any more."""
        back = self.faded.talks.keys() - faded.talks.keys() | self.faded.insights.keys() - faded.insights.keys()
        gone = [faded.forgotten_at(item) is not None for item in self._items]
        if back or sum(gone) > MOST_FADED * len(gone):
            self.clear()
        else:
            self._numbers.filled[:, _FADED] = gone
            self._lines = None
        self.day, self.faded = day, faded

    def take(self, items: Iterable[Item]) -> None:
        """Take in what was read, but for what has faded. An item that is held already is replaced: its times may have
        changed, its text not.
        """
        new: list[list[int]] = []
        for item in items:
            key = item.kind, item.id
            if key in self.barred:
                continue
            place = self._places.get(key)
            if place is None:
                if self.faded.forgotten_at(item) is not None:
                    continue
                place = self._places[key] = len(self._items)
                self._items.append(item)
                for other_id in item.others:
                    self._company.setdefault(other_id, []).append(place)
                for turn in item.turns if isinstance(item, Memory) else ():
                    self._uncited.append((place, (Kind.TURN, turn_key(item.conversation_id, turn))))
                new.append([*self._row(item), *self._post(item, place), NOBODY, 0])
            else:
                self._items[place] = item
                self._numbers.filled[place, :_LENGTH] = self._row(item)
                self._lines = None
        self._numbers.append(np.array(new, dtype=np.int64).reshape(-1, _COLUMNS))
        if new:
            self._lines = None

    def take_vectors(self, rows: Sequence[Packed]) -> None:
        """Take in vectors of items; those of items that are not held are passed over."""
        known = [(self._places[kind, key], packed) for kind, key, packed in rows if (kind, key) in self._places]
        if not known:
            return
        halves = np.frombuffer(b"".join(packed for _, packed in known), dtype=np.float16).reshape(len(known), -1)
        if self._matrix is None:
            self._matrix = _GrowingRows(np.empty((0, halves.shape[1]), dtype=np.float32))
        places = np.array([place for place, _ in known])
        vectors = halves.astype(np.float32)
        held = self._numbers.filled[places, _VECTOR]
        self._matrix.filled[held[held >= 0]] = vectors[held >= 0]
        new = np.flatnonzero(held < 0)
        self._numbers.filled[places[new], _VECTOR] = np.arange(new.size) + len(self._matrix)
        self._matrix.append(vectors[new])
        self._embedded += new.size

    def rank(self, asked: RecallQuery, weights: Weights = RECIPE) -> list[Recalled]:
        """The best `limit` answers.

        Raises:
            OtherDay: what is held is the memory of another world day.
        """
        with self.lock:
            if asked.day != self.day:
                raise OtherDay
            chosen = self._chosen(asked)
            if not chosen.any():
                return []
            if asked.query.strip():
                chosen, parts, bears, answers = self._score(asked, chosen, weights)
            else:
                parts, bears, answers = {"about": self._nearness(asked.about, chosen)}, chosen, chosen
            scores: Scores = sum(parts.values(), start=np.zeros(len(chosen)))
            return [
                Recalled(
                    item=self._items[place],
                    score=score,
                    bears=bool(bears[place]),
                    answers=bool(answers[place]),
                    parts={name: float(values[place]) for name, values in parts.items()},
                    beside=self._beside(place),
                )
                for place, score in self._best(np.flatnonzero(chosen), scores, asked.limit)
            ]

    def without_vector(self, limit: int) -> list[Item]:
        """The newest `limit` of what is to have a vector and has none yet."""
        with self.lock:
            numbers = self._numbers.filled
            lacking = (numbers[:, _VECTOR] < 0) & np.fromiter(map(has_vector, self._items), np.bool_, len(self._items))
            places = np.flatnonzero(lacking)
            newest = places[np.argsort(-numbers[places, _CREATED], kind="stable")][:limit]
            return [self._items[place] for place in newest.tolist()]

    def _chosen(self, asked: RecallQuery) -> Mask:
        """Who may answer. A turn that facts were taken from has them speak for it."""
        numbers = self._numbers.filled
        chosen = self._known(asked)
        if Kind.TURN in asked.kinds and len(asked.kinds) > 1:
            told = np.zeros(len(self._in_order()), dtype=np.bool_)
            told[self._told_lines(asked)] = True
            chosen &= ~(told[self._in_order().line] & (numbers[:, _KIND] == _KINDS[Kind.TURN]))
        if set(asked.kinds) != set(Kind):
            chosen &= np.array([kind in asked.kinds for kind in _KINDS])[numbers[:, _KIND]]
        if asked.is_filtered:
            chosen &= self._touches(asked.about) | self._with(asked.partner_id)
        return chosen

    def _beside(self, place: int) -> HeardTurn | None:
        """The turn after a question, or after what another one said; the question before a short answer."""
        lines, numbers, item = self._in_order(), self._numbers.filled, self._items[place]
        if not isinstance(item, HeardTurn):
            return None
        here, is_short = int(lines.line[place]), numbers[place, _WORDS] < SAYS_LITTLE
        goes_on = numbers[place, _ASKS] or item.speaker_id == item.partner_id
        near = here + 1 if goes_on else here - 1
        if not 0 <= near < lines.turns or lines.talk[near] != lines.talk[here]:
            return None
        other = self._items[lines.places[near]]
        is_pair = goes_on or (is_short and numbers[lines.places[near], _ASKS])
        return other if is_pair and isinstance(other, HeardTurn) else None

    def _told_lines(self, asked: RecallQuery) -> Ints:
        """The lines of the turns from which memories were taken that may answer."""
        numbers, lines = self._numbers.filled, self._in_order()
        waiting, self._uncited = self._uncited, []
        for place, key in waiting:
            if key in self._places:
                self._cited.extend((place, self._places[key]))
            else:
                self._uncited.append((place, key))
        memory, turn = np.array(self._cited, dtype=np.int64).reshape(-1, 2).T
        speaks = np.isin(numbers[:, _KIND], [_KINDS[kind] for kind in asked.kinds if kind not in VIEWS])
        speaks &= (numbers[:, _CREATED] <= asked.at) & (numbers[:, _FADED] == 0)
        return lines.line[turn[speaks[memory]]]

    def _known(self, asked: RecallQuery) -> Mask:
        """What was known at that time, and held true; with `history` also what had ended."""
        numbers, at = self._numbers.filled, asked.at
        expired, invalid = numbers[:, _EXPIRED], numbers[:, _INVALID]
        held = (numbers[:, _VALID] <= at) & np.where(expired != NEVER, at < expired, at < invalid)
        if asked.history:
            held |= (invalid != NEVER) | (expired != NEVER)
        known: Mask = held & (numbers[:, _CREATED] <= at) & (numbers[:, _FADED] == 0)
        return known

    def _in_order(self) -> Lines:
        """The order of what is held, until something new is taken in."""
        if self._lines is None:
            numbers = self._numbers.filled
            is_turn = (numbers[:, _KIND] == _KINDS[Kind.TURN]) & (numbers[:, _FADED] == 0)
            shown = Cues(
                at=numbers[:, _CREATED],
                speaker=numbers[:, _SPEAKER],
                asks=numbers[:, _ASKS],
                tells_a_time=numbers[:, _TIME],
                length=np.log1p(numbers[:, _WORDS]),
            )
            self._lines = in_order(is_turn, numbers[:, _CONVERSATION], numbers[:, _TURN], shown)
        return self._lines

    def _touches(self, about: str | None) -> Mask:
        """Memories that are about it, and whatever names it."""
        numbers = self._numbers.filled
        entity = self._name("entity", None if about is None else normal(about))
        touches: Mask = (numbers[:, _ENTITY] == entity) & (entity != NOBODY)
        asked = set(tokens(about or ""))
        if asked:
            touches |= np.logical_and.reduce([self._holds(token) for token in asked])
        return touches

    def _with(self, partner_id: str | None) -> Mask:
        """What came of talks with that one, and facts about it."""
        partner = self._name("partner", partner_id)
        came: Mask = (self._numbers.filled[:, _PARTNER] == partner) & (partner != NOBODY)
        came[self._company.get(partner_id or "", [])] = True
        return came

    def _holds(self, token: str) -> Mask:
        held = np.zeros(len(self._items), dtype=np.bool_)
        if token in self._postings:
            held[np.frombuffer(self._postings[token][0], dtype=np.uint32)] = True
        return held

    def _score(self, asked: RecallQuery, chosen: Mask, weights: Weights) -> tuple[Mask, dict[str, Scores], Mask, Mask]:
        """Who is found, what makes up how well, who bears on the query, and who answers it."""
        lines = self._in_order()
        visible = self._known(asked)
        terms, named = self._terms(asked.query, lines, visible)
        found = by_words(terms, self._postings, self._numbers.filled[:, _LENGTH], chosen, visible, lines)
        own = np.maximum(found.own, found.own[lines.places[lines.line]])
        scale = float(own[chosen].max()) or 1.0
        wanted = QuerySigns(
            speaker=self._speakers[min(named)] if len(named) == 1 else None,
            when=asks_when(asked.query),
            dates=dates_named(asked.query),
        )
        parts = {
            "words": own / scale,
            "around": in_context(found, scale, lines, weights)[lines.line],
            "cues": by_cues(lines.cues, wanted, weights)[lines.line],
            "importance": weights.importance * (self._numbers.filled[:, _IMPORTANCE] - DEFAULT_IMPORTANCE),
        }
        beside, bears = found.seven[lines.line] > 0, own > 0
        among, here = int(chosen.sum()), lines.line[chosen]
        bears &= float(found.three[here].max()) >= floor(found.asked, among)
        telling = [term.token for term in terms if term.weighs]
        a_word = tokens_a_word(telling)
        is_word = len(telling) < 2 * a_word  # looked up, not asked
        answers = bears & (is_word or float(found.seven[here].max()) >= enough(found.asked, among, a_word))
        if asked.vector is not None and self._matrix is not None:
            rows = self._numbers.filled[:, _VECTOR]
            likeness = by_likeness(asked.vector, self._matrix.filled, rows, chosen)
            compared = chosen & (rows >= 0)
            near = around(likeness, compared, lines)[lines.line]
            parts["cosine"] = weights.likeness * likeness + weights.likeness_around * near
            beside |= likeness >= LIKE_ENOUGH
            stands_out = likeness >= STANDS_OUT + math.sqrt(2 * math.log(max(int(compared.sum()), 1)))
            # Among many turns one is always like the query: that is no answer yet to a question of what was never told.
            is_turn = self._numbers.filled[:, _KIND] == _KINDS[Kind.TURN]
            bears, answers = bears | stands_out, answers | (stands_out & ~is_turn)
        if asked.about is not None:
            parts["about"] = np.where(self._touches(asked.about), weights.touches, 0.0)
        return (chosen if asked.is_filtered else chosen & beside), parts, bears, answers

    def _terms(self, query: str, lines: Lines, visible: Mask) -> tuple[list[Term], frozenset[str]]:
        """What the query asks for, and which speakers it names.

        A name says nothing in the conversations of who bears it: there everything is of them. A query of nothing but
        grammar has to do with that.
        """
        speakers = np.where(visible[lines.places], self._numbers.filled[lines.places, _SPEAKER], NOBODY)
        heard = set(np.flatnonzero(np.bincount(speakers + 1)) - 1)
        rest, named = names_in(query, [name for name, number in self._speakers.items() if number in heard])
        words = query_tokens(rest)
        telling = [word for word in words if not says_little(word)] or ([] if named else words)
        terms = [Term(word) for word in telling]
        for name in named:
            there = np.bincount(lines.talk, weights=speakers == self._speakers[name], minlength=lines.starts.size) > 0
            terms += [Term(word, not telling, there[lines.talk]) for word in query_tokens(name)]
        return terms, named

    def _nearness(self, about: str | None, chosen: Mask) -> Scores:
        """2 touches the entity, 1 shares a conversation with such an item, 0 neither."""
        touches = self._touches(about)
        if about is None or not (touches & chosen).any():
            return np.zeros(len(chosen))
        numbers = self._numbers.filled
        near = np.isin(numbers[:, _CONVERSATION], numbers[touches & chosen, _CONVERSATION])
        return np.where(touches, 2.0, np.where(near, 1.0, 0.0))

    def _best(self, places: Ints, scores: Scores, limit: int) -> list[tuple[int, float]]:
        """Best first; equal ones newest first, then by id."""
        scores = scores.round(_DIGITS)
        if places.size > limit:
            least = np.partition(scores[places], -limit)[-limit]
            places = places[scores[places] >= least]
        if places.size > limit:  # the last of them are equal
            created = self._numbers.filled[places, _CREATED]
            order = np.lexsort((-created, -scores[places]))
            last, after = order[limit - 1], order[limit:]
            equal = (scores[places[after]] == scores[places[last]]) & (created[after] == created[last])
            places = places[order[: limit + np.count_nonzero(equal)]]  # they follow one another

        def order_of(place: int) -> tuple[float, int, Kind, str]:
            item = self._items[place]
            return -scores[place], -item.known_from, item.kind, item.id

        return [(place, float(scores[place])) for place in sorted(places.tolist(), key=order_of)[:limit]]

    def _row(self, item: Item) -> list[int]:
        """The first columns, up to the length."""
        entity = NOBODY
        if isinstance(item, Memory):
            ends = [NEVER if end is None else end for end in (item.ends, item.known_until)]
            times = [item.valid_from, ends[0], item.known_from, ends[1]]
            if item.about:
                entity = self._intern("entity", normal(item.about))
        else:
            times = [item.at, NEVER, item.known_from, NEVER]
        partner = self._intern("partner", item.partner_id) if item.partner_id else NOBODY
        # What came of no conversation stands alone.
        conversation = self._intern("conversation", item.conversation_id or f"{item.kind}:{item.id}")
        turn = NOBODY if isinstance(item, Episode) or item.turn is None else item.turn
        importance = item.importance if isinstance(item, Memory) else DEFAULT_IMPORTANCE
        speaker = NOBODY
        if isinstance(item, HeardTurn):
            speaker = self._speakers.setdefault(item.speaker_name, len(self._speakers))
        signs = speaker, asks(item.text), tells_a_time(item.text)
        return [_KINDS[item.kind], *times, entity, partner, conversation, turn, *signs, importance]

    def _post(self, item: Item, place: int) -> tuple[int, int]:
        """Let its words find it; answers how many tokens there are, and about how many words: two Japanese characters
        are one.
        """
        found = words_of(item)
        counts: dict[str, int] = {}
        for token in found:
            counts[token] = counts.get(token, 0) + 1
        for token, count in counts.items():
            posting = self._postings.get(token)
            if posting is None:
                posting = self._postings[sys.intern(token)] = (array("I"), array("I"))
                self._held_bytes += _TOKEN_BYTES
            posting[0].append(place)
            posting[1].append(count)
        self._embeddable += has_vector(item)
        self._held_bytes += _ITEM_BYTES + 9 * len(counts) + 3 * len(item.text)
        return len(found), len(found) - sum(not token.isascii() for token in found) // 2

    def _name(self, kind: str, text: str | None) -> int:
        return NOBODY if text is None else self._names.get(f"{kind}:{text}", NOBODY)

    def _intern(self, kind: str, text: str) -> int:
        return self._names.setdefault(f"{kind}:{text}", len(self._names))


class IndexCache:
    """The memories held, those asked for least recently let go of at a bound in bytes. Used from many threads."""

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[Group, PersonIndex] = OrderedDict()
        self._sizes: dict[Group, int] = {}
        self._total = 0
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """About how many bytes are held."""
        with self._lock:
            return sum(index.bytes for index in self._held.values())

    def get(self, group: Group, day: int = WHOLE) -> PersonIndex:
        """The person's index; an empty one where none is held. Of a day before the one that is held, one that nobody
        keeps.
        """
        with self._lock:
            index = self._held.setdefault(group, PersonIndex())
            self._held.move_to_end(group)
            return index if index.day <= day else PersonIndex()

    def held(self, group: Group, day: int) -> PersonIndex | None:
        """The person's index as it is; None: it is of another day, or was not read."""
        with self._lock:
            index = self._held.get(group)
            return index if index is not None and index.day == day and index.is_read else None

    def shrink(self, group: Group) -> None:
        """Keep to the bound, now that this person's index may have grown; one that is greater by itself is not kept."""
        with self._lock:
            if group in self._held:
                size = self._held[group].bytes
                self._total += size - self._sizes.get(group, 0)
                self._sizes[group] = size
            while self._held and self._total > self._max_bytes:
                self._drop(next(iter(self._held)))

    def forget_world(self, world_id: str) -> None:
        """Let go of everybody of the world, which is no more."""
        with self._lock:
            for group in [one for one in self._held if one.world_id == world_id]:
                self._drop(group)

    def _drop(self, group: Group) -> None:
        del self._held[group]
        self._total -= self._sizes.pop(group, 0)


class _GrowingRows:
    """Rows of numbers that grow by half, so that adding a few costs little."""

    def __init__(self, empty: npt.NDArray[Any], *, by_column: bool = False) -> None:
        """`by_column`: whole columns are read, and stand together."""
        self._held = empty
        self._order: Literal["C", "F"] = "F" if by_column else "C"
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def bytes(self) -> int:
        return self._held.nbytes

    @property
    def filled(self) -> npt.NDArray[Any]:
        return self._held[: self._size]

    def append(self, rows: npt.NDArray[Any]) -> None:
        needed = self._size + len(rows)
        if needed > len(self._held):
            space = max(needed, len(self._held) * 3 // 2)
            held = np.empty((space, self._held.shape[1]), dtype=self._held.dtype, order=self._order)
            held[: self._size] = self.filled
            self._held = held
        self._held[self._size : needed] = rows
        self._size = needed


def words_of(item: Item) -> list[str]:
    """The tokens an item is found by: of a memory also its quote and whom it is about, of a summary also its topics."""
    found = tokens(item.text)
    if isinstance(item, Memory):
        for more in (item.quote, item.about):
            said = frozenset(found)
            found += [token for token in tokens(more) if token not in said]
    elif isinstance(item, Episode):
        found += [token for topic in item.topics for token in tokens(topic)]
    return found
