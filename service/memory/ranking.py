"""Owns how well each memory answers: what its own words, those around it, its speaker, its day and its likeness add up
to.

A turn of talk is short and leans on its neighbours: "Six, in two fingers" answers a question of which it holds no word.
So turns are read in their order, and the words are also counted in windows around each, as running sums. Scores are
summed, not ranked. The weights were chosen on other people's dialogues (docs/decisions/0006).
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.memory.embedding.embedder import Vectors
from service.memory.lexical import FEW, Named
from world.time import parse_time

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]
Postings = Mapping[str, tuple[Sequence[int], Sequence[int]]]
"""Of each token the places of the items that hold it, and how often."""

NOBODY = -1
"""Who speaks where nobody does."""

MINUTES_BEFORE_1970 = parse_time("1970-01-01")

# Okapi BM25 for texts of about one sentence: the length says little.
K1 = 0.9
B = 0.4

LIKE_ENOUGH = 1.0
"""Standard deviations of cosine above the mean from which likeness alone makes an answer."""

STANDS_OUT = 0.3
"""So many more standard deviations than the likest of as many unrelated texts is expected to have: it bears on the
query.
"""

BESIDE = 3
"""The words around a turn are counted in so many turns before and after it."""

COUNTED_AT_ONCE = 16384
"""So many numbers at once are quick to count: of fewer the calls cost more, of more the memory."""

_NOWHERE = np.empty(0, dtype=np.int64)
_UNSAID = (array("I"), array("I"))

MOST_OF_IT = 0.7
RARE_WORDS = 2.1
"""An answer: seven neighbouring lines hold most of what the query weighs, or more than two words as rare as a word can
be. Fewer bear on a query and answer none: who asks for what was never told names what was talked of, too.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """What each sign of an answer is worth, beside 1 for the item that fits best by its own words.

    `around`: the words of seven lines. `talk`: the best line of the conversation. `share`: how much of the query three
    lines hold, and seven. `asked`: the line before is a question that fits. `two_back`: the one before that fits.
    `speaker`: whom the query names says it; `any_speaker`: nobody or not one is named. `length`: for each e-fold of
    twelve words. `question`: it is one itself. `day`: it is of the month or year named. `when`: the query asks when,
    and it holds a number or a time. `likeness` and `likeness_around`: a standard deviation of cosine, and of that
    of three lines. `touches`: it is about the entity asked about. `importance`: each step by which it matters more
    than most; it decides among near-equals.
    """

    around: float = 1.0
    talk: float = 1.0
    share: float = 0.5
    asked: float = 0.5
    two_back: float = 0.3
    speaker: float = 1.3
    any_speaker: float = 0.5
    length: float = 0.2
    question: float = -0.2
    day: float = 1.5
    when: float = 0.7
    likeness: float = 1.0
    likeness_around: float = 0.5
    touches: float = 0.3
    importance: float = 0.04


RECIPE = Weights()


