"""Measures what is remembered of what was said: truths kept, lies stated, on cases that somebody wrote who had not seen
the rules (truth_cases/, in two languages; the half named `held` was not looked at while the rules were made). A
language model that had not seen the rules wrote `fresh_dev` and `fresh_held` after them, in the same way.

Each case is judged twice: with the label that an honest reader gives the turn, and with that of a careless model, to
which everything is asserted. `found` is a truth whose words answer a question put in other words, among the best ten of
all that was said in that language, by words alone. `beside` are truths whose claim cites the turn before or after.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.promises import on_time
from service.locales import languages
from service.memory.comparison import excludes, squeezed
from service.memory.extraction import (
    AttitudeDraft,
    Claim,
    ClosingContext,
    ClosingExtraction,
    CommitmentDraft,
    MidTermDraft,
    Participant,
    SideExtraction,
    Sides,
    SpokenLine,
    SummarySentence,
)
from service.memory.index import PersonIndex, Question
from service.memory.promise import ValidPromise
from service.memory.record import Fact
from service.memory.summary import checked_summary
from service.memory.validate import ValidClaim, ValidSide, validate_extraction
from world.time import WorldTime, iso, parse_time

CASES = Path(__file__).parent / "truth_cases"
FOUND_AMONG = 10
_START = WorldTime(0)
LABELS = ("honest", "careless")

Case = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim case and what became of it; `kept` None: nothing is remembered."""

    case: Case
    label: str
    kept: ValidClaim[Claim] | None

    @property
    def key(self) -> tuple[str, str, str]:
        """Language, kind and label."""
        return self.case["language"], self.case["kind"], self.label


def run(half: str = "*", *, promises: Callable[[], Mapping[str, float]] = on_time) -> dict[str, float]:
    """All figures; shares are per cent. `half`: ``dev``, ``held``, ``fresh_dev`` or ``fresh_held``; `promises` lives
    the appointments.
    """
    judged = [
        Judged(case=case, label=label, kept=_claim(case, label)) for label in LABELS for case in _read("claims", half)
    ]
    _show(judged)
    figures: dict[str, float] = {}
    for language in languages():
        for label in LABELS:
            end = "" if label == "careless" else "_honest"
            here = [one for one in judged if one.case["language"] == language and one.label == label]
            truths = [one for one in here if one.case["verdict"] == "true"]
            lies = [one for one in here if one.case["verdict"] == "lie"]
            figures |= {
                f"truth_kept_{language}{end}": _share(truths, [one for one in truths if _answers(one)]),
                f"truth_kept_beside_{language}{end}": _kept_beside([one.case for one in truths], label),
                f"truth_found_{language}{end}": _share(truths, _found(truths)),
                f"kept_as_statement_{language}{end}": _share(truths, [one for one in truths if _is_stated(one)]),
                f"lies_accepted_{language}{end}": _share(lies, [one for one in lies if _is_stated(one)]),
                f"lies_dropped_{language}{end}": _share(lies, [one for one in lies if one.kept is None]),
            }
    return (
        figures
        | _injections(half)
        | _mid_term(half)
        | _summaries(half)
        | _pairs(half)
        | _appointments(half)
        | dict(promises())
    )


def _read(name: str, half: str) -> list[Case]:
    texts = (file.read_text(encoding="utf-8") for file in sorted(CASES.glob(f"{name}.{half}.jsonl")))
    return [json.loads(line) for text in texts for line in text.split("\n") if line]


def _claim(case: Case, label: str) -> ValidClaim[Claim] | None:
    mode = case["honest_mode"] if label == "honest" else "asserted"
    drafted = case["claim"]
    claim = Claim(
        subject=drafted["subject"],
        relation=drafted["relation"],
        object=drafted["object"],
        statement=drafted["statement"],
        turn=drafted["turn"],
        mode=mode,
        importance=5,
        replaces="",
    )
    return next(iter(_judge(case, case["owner"], facts=[claim]).facts), None)


def _judge(case: Case, owner: str, **drafts: Any) -> ValidSide:
    at = parse_time(case["now"].split()[0]) if "now" in case else _START
    scene = _scene(case["language"], case["speakers"], case["lines"], at)
    side, other = _entry(**drafts), _entry()
    people = Sides(a=side, b=other) if owner == "a" else Sides(a=other, b=side)
    extraction = ClosingExtraction(summary=[SummarySentence(text="-", turns=[0])], topics=[], people=people)
    valid = validate_extraction(extraction, scene, affinity_step=15)
    return next(one for one in valid.sides if one.participant.ref == owner)


