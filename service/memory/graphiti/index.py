"""Owns what recall holds of a group in memory: times, people, vectors, words; kept up to date by revision.

Why not in the server: Neo4j reads 10,000 vectors of 384 numbers for one cosine query in 150 ms, and its vector index
ranks all groups together before a group can be chosen: a small group beside large ones is not found at all. A word
that stands in every fact costs 10,000 hits. Held here, a query takes milliseconds: what is read at a query is what was
written since, and the hits of words that were not asked for before (docs/measurements.md).
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from service.memory.embedding.embedder import Vectors
from service.memory.fuse import Scores, fuse
from service.memory.lexical import normal

DEFAULT_BYTES = 256 * 1024 * 1024

MAX_TOKENS = 4_096
"""Tokens of a group whose facts are held; a query has 64 at most."""

Ints = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max
"""Epoch seconds of what has not ended, or of a place that holds no fact."""

COLUMNS = """
    e.seq AS seq, e.valid_at.epochSeconds AS valid_at, e.invalid_at.epochSeconds AS invalid_at,
    e.created_at.epochSeconds AS created_at, e.expired_at.epochSeconds AS expired_at, e.subject AS subject,
    e.object AS object, e.conversation_id AS conversation_id, e.partner_id AS partner_id,
    e.token_count AS token_count, e.fact_id AS id, CASE e.vector_model WHEN $model THEN e.vector END AS vector
"""

# Columns of the table of numbers.
_VALID, _INVALID, _CREATED, _EXPIRED, _SUBJECT, _OBJECT, _EPISODE, _PARTNER, _TOKENS = range(9)
_COLUMNS = 9

_NONE: Ints = np.empty(0, dtype=np.int64)

# Okapi BM25 as usual; a statement names a thing once, so a token counts once.
_K1 = 1.2
_B = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What recall asks of a group. `at` in epoch seconds; `tokens` are those of the query, all of them learnt."""

    at: int
    history: bool
    about: str | None
    partner_id: str | None
    asked: bool
    tokens: Sequence[str]
    limit: int
    vector: Vectors | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """The best, as (seq, score); `unembedded` are the newest candidates without a vector though the query has one."""

    best: list[tuple[int, float]]
    unembedded: list[int]