class Cues(NamedTuple):
    """What shows in each item, or line, besides its words: when it was said and by whom (`NOBODY`: it is no turn),
    whether it asks and whether it tells a time (1 or 0), and the logarithm of one more than how many words it has.
    """

    at: Ints
    speaker: Ints
    asks: Ints
    tells_a_time: Ints
    length: Scores


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The order in which items stand: the turns of each conversation one after another; then what stands alone.

    `places` are the items of the lines. `line` has the line of each item: a fact has that of the turn it came from.
    `talk` numbers the conversation of each line, `starts` is where each begins. The first `turns` lines are turns.
    `cues` are those of the lines.
    """

    places: Ints
    line: Ints
    talk: Ints
    starts: Ints
    turns: int
    cues: Cues

    def __len__(self) -> int:
        return self.places.size

    @cached_property
    def apart(self) -> Ints:
        """Places for the turns at which conversations stand `BESIDE` apart: nobody has neighbours in another one."""
        return np.arange(self.turns) + BESIDE * self.talk[: self.turns]

    @property
    def width(self) -> int:
        """How many such places there are."""
        return int(self.apart[-1]) + 1 if self.turns else 0

    def around(self, values: Scores, beside: int) -> Scores:
        """The sum of the values of each line and so many beside it; what stands alone has its own."""
        sums, held = values.copy(), np.zeros(self.width)
        held[self.apart] = values[: self.turns]
        sums[: self.turns] = _between(_running(held), beside)[self.apart]
        return sums

    def before(self, values: Scores, lines: int) -> Scores:
        """The value so many lines before, in the same conversation."""
        moved, talk = np.zeros(len(self)), self.talk[: self.turns]
        if lines < self.turns:
            same = talk[lines:] == talk[:-lines]
            moved[lines : self.turns] = np.where(same, values[: self.turns - lines], 0.0)
        return moved

    def best(self, values: Scores) -> Scores:
        """The best value in the conversation of each line."""
        found = values.copy()
        if self.turns:
            talk = self.talk[: self.turns]
            found[: self.turns] = np.maximum.reduceat(values[: self.turns], self.starts[: talk[-1] + 1])[talk]
        return found


def in_order(is_turn: Mask, conversations: Ints, turns: Ints, shown: Cues) -> Lines:
    """Put items, in which that is `shown`, in order; `turns` is -1 where an item came of no turn."""
    keys = conversations << 20 | np.maximum(turns, 0)
    heard = np.flatnonzero(is_turn)
    heard = heard[np.argsort(keys[heard], kind="stable")]
    beside = np.searchsorted(keys[heard], keys)
    known = np.append(keys[heard], -1)[beside] == keys
    stands = (turns >= 0) & known
    alone = np.flatnonzero(~stands)
    line = beside.copy()
    line[alone] = heard.size + np.arange(alone.size)
    begins = np.append(np.diff(conversations[heard], prepend=-1) != 0, np.ones(alone.size, dtype=np.bool_))
    places = np.concatenate([heard, alone])
    return Lines(
        places=places,
        line=line,
        talk=np.cumsum(begins) - 1,
        starts=np.flatnonzero(begins),
        turns=heard.size,
        cues=Cues(*(column[places] for column in shown)),
    )


class Term(NamedTuple):
    """A token of the query. `weighs`: it counts in what the query asks for. It says nothing in the lines `without`."""

    token: str
    weighs: bool = True
    without: Mask | None = None


@dataclass(frozen=True, kw_only=True)
class ByWords:
    """What words give: of each item its own BM25; of each line, with what was taken from it, that of seven, and how
    much of the query, by the rarity of its words, three and seven lines hold; `asked` is how much there was to hold.
    """

    own: Scores
    around: Scores
    three: Scores
    seven: Scores
    asked: float


def by_words(
    terms: Sequence[Term], postings: Postings, lengths: Ints, chosen: Mask, visible: Mask, lines: Lines
) -> ByWords:
    """Count the words of the items that are `visible`. What is rare is counted among those `chosen`."""
    total = max(int(chosen.sum()), FEW)
    norms = _norms(lengths, float(lengths[chosen].mean()))
    stands = visible[lines.places]
    is_base = np.zeros(len(lengths), dtype=np.bool_)
    is_base[lines.places] = stands
    of, places, counts = _posted(terms, postings, visible, is_base, lines)
    holding = np.bincount(of[chosen[places]], minlength=len(terms))
    rarity = np.log1p((total - holding + 0.5) / (holding + 0.5))
    own = _sums(places, rarity[of] * (K1 + 1) * counts / (counts + norms[places]), len(lengths))
    is_said = is_base[places] | (lines.line[places] < lines.turns)  # a line holds what was taken from its turn, too
    for number, term in enumerate(terms):
        if term.without is not None:
            is_said &= ~((of == number) & term.without[lines.line[places]])
    line_lengths = lines.around(np.where(stands, lengths[lines.places], 0).astype(np.float64), BESIDE)
    line_norms = _norms(line_lengths, float(line_lengths[stands].mean()) if stands.any() else 1.0)
    said = _Said(of=of[is_said], at=lines.line[places[is_said]], counts=counts[is_said])
    around, three, seven = _by_line(said, rarity, line_norms, lines)
    asked = float(sum(rare for rare, term in zip(rarity, terms, strict=True) if term.weighs))
    return ByWords(own=own, around=around, three=three, seven=seven, asked=asked)


class _Said(NamedTuple):
    """How often each line holds which of the terms: those of one term stand together."""

    of: Ints
    at: Ints
    counts: Scores

    def where(self, is_so: Mask) -> "_Said":
        """The entries for which it is so."""
        return _Said(self.of[is_so], self.at[is_so], self.counts[is_so])


def _posted(
    terms: Sequence[Term], postings: Postings, visible: Mask, is_base: Mask, lines: Lines
) -> tuple[Ints, Ints, Scores]:
    """Term for term the places of the visible items that hold it, and how often: which term it is, where, and how
    often.
    """
    posted = [postings.get(term.token, _UNSAID) for term in terms]
    of = np.repeat(np.arange(len(terms)), [len(places) for places, _ in posted])
    places = np.concatenate([_NOWHERE, *(places for places, _ in posted)], dtype=np.int64)
    counts = np.concatenate([_NOWHERE, *(counts for _, counts in posted)], dtype=np.float64)
    heard = visible[places]
    for number, term in enumerate(terms):
        if term.without is not None:
            heard &= ~((of == number) & is_base[places] & term.without[lines.line[places]])
    return of[heard], places[heard], counts[heard]


def _by_line(said: _Said, rarity: Scores, norms: Scores, lines: Lines) -> tuple[Scores, Scores, Scores]:
    """What the words around each line are worth, and what three and seven lines hold of them. What stands alone has
    nothing around it, and is counted all at once; turns as many terms at once as are quick to count.
    """
    of, at, counts = said.where(said.at >= lines.turns)
    around = _sums(at, rarity[of] * (K1 + 1) * counts / (counts + norms[at]), len(lines))
    three = _sums(at, rarity[of], len(lines))
    seven = three.copy()
    of, at, counts = said.where(said.at < lines.turns)
    turns, apart, divisor = slice(lines.turns), lines.apart, np.ones(lines.width)
    divisor[apart] = norms[turns]
    together = max(1, COUNTED_AT_ONCE // max(lines.width, 1))
    for first in range(0, rarity.size if at.size else 0, together):
        rare = rarity[first : first + together]
        these = slice(*np.searchsorted(of, (first, first + together)))
        where = (of[these] - first) * lines.width + apart[at[these]]
        held = _sums(where, counts[these], rare.size * lines.width).reshape(rare.size, lines.width)
        running = _running(held)
        of_three, of_seven = _between(running, 1), _between(running, BESIDE)
        around[turns] += np.einsum("t,tl->l", rare * (K1 + 1), of_seven / (of_seven + divisor))[apart]
        three[turns] += np.einsum("t,tl->l", rare, of_three > 0)[apart]
        seven[turns] += np.einsum("t,tl->l", rare, of_seven > 0)[apart]
    return around, three, seven


class QuerySigns(NamedTuple):
    """What a query asks for besides its words: who says it (None: nobody is named, or several are), whether it asks
    when, and the months and years it names.
    """

    speaker: int | None
    when: bool
    dates: Named


def in_context(found: ByWords, scale: float, lines: Lines, weights: Weights) -> Scores:
    """What each line is worth for what stands around it. `scale`: the best by its own words."""
    own = found.own[lines.places] / scale
    return (
        weights.around * found.around / (float(found.around.max()) or 1.0)
        + weights.talk * lines.best(own)
        + weights.share * (found.three + found.seven) / (found.asked or 1.0)
        + weights.asked * lines.before(own * lines.cues.asks, 1)
        + weights.two_back * lines.before(own, 2)
    )


def by_cues(cues: Cues, wanted: QuerySigns, weights: Weights) -> Scores:
    """What each line is worth for who says it and when, and for its form."""
    scores: Scores = weights.length * (cues.length - math.log(12)) + weights.question * cues.asks
    if wanted.speaker is not None:
        speaks = weights.speaker * (cues.speaker == wanted.speaker)
        scores += np.where(cues.speaker == NOBODY, weights.any_speaker, speaks)
    if wanted.when:
        scores += weights.when * cues.tells_a_time
    if any(wanted.dates):
        scores += weights.day * _of(wanted.dates, cues.at)
    return scores


def _of(dates: Named, at: Ints) -> Mask:
    """Which of the times lie in the months and years named."""
    months = (at - MINUTES_BEFORE_1970).astype("datetime64[m]").astype("datetime64[M]").astype(np.int64)
    fits = np.ones(at.size, dtype=np.bool_)
    if dates.months:
        fits &= np.isin(months % 12 + 1, dates.months)
    if dates.years:
        fits &= np.isin(months // 12 + 1970, dates.years)
    return fits


def by_likeness(vector: Vectors, matrix: Vectors, rows: Ints, chosen: Mask) -> Scores:
    """Cosine with the query, in standard deviations from the mean of those who may answer; 0 without a vector."""
    scores = np.zeros(len(chosen))
    places = np.flatnonzero(chosen & (rows >= 0))
    if not places.size:
        return scores
    # einsum and not @: BLAS with more threads than idle cores took twenty times as long.
    likeness = np.einsum("ij,j->i", matrix, vector)[rows[places]].astype(np.float64)
    spread = float(likeness.std())
    if spread > 1e-6:
        scores[places] = (likeness - likeness.mean()) / spread
    return scores


def around(likeness: Scores, compared: Mask, lines: Lines) -> Scores:
    """The mean likeness of the items that were compared in three lines, of each line."""
    places = np.flatnonzero(compared)
    here = lines.line[places]
    sums = _sums(here, likeness[places], len(lines))
    near = lines.around(_sums(here, np.ones(here.size), len(lines)), 1)
    return lines.around(sums, 1) / np.maximum(near, 1.0)


def enough(asked: float, among: int, tokens_a_word: float) -> float:
    """How much of a query some seven lines must hold to be its answer among so many items."""
    return min(MOST_OF_IT * asked, RARE_WORDS * tokens_a_word * math.log1p(max(among, FEW)))


def _norms(lengths: npt.NDArray[np.float64] | Ints, mean: float) -> Scores:
    return K1 * (1 - B + B * lengths.astype(np.float64) / max(mean, 1.0))


def _sums(at: Ints, values: Scores, size: int) -> Scores:
    """The sum of the values at each of so many places."""
    return np.bincount(at, values, minlength=size).astype(np.float64, copy=False)  # of none NumPy makes integers


def _running(values: Scores) -> Scores:
    """The sums of the values before each place and before `BESIDE` more on both sides, along the last axis."""
    running = np.zeros((*values.shape[:-1], values.shape[-1] + 2 * BESIDE + 1))
    np.cumsum(values, axis=-1, out=running[..., BESIDE + 1 : -BESIDE])
    running[..., -BESIDE:] = running[..., -BESIDE - 1, np.newaxis]
    return running


def _between(running: Scores, beside: int) -> Scores:
    """The sum of the values of each place and so many on both sides."""
    low, size = BESIDE - beside, running.shape[-1] - 2 * BESIDE - 1
    return running[..., low + 2 * beside + 1 :][..., :size] - running[..., low:][..., :size]