def _scene(
    language: str, speakers: Mapping[str, str], lines: Sequence[Mapping[str, str]], at: WorldTime = _START
) -> ClosingContext:
    return ClosingContext(
        language=language,
        participants=tuple(
            Participant(ref=ref, person_id=ref, name=name, affinity=0, mood="neutral") for ref, name in speakers.items()
        ),
        now="",
        goal="",
        goal_achieved=False,
        lines=tuple(
            SpokenLine(
                turn=turn,
                speaker_id=line["speaker"],
                speaker_name=speakers[line["speaker"]],
                text=line["text"],
                at=at,
            )
            for turn, line in enumerate(lines)
        ),
    )


def _entry(
    facts: Sequence[Claim] = (),
    mid_term: Sequence[MidTermDraft] = (),
    commitments: Sequence[CommitmentDraft] = (),
) -> SideExtraction:
    stand = AttitudeDraft(power=0, intimacy=0, task_oriented=0)
    return SideExtraction(
        affinity=0,
        mood="neutral",
        self_facts=[],
        facts=list(facts),
        mid_term=list(mid_term),
        commitments=list(commitments),
        attitude=stand,
    )


def _answers(one: Judged) -> bool:
    """Whether what is remembered holds the words that answer the question."""
    return one.kept is not None and squeezed(one.case["telling"]) in squeezed(f"{one.kept.words} {one.kept.statement}")


def _kept_beside(truths: Sequence[Case], label: str) -> float:
    """Share of the truths whose words are remembered though the model miscounts the turn by one."""
    judged = [
        Judged(case=case, label=label, kept=_claim({**case, "claim": {**case["claim"], "turn": turn}}, label))
        for case in truths
        for turn in (case["claim"]["turn"] - 1, case["claim"]["turn"] + 1)
        if 0 <= turn < len(case["lines"])
    ]
    return _share(judged, [one for one in judged if _answers(one)])


def _is_stated(one: Judged) -> bool:
    return one.kept is not None and one.kept.held


def _found(truths: Sequence[Judged]) -> list[Judged]:
    """Those that their question finds."""
    index = PersonIndex()
    index.take(_fact(str(place), one.kept) for place, one in enumerate(truths) if one.kept is not None)
    found = []
    for place, one in enumerate(truths):
        asked = Question(query=one.case["question"], at=WorldTime(1), limit=FOUND_AMONG)
        if any(recalled.fact.id == str(place) for recalled in index.rank(asked)):
            found.append(one)
    return found


def _fact(fact_id: str, kept: ValidClaim[Claim]) -> Fact:
    return Fact(
        id=fact_id,
        subject=kept.claim.subject,
        relation=kept.claim.relation,
        object=kept.claim.object,
        statement=kept.statement,
        words=kept.words,
        held=kept.held,
        valid_at=WorldTime(0),
        invalid_at=None,
        created_at=WorldTime(0),
        expired_at=None,
        replaced_by=None,
        partner_id="",
        conversation_id=fact_id,
        turn=kept.claim.turn,
    )


def _injections(half: str) -> dict[str, float]:
    """With a model that obeys: facts that would be told without "X said"."""
    injected = total = 0
    for case in _read("injections", half):
        about = case["wants"]["about"]
        speakers = {"a": "Ama", "b": "Bo"}
        if about in speakers:
            speakers[about] = _subject(case["wants"]["statement"])
        for owner in speakers:
            total += 1
            lines = [{"speaker": case["by"], "text": case["text"]}]
            claim = Claim(
                subject=speakers.get(about, about),
                relation="is",
                object="-",
                statement=case["wants"]["statement"],
                turn=0,
                mode="asserted",
                importance=9,
                replaces="",
            )
            side = _judge({"language": case["language"], "speakers": speakers, "lines": lines}, owner, facts=[claim])
            injected += sum(1 for fact in side.facts if fact.held)
    return {"injected_facts": injected, "injections": total}


def _subject(statement: str) -> str:
    """Whom a statement is about, by its form."""
    found = re.match(
        r"(.+?)(?:'s| (?:is|was|has|had|owes?|owns?|may|can|must|will|knows?|always|never|and)\b|[はがのに])", statement
    )
    return found[1] if found else statement.split()[0]


def _mid_term(half: str) -> dict[str, float]:
    """Invented ones that are shown in other words than were said, or whose turn says nothing of them."""
    kept: Counter[str] = Counter()
    total: Counter[str] = Counter()
    own_words = 0
    for case in _read("mid_term", half):
        draft = MidTermDraft(content=case["content"], turn=case["turns"][0], mode="planned", importance="high")
        for one in _judge(case, case["owner"], mid_term=[draft]).mid_term:
            kept[case["verdict"]] += 1
            said = squeezed(" ".join(line["text"] for line in case["lines"]))
            own_words += squeezed(case["content"]) in squeezed(one.words) and squeezed(case["content"]) not in said
        total[case["verdict"]] += 1
    return {
        "mid_term_kept": 100 * kept["true"] / max(total["true"], 1),
        "mid_term_words_beside_invented": 100 * kept["invented"] / max(total["invented"], 1),
        "mid_term_invented": own_words,
    }


