"""Owns which sentences of a summary may stand: those whose turns hold enough of their words, all their numbers, and in
English all their names. Pure.
"""

import re
from collections.abc import Sequence

from service.memory.claim import clauses, folded, is_denial, is_negated, numbers, share, words
from service.memory.extraction import ClosingContext, SummarySentence
from service.memory.utterance import is_question, sentences
from service.memory.words import Words, one_line

SHARED = 0.7
"""Share of a sentence's telling words that its turns must hold. Measured (docs/measurements.md): 0.5 keeps more truths,
and three times the lies.
"""

QUOTED = 2
"""So many sentences are quoted where none of the summary stands."""

_NAME_EN = re.compile(r"(?<!^)(?<![.!?:] )(?<![\"“'])\b[A-Z][a-z]+")
_BOTH = re.compile(r"\b(?:the|these|those) two\b|二人[はのがも]|ふたり[はのがも]")
"""Those who talk, and no number that was said."""


def checked_summary(written: Sequence[SummarySentence], context: ClosingContext) -> tuple[str, tuple[str, ...]]:
    """The summary as one text on one line, never empty where something was said; and the sentences left out of it."""
    stands = [one for one in written if _is_carried(one, context)]
    left_out = tuple(one_line(one.text) for one in written if one not in stands)
    told = [one_line(one.text) for one in stands] or _quoted(context)
    return ("" if context.language == "ja" else " ").join(told), left_out


def _is_carried(one: SummarySentence, context: ClosingContext) -> bool:
    lines = {line.turn: line for line in context.lines}
    text, cited = one_line(one.text), [turn for turn in one.turns if turn in lines]
    wanted = words(text, context.names)
    if not text or not cited or any(lines[turn].tried for turn in cited):
        return False  # what was said there did not happen
    # Who tells in a sentence what was answered needs the question too.
    said = " ".join(
        f"{lines[turn - 1].text if turn - 1 in lines else ''} {lines[turn].text} {lines[turn].did}" for turn in cited
    )
    return (not wanted or share(wanted, said) >= SHARED) and adds_nothing(text, said, context.names)


def adds_nothing(text: str, said: str, names: frozenset[str]) -> bool:
    """Whether a text has no number, no English name and no denial that what was said has not, and affirms nothing that
    was denied. `names` are known to everybody.
    """
    wanted = words(text, names)
    return (
        numbers(_BOTH.sub("", text)) <= numbers(said)
        and _names(text) <= _names(said) | _parts(names)
        and (not is_negated(text) or any(is_negated(part) or is_denial(part) for part in (said, *sentences(said))))
        and (not wanted or is_negated(text) or not _all_denied(wanted, said))
    )


def _all_denied(wanted: frozenset[str], said: str) -> bool:
    """Whether every clause that holds most of the words denies."""
    scored = [(share(wanted, clause), clause) for clause in clauses(said)]
    most = max((score for score, _ in scored), default=0.0)
    return most > 0 and all(is_negated(clause) for score, clause in scored if score == most)


def _names(text: str) -> set[str]:
    return {name.casefold() for name in _NAME_EN.findall(text)}


def _parts(names: frozenset[str]) -> set[str]:
    return {part for name in names for part in re.split(r"[\s.']+", folded(name))}


def _quoted(context: ClosingContext) -> list[str]:
    """The most telling sentence of each, in the order in which they were said."""
    best: dict[str, tuple[int, int, Words]] = {}
    for line in context.lines:
        for said in sentences(line.text):
            tells = 0 if is_question(said) else len(words(said))
            if line.speaker_id not in best or tells > best[line.speaker_id][0]:
                quoted = Words(speaker_name=line.speaker_name, asked="", said=one_line(said))
                best[line.speaker_id] = (tells, line.turn, quoted)
    chosen = sorted(best.values(), key=lambda found: found[1])[:QUOTED]
    return [quoted.rendered(context.language) for _, _, quoted in chosen]
