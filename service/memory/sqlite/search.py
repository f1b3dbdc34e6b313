"""Owns recall in the sqlite memory graph: who may answer, then full text, likeness and nearness, fused by rank."""

import sqlite3
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from service.memory.embedding.embedder import Vectors
from service.memory.fuse import Scores, fuse
from service.memory.graph import Group, Recalled
from service.memory.lexical import normal, query_tokens, says_little
from service.memory.sqlite.read import group_key, read_facts
from service.memory.sqlite.vector_cache import Fetched, Keys, VectorCache
from service.memory.sqlite.write import term
from world.time import WorldTime

# Those that may answer, newest first and then by id: the order that settles equal scores. Numbers come as one text
# that numpy reads, here and below: a tuple a row takes three times as long.
_CANDIDATES = """
    SELECT group_concat(
        key || ',' || token_count
        || CASE WHEN :ties THEN ',' || subject_key || ',' || object_key || ',' || episode_key ELSE '' END
    ) FROM (
        SELECT key, token_count, subject_key, object_key, episode_key FROM facts
        WHERE group_key = :group AND created_at <= :at
            AND (
                valid_at <= :at AND coalesce(:at < expired_at, :at < invalid_at, 1)
                OR :history AND (invalid_at IS NOT NULL OR expired_at IS NOT NULL)
            )
            AND (
                :everything OR subject_key = :entity OR object_key = :entity
                OR episode_key IN (SELECT key FROM episodes WHERE group_key = :group AND partner_id = :partner)
            )
        ORDER BY created_at DESC, id
    )
"""
_POSTINGS = "SELECT group_concat(rowid) FROM fact_text WHERE fact_text MATCH ?"
_VECTORS = """
    SELECT key, fact_key, vector FROM vectors
    WHERE group_key = ? AND model = ? AND key > ? AND length(vector) = ? ORDER BY key
"""