def _summaries(half: str) -> dict[str, float]:
    stood: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for case in _read("summaries", half):
        scene = _scene(case["language"], case["speakers"], case["lines"])
        _, left_out = checked_summary([SummarySentence(text=case["sentence"], turns=case["turns"])], scene)
        key = (case["language"], case["verdict"])
        stood[key] += not left_out
        total[key] += 1
    return {
        f"summary_{'kept' if verdict == 'true' else 'lies'}_{language}": 100 * stood[language, verdict] / count
        for (language, verdict), count in sorted(total.items())
    }


def _pairs(half: str) -> dict[str, float]:
    closed: Counter[bool] = Counter()
    total: Counter[bool] = Counter()
    for case in _read("pairs", half):
        closed[case["contradict"]] += excludes(case["newer"]["statement"], case["older"]["statement"])
        total[case["contradict"]] += 1
    return {
        "false_closings": closed[False],
        "of_true_pairs": total[False],
        "closings": closed[True],
        "of_pairs": total[True],
    }


def _appointments(half: str) -> dict[str, float]:
    """Of promises: false slots (a place or time that was not said so, of 2 a case), what is invented (it would move the
    world, and nobody promised it, or another did), and the good ones that are kept with the right place and time.

    A careless model takes everything for planned.
    """
    figures: dict[str, float] = {}
    cases = _read("appointments", half)
    for label in LABELS:
        end = "" if label == "careless" else "_honest"
        judged = [(case, _promised(case, label)) for case in cases]
        true = [(case, one) for case, one in judged if _is_promised(case)]
        false = [one for case, one in judged if not _is_promised(case) and one is not None]
        right = [one for case, one in true if one is not None and _slots(one) == _said_slots(case)]
        wrong = [
            slot
            for case, one in judged
            if one is not None
            for slot, said in zip(_slots(one), _said_slots(case), strict=True)
            if slot and slot != said
        ]
        figures |= {
            f"promises_right{end}": 100 * len(right) / max(len(true), 1),
            f"promises_firm{end}": 100 * sum(one is not None and one.is_firm for _, one in true) / max(len(true), 1),
            f"false_slots{end}": len(wrong),
            f"promises_invented{end}": sum(one.is_firm for one in false),
            f"no_promises_in_words{end}": sum(not one.is_firm for one in false),
        }
    return figures | {"promises": sum(map(_is_promised, cases)), "no_promises": sum(not _is_promised(c) for c in cases)}


def _promised(case: Case, label: str) -> ValidPromise | None:
    drafted = case["draft"]
    draft = CommitmentDraft(
        to=drafted["to"],
        what=drafted["what"],
        where=drafted["where"],
        when=drafted["when"],
        turn=drafted["turn"],
        mode=case["honest_mode"] if label == "honest" else "planned",
    )
    return next(iter(_judge(case, drafted["by"], commitments=[draft]).commitments), None)


def _is_promised(case: Case) -> bool:
    """Whether somebody promised it, and the one the draft names."""
    return case["truth"]["promised"] and case["truth"]["by"] in (case["draft"]["by"], "both")


def _slots(promise: ValidPromise) -> tuple[str, str]:
    """Place and time as they are kept."""
    if promise.due_at is None:
        return promise.place, ""
    when = iso(promise.due_at) if promise.has_hour else iso(WorldTime(promise.due_at - 1))[:10]
    return promise.place, when


def _said_slots(case: Case) -> tuple[str, str]:
    return (case["truth"]["where"], case["truth"]["when"]) if _is_promised(case) else ("", "")


def _share(all_of: Sequence[Judged], some: Sequence[Judged]) -> float:
    return 100 * len(some) / max(len(all_of), 1)


def _show(judged: Sequence[Judged]) -> None:
    """By language, kind and label: how many are stated, remembered in words, dropped."""
    table = Table("language", "kind", "label", "n", "stated", "in words", "of them tagged", "dropped", title="claims")
    for language, kind, label in sorted({one.key for one in judged}):
        here = [one for one in judged if one.key == (language, kind, label)]
        stated = [one for one in here if _is_stated(one)]
        words = [one.kept for one in here if one.kept is not None and not one.kept.held]
        tagged = [one for one in words if one.mode not in ("asserted", "asked")]
        dropped = len(here) - len(stated) - len(words)
        table.add_row(
            language, kind, label, *(str(n) for n in (len(here), len(stated), len(words), len(tagged), dropped))
        )
    Console().print(table)


def lies_stated(half: str) -> Iterator[str]:
    """What is stated and was not said, for who works on the rules."""
    for case in _read("claims", half):
        kept = _claim(case, "careless")
        if case["verdict"] == "lie" and kept is not None and kept.held:
            yield f"{case['id']} {kept.statement} < {kept.words}"
