"""Owns the strict check: whether a statement says of its speaker nothing but what the speaker said there. Pure.

Rules of form cannot tell a paraphrase from a lie, so this one refuses every paraphrase: each telling word must have
been said, in that order, of the speaker, as a plain fact. What it refuses is remembered too, in the words themselves
(words.py). docs/decisions/0005-what-may-be-learned.md has the figures.
"""

import re
from itertools import pairwise

from service.memory.claim import counted, folded, is_assent, is_denial, is_negated, numbers, without_names
from service.memory.cues import after_taking_back, bears, is_over, is_past
from service.memory.extraction import Mode
from service.memory.lexical import FUNCTION_WORDS
from service.memory.stem import stem
from service.memory.utterance import asks_openly, is_question, sentences
from service.memory.words import Words

_SIGNS: tuple[Mode, ...] = ("hypothetical", "joking", "hearsay", "planned")

_QUOTES = re.compile(r"[\"“”„«»「」『』]")
"""Who quotes says what another says, or has him say it: nobody knows where a quotation ends that was never opened."""

_FIRST_EN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|ours|us)\b")
_MINE_EN = re.compile(r"\b(?:my|our) (?:own |old |elder |younger |little |late |first |second )?([a-z]+)")
_THIRD_EN = re.compile(
    r"\b(?:he|she|they|him|her|his|hers|their|theirs|them|he's|she's|they're|they've|you|your|you're|yours)\b"
)
_NAME_EN = re.compile(r"(?<=[a-z,;'’] )[A-Z][a-z]+")
_RELATIONS_EN = frozenset(
    "to from by with without for of on in at into onto under over before after since until against between than "
    "through about off out up down back".split()
)
_NEGATIONS_EN = frozenset(
    "not no never don't doesn't didn't isn't aren't wasn't weren't can't cannot won't haven't hasn't hadn't".split()
)
_VAGUE_EN = (FUNCTION_WORDS | _NEGATIONS_EN) - _RELATIONS_EN
_WORD_EN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

_FIRST_JA = re.compile(
    r"私|わたし|わたくし|あたし|わし|儂|俺|おれ|オレ|僕|ぼく|ボク|小生|拙者|うち(?=[のはもに])|我々|我が|自分"
)
_OTHERS_JA = re.compile(
    r"彼女|彼|あいつ|あの人|あの子|奴|やつ|あなた|あんた|君(?=[がはのもに])|きみ|お前|おまえ|貴様|そなた|おぬし|あちら|むこう|向こう|連中|みんな|みな"
)
_TOPIC_JA = re.compile(
    r"([\u3400-\u4dbf\u4e00-\u9fff々ァ-ヺー]+|[ぁ-ん]{2,}?)(?:さん|ちゃん|くん|様)?[はが](?![\u3041-\u3093]?(?:ない|なかった))"
)
_MARKED_JA = re.compile(r"([\u3400-\u4dbf\u4e00-\u9fff々ァ-ヺー]+)(から|まで|より|[をにでとへ])")
_OWNED_JA = re.compile(
    r"([\u3400-\u4dbf\u4e00-\u9fff々ァ-ヺー]+)(?:さん|ちゃん|くん|様)?の([\u3400-\u4dbf\u4e00-\u9fff々]+|[ァ-ヺー]+)"
)
_SOLID_JA = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff々]+|[ァ-ヺー]+|[ぁ-ん]{3,}")
_TAIL_JA = re.compile(
    r"(?:で(?:す|した|ある|あった)|だ(?:った)?|ます|ました|ません|いる|いた|ている|ていた|という|こと|よ|ね|な)+$"
)
_PAST_JA = re.compile(r"(?:た|だった|ました|でした)(?:[んのよねなわさぜけど、ー]|ですよ?|です)*$")


def is_held(statement: str, words: Words, mode: Mode, *, subject: str) -> bool:
    """Whether the words state it, plainly, of the one who spoke them.

    `subject` is whom the statement is about by the claim.
    """
    if mode != "asserted" or folded(subject) != folded(words.speaker_name) or _QUOTES.search(words.both):
        return False
    own = frozenset({words.speaker_name})
    evidence = _evidence(statement, words)
    told = without_names(statement, own)
    held = _held_ja if re.search(r"[ぁ-んァ-ヺ\u4e00-\u9fff]", statement) else _held_en
    return any(
        _plain(statement, text, words)
        and _counts_agree(told, text)
        and is_negated(statement) == is_negated(text)
        and is_over(statement) == is_over(text)
        and held(statement, text, own)
        for text in evidence
    )