class GroupIndex:
    """One group. The place of a fact in the arrays is its `seq`. Used from many threads."""

    def __init__(self, epoch: str, dimensions: int) -> None:
        self.epoch = epoch
        self.revision = -1
        self._numbers = np.full((0, _COLUMNS), NEVER, dtype=np.int64)
        self._matrix = np.zeros((0, dimensions), dtype=np.float32)
        self._embedded = np.zeros(0, dtype=np.bool_)
        self._ids: list[str] = []
        self._order: Ints | None = None
        self._keys: dict[str, int] = {}
        self._postings: OrderedDict[str, Ints] = OrderedDict()
        self._posted = 0
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """Bytes held by the arrays."""
        return self._numbers.nbytes + self._matrix.nbytes + self._posted

    @property
    def empty(self) -> bool:
        """Whether nothing was read yet."""
        return self.revision < 0

    def unknown(self, tokens: Sequence[str]) -> list[str]:
        """Those of the tokens whose facts full text was not asked for yet."""
        with self._lock:
            return [token for token in tokens if token not in self._postings]

    def learn(self, tokens: Sequence[str], hits: Sequence[Sequence[int]]) -> None:
        """Keep what full text found for each token; `update` adds to it what is written later."""
        with self._lock:
            for token, seqs in zip(tokens, hits, strict=True):
                self._postings[token] = np.array(seqs, dtype=np.int64)
                self._posted += self._postings[token].nbytes

    def update(self, rows: Sequence[Mapping[str, Any]], revision: int | None = None) -> None:
        """Take in facts read as `COLUMNS`; reading the same twice changes nothing.

        `revision` is the group's as it was read before the rows: all up to it are in. Then the rows bear `lexical`
        too; without, they are the first reading, which full text was asked after.
        """
        with self._lock:
            if rows:
                self._grow(max(row["seq"] for row in rows) + 1)
                places = np.array([row["seq"] for row in rows])
                self._numbers[places] = [self._row(row) for row in rows]
                for row in rows:
                    self._ids[row["seq"]] = row["id"]
                if revision is not None:
                    self._post(rows)
                self._order = None
                given = [(row["seq"], row["vector"]) for row in rows if row["vector"] is not None]
                if given and self._matrix.shape[1]:
                    halves = np.frombuffer(b"".join(packed for _, packed in given), dtype=np.float16)
                    seqs = np.array([seq for seq, _ in given])
                    self._matrix[seqs] = halves.reshape(len(given), -1)
                    self._embedded[seqs] = True
            if revision is not None:
                self.revision = max(self.revision, revision)

    def rank(self, wanted: Wanted) -> Ranked:
        """The filters choose the candidates; the query orders them.

        Where `about` or `partner_id` has chosen, a candidate that shares nothing with the query still follows those
        that do; otherwise it is no answer.
        """
        with self._lock:
            candidates = self._candidates(wanted)
            self._let_go(wanted.tokens)
            if not candidates.size or wanted.limit <= 0:
                return Ranked(best=[], unembedded=[])
            rankings: list[Scores] = []
            unembedded: list[int] = []
            if wanted.asked:
                rankings.append(self._by_words(wanted, candidates))
                if wanted.vector is not None:
                    rankings.append(self._by_likeness(wanted.vector[0], candidates))
                    unembedded = candidates[~self._embedded[candidates]].tolist()
            if not wanted.asked or wanted.about is not None or wanted.partner_id is not None:
                rankings.append(self._by_nearness(wanted, candidates))
        scores = fuse(*rankings)
        order = np.argsort(-scores, kind="stable")[: wanted.limit]
        best = [(int(candidates[place]), float(scores[place])) for place in order.tolist() if scores[place] > 0]
        return Ranked(best=best, unembedded=unembedded)

    def _let_go(self, asked: Sequence[str]) -> None:
        """Keep the postings of the tokens asked last, up to MAX_TOKENS."""
        for token in asked:
            if token in self._postings:
                self._postings.move_to_end(token)
        while len(self._postings) > MAX_TOKENS:
            self._posted -= self._postings.popitem(last=False)[1].nbytes

    def _candidates(self, wanted: Wanted) -> Ints:
        """Places of those that may answer, newest first and then by id: the order that settles equal scores."""
        table, at = self._numbers, wanted.at
        known = table[:, _CREATED] <= at
        expired, invalid = table[:, _EXPIRED], table[:, _INVALID]
        held = (table[:, _VALID] <= at) & np.where(expired != NEVER, at < expired, at < invalid)
        if wanted.history:
            held |= (table[:, _INVALID] != NEVER) | (table[:, _EXPIRED] != NEVER)
        chosen = known & held
        if wanted.about is not None or wanted.partner_id is not None:
            entity, partner = self._entity(wanted.about), self._key("partner", wanted.partner_id)
            near = (table[:, _SUBJECT] == entity) | (table[:, _OBJECT] == entity) | (table[:, _PARTNER] == partner)
            chosen &= near
        places = np.flatnonzero(chosen)
        if self._order is None:
            self._order = np.empty(len(table), dtype=np.int64)
            self._order[np.lexsort((np.array(self._ids), -table[:, _CREATED]))] = np.arange(len(table))
        newest: Ints = places[np.argsort(self._order[places])]
        return newest

    def _by_words(self, wanted: Wanted, candidates: Ints) -> Scores:
        """BM25 counted over the candidates alone: what other characters know changes nothing here."""
        places = np.full(len(self._numbers), -1)
        places[candidates] = np.arange(candidates.size)
        lengths = self._numbers[candidates, _TOKENS]
        weight = (_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0)))
        scores = np.full(candidates.size, np.nan)
        for token in wanted.tokens:
            seqs = self._postings.get(token, _NONE)
            holders = places[seqs[seqs < len(places)]]  # a fact written since the update waits for the next recall
            holders = holders[holders >= 0]
            rarity = np.log1p((candidates.size - holders.size + 0.5) / (holders.size + 0.5))
            scores[holders] = np.nan_to_num(scores[holders]) + rarity * weight[holders]
        return scores

    def _by_likeness(self, vector: npt.NDArray[np.float32], candidates: Ints) -> Scores:
        # einsum and not @: BLAS with more threads than idle cores took twenty times as long.
        likeness = np.einsum("ij,j->i", self._matrix, vector)[candidates].astype(np.float64)
        return np.where(self._embedded[candidates], likeness, np.nan)

    def _by_nearness(self, wanted: Wanted, candidates: Ints) -> Scores:
        """0 touches the entity, -1 shares an episode or another entity with such a fact, -2 neither."""
        entity = self._entity(wanted.about)
        if entity < 0:
            return np.zeros(candidates.size)
        rows = self._numbers[candidates]
        people = rows[:, [_SUBJECT, _OBJECT]]
        touches = (people == entity).any(axis=1)
        near = np.isin(people, people[touches]).any(axis=1) | np.isin(rows[:, _EPISODE], rows[touches, _EPISODE])
        return np.where(touches, 0.0, np.where(near, -1.0, -2.0))

    def _entity(self, name: str | None) -> int:
        return self._key("entity", None if name is None else normal(name))

    def _key(self, kind: str, text: str | None) -> int:
        """-1 for what no fact of the group has."""
        return -1 if text is None else self._keys.get(f"{kind}:{text}", -1)

    def _intern(self, kind: str, text: str) -> int:
        return self._keys.setdefault(f"{kind}:{text}", len(self._keys))

    def _row(self, row: Mapping[str, Any]) -> list[int]:
        return [
            row["valid_at"],
            NEVER if row["invalid_at"] is None else row["invalid_at"],
            row["created_at"],
            NEVER if row["expired_at"] is None else row["expired_at"],
            self._intern("entity", normal(row["subject"])),
            self._intern("entity", normal(row["object"])),
            self._intern("episode", row["conversation_id"]),
            self._intern("partner", row["partner_id"]),
            row["token_count"],
        ]

    def _post(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Let the tokens that were learnt find new facts too."""
        found: dict[str, list[int]] = {}
        for row in rows if self._postings else ():
            for term in row["lexical"].split():
                found.setdefault(term.rpartition("/")[2], []).append(row["seq"])
        for token in found.keys() & self._postings.keys():
            longer = np.union1d(self._postings[token], found[token])
            self._posted += longer.nbytes - self._postings[token].nbytes
            self._postings[token] = longer

    def _grow(self, needed: int) -> None:
        if needed <= len(self._numbers):
            return
        more = max(needed, len(self._numbers) * 3 // 2) - len(self._numbers)
        self._ids.extend([""] * more)
        self._numbers = np.concatenate([self._numbers, np.full((more, _COLUMNS), NEVER, dtype=np.int64)])
        self._matrix = np.concatenate([self._matrix, np.zeros((more, self._matrix.shape[1]), dtype=np.float32)])
        self._embedded = np.concatenate([self._embedded, np.zeros(more, dtype=np.bool_)])


class GroupIndexes:
    """The groups held, the least recently asked dropped at a bound in bytes."""

    def __init__(self, dimensions: int, max_bytes: int = DEFAULT_BYTES) -> None:
        self._dimensions = dimensions
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, GroupIndex] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """Bytes held now."""
        with self._lock:
            return sum(index.bytes for index in self._held.values())

    def get(self, group_id: str, epoch: str) -> GroupIndex:
        """The group's index, a fresh one where the group was forgotten and began anew (another `epoch`)."""
        with self._lock:
            index = self._held.pop(group_id, None)
            if index is None or index.epoch != epoch:
                index = GroupIndex(epoch, self._dimensions)
            self._held[group_id] = index
            return index

    def held(self, group_id: str) -> GroupIndex | None:
        """The group's index where there is one; whether it is of this epoch is not known yet."""
        with self._lock:
            return self._held.get(group_id)

    def shrink(self) -> None:
        """Let go of what is over the bound, save the one asked last."""
        with self._lock:
            while len(self._held) > 1 and sum(index.bytes for index in self._held.values()) > self._max_bytes:
                self._held.popitem(last=False)

    def drop(self, group_id: str) -> None:
        """Let go of a group."""
        with self._lock:
            self._held.pop(group_id, None)