# Okapi BM25 as usual; a statement names a thing once, so a token counts once.
_K1 = 1.2
_B = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What recall was asked. `vector` is the query's, shape (1, dimensions), of `model`; None: words only."""

    group: Group
    query: str
    at: WorldTime
    about: str | None
    partner_id: str | None
    limit: int
    history: bool
    vector: Vectors | None
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The answers; `unembedded`: candidates without a vector were found though the query has one."""

    facts: list[Recalled]
    unembedded: bool = False


@dataclass(frozen=True, kw_only=True)
class _Candidates:
    """One element a candidate, in the order that settles equal scores. `ties` has the keys of its subject, object and
    episode, shape (size, 3); None where nothing asks for nearness.
    """

    keys: Keys
    token_counts: Keys
    ties: Keys | None

    @property
    def size(self) -> int:
        return len(self.keys)

    @cached_property
    def _by_key(self) -> Keys:
        return np.argsort(self.keys)

    def places_of(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.bool_]]:
        """Where each key stands among the candidates, and which of them do at all."""
        at = np.searchsorted(self.keys, keys, sorter=self._by_key)
        places = self._by_key[np.minimum(at, self.size - 1)]
        return places, self.keys[places] == keys


def search(c: sqlite3.Connection, cache: VectorCache, asked: Question) -> Found:
    """Answer the question on one snapshot.

    The filters choose the candidates; the query orders them. Where `about` or `partner_id` has chosen, a candidate
    that shares nothing with the query still follows those that do; otherwise it is no answer.
    """
    group = group_key(c, asked.group)
    entity = None if group is None or asked.about is None else _entity_key(c, group, asked.about)
    candidates = None if group is None else _candidates(c, group, entity, asked)
    if group is None or candidates is None:
        return Found(facts=[])
    filtered = asked.about is not None or asked.partner_id is not None
    rankings: list[Scores] = []
    unembedded = False
    if asked.query.strip():
        rankings.append(_by_words(c, group, asked.query, candidates))
        if asked.vector is not None:
            likeness = _by_likeness(c, cache, group, asked.model, asked.vector[0], candidates)
            unembedded = bool(np.isnan(likeness).any())
            rankings.append(likeness)
    if filtered or not asked.query.strip():
        rankings.append(_by_nearness(entity, candidates))
    return Found(facts=_best(c, candidates, fuse(*rankings), asked.limit), unembedded=unembedded)


def _entity_key(c: sqlite3.Connection, group: int, name: str) -> int | None:
    found = c.execute("SELECT key FROM entities WHERE group_key = ? AND name = ?", (group, normal(name))).fetchone()
    return None if found is None else int(found[0])


def _candidates(c: sqlite3.Connection, group: int, entity: int | None, asked: Question) -> _Candidates | None:
    """None when there are none."""
    # With `about` alone all are equally near, with `partner_id` alone there is nothing to be near to.
    ties = entity is not None and asked.partner_id is not None
    given = {
        "group": group,
        "at": asked.at,
        "history": asked.history,
        "everything": asked.about is None and asked.partner_id is None,
        "entity": entity,
        "partner": asked.partner_id,
        "ties": ties,
    }
    numbers = _numbers(c.execute(_CANDIDATES, given))
    if not numbers.size:
        return None
    rows = numbers.reshape(-1, 5 if ties else 2)
    return _Candidates(
        keys=np.ascontiguousarray(rows[:, 0]), token_counts=rows[:, 1], ties=rows[:, 2:] if ties else None
    )


def _numbers(found: sqlite3.Cursor) -> Keys:
    (text,) = found.fetchone()
    return np.fromstring(text or "", dtype=np.int64, sep=",")


def _by_words(c: sqlite3.Connection, group: int, query: str, candidates: _Candidates) -> Scores:
    """BM25 counted over the candidates alone: what other characters know changes nothing here.

    Where the query has words that mean something, a fact must share one of them; a query of nothing but grammar
    has to do with that.
    """
    scores, meant = np.zeros(candidates.size), np.zeros(candidates.size, dtype=np.bool_)
    lengths = candidates.token_counts / max(float(candidates.token_counts.mean()), 1.0)
    weight = (_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths))
    asked = query_tokens(query)
    vague = all(says_little(token) for token in asked)
    for token in asked:
        places, known = candidates.places_of(_numbers(c.execute(_POSTINGS, (f'"{term(group, token)}"',))))
        holders = places[known]
        scores[holders] += weight[holders] * np.log1p((candidates.size - holders.size + 0.5) / (holders.size + 0.5))
        if vague or not says_little(token):
            meant[holders] = True
    return np.where(meant, scores, np.nan)


def _by_likeness(
    c: sqlite3.Connection, cache: VectorCache, group: int, model: str, vector: Vectors, candidates: _Candidates
) -> Scores:
    """Cosine with the query."""
    dimensions = len(vector)

    def fetch(after: int) -> Fetched:
        rows = c.execute(_VECTORS, (group, model, after, 2 * dimensions)).fetchall()
        halves = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float16).reshape(len(rows), dimensions)
        keys = np.array([row[1] for row in rows], dtype=np.int64)
        return (rows[-1][0] if rows else after), keys, halves.astype(np.float32)

    keys, matrix = cache.get((group, model, dimensions), fetch)
    places, known = candidates.places_of(keys)
    scores = np.full(candidates.size, np.nan)
    # einsum and not @: BLAS with more threads than idle cores took twenty times as long.
    scores[places[known]] = np.einsum("ij,j->i", matrix, vector)[known]
    return scores


def _by_nearness(entity: int | None, candidates: _Candidates) -> Scores:
    """0 touches the entity, -1 shares an episode or another entity with such a fact, -2 neither."""
    if candidates.ties is None:
        return np.zeros(candidates.size)
    people, episodes = candidates.ties[:, :2], candidates.ties[:, 2]
    touches = (people == entity).any(axis=1)
    near = np.isin(people, people[touches]).any(axis=1) | np.isin(episodes, episodes[touches])
    return np.where(touches, 0.0, np.where(near, -1.0, -2.0))


def _best(c: sqlite3.Connection, candidates: _Candidates, scores: Scores, limit: int) -> list[Recalled]:
    order = np.argsort(-scores, kind="stable")[:limit]
    chosen = [place for place in order.tolist() if scores[place] > 0]
    facts = read_facts(c, candidates.keys[chosen].tolist())
    return [Recalled(fact=fact, score=float(scores[place])) for place, fact in zip(chosen, facts, strict=True)]