def _evidence(statement: str, words: Words) -> list[str]:
    """What may carry it: each sentence that states something, each clause of it, and the answer with its question;
    of who puts himself right, what he says after that.
    """
    stated = [one for one in sentences(after_taking_back(words.said)) if not is_question(one)]
    found = [part for one in stated for part in (one, *_clauses(one))]
    if words.asked and stated and _completes(stated[0], words.asked):
        found.append(f"{_as_answered(words.asked)} {stated[0]}")
    return found


def _clauses(text: str) -> list[str]:
    """Clauses with their case, cut where another subject may begin."""
    return [
        part.strip()
        for part in re.split(r"[,;:—、]|\b(?:but|and|because|so|though|while|who|which)\b", text)
        if part.strip()
    ]


def _completes(answer: str, asked: str) -> bool:
    """Whether the answer has its subject from the question: a few words to who, what, how many; no yes or no, whose
    scope nobody knows.
    """
    short = len(_WORD_EN.findall(folded(answer))) <= 4 and len(answer) <= 40
    return short and asks_openly(asked) and not is_assent(answer) and not is_denial(answer)


def _as_answered(asked: str) -> str:
    """The question as the one who answers takes it: you are I."""
    said = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "I", asked, flags=re.IGNORECASE), flags=re.IGNORECASE)
    return re.sub(r"[?？\s]+$", "", said)


def _plain(statement: str, text: str, words: Words) -> bool:
    """Whether nothing shows that it was meant otherwise; jest shows in the whole turn."""
    if bears("joking", words.said) or is_past(text) != is_past(statement):
        return False
    return not any(bears(sign, text) and not bears(sign, statement) for sign in _SIGNS)


def _counts_agree(statement: str, text: str) -> bool:
    if not numbers(statement) <= numbers(text):
        return False
    said = counted(text)
    return all(noun in said and given <= said[noun] for noun, given in counted(statement).items())


def _held_en(statement: str, text: str, own: frozenset[str]) -> bool:
    plain = folded(text)
    if not _FIRST_EN.search(plain) or not folded(statement).startswith(tuple(map(folded, own))):
        return False
    strangers = {name.casefold() for name in _NAME_EN.findall(text)} - set(_WORD_EN.findall(folded(statement)))
    if _THIRD_EN.search(plain) or strangers:
        return False
    said, wanted = _words_en(plain), _words_en(without_names(statement, own))
    whose = {stem(noun) for noun in _MINE_EN.findall(plain)}
    if not wanted or not set(wanted) <= set(said) or not whose <= set(wanted):
        return False
    return _in_order([said.index(word) for word in wanted])


def _words_en(text: str) -> list[str]:
    """Stems of what tells something, and what relates one thing to another."""
    found = _WORD_EN.findall(folded(text))
    return [
        word if word in _RELATIONS_EN else stem(word)
        for word in found
        if word not in _VAGUE_EN and word not in _SPEAKERS
    ]


_SPEAKERS = frozenset(
    "i i'm i've i'd i'll my mine me myself we we're we've our ours us he she his her him they their has have had is "
    "are was were be been".split()
)


def _held_ja(statement: str, text: str, own: frozenset[str]) -> bool:
    if _OTHERS_JA.search(text) or bool(_PAST_JA.search(_end(statement))) != bool(_PAST_JA.search(_end(text))):
        return False
    told = re.sub(r"^(?:さん|ちゃん|くん|様)?[はがのも、]", "", without_names(statement, own).strip())
    solid = [run for run in _SOLID_JA.findall(_TAIL_JA.sub("", _end(told))) if not _FIRST_JA.fullmatch(run)]
    if not solid or any(run not in text for run in solid):
        return False
    if not set(_MARKED_JA.findall(told)) <= set(_MARKED_JA.findall(text)):
        return False
    whose = (whose for whose, owned in _OWNED_JA.findall(text) if owned in solid and not _FIRST_JA.fullmatch(whose))
    if any(one not in told for one in whose):
        return False
    topics = {topic for topic in _TOPIC_JA.findall(text) if not _FIRST_JA.fullmatch(topic)}
    return all(topic in statement for topic in topics) and _in_order([text.index(run) for run in solid])


def _end(text: str) -> str:
    return re.sub(r"[。.!！…」』\s]+$", "", text.strip())


def _in_order(places: list[int]) -> bool:
    """At most one step back."""
    return sum(1 for one, after in pairwise(places) if after < one) <= 1
