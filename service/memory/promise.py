"""Owns what of a promise may be stored: by whom it was made, and where and when it is to be kept, by the words alone.
Pure.

A place or a time that was not said stays blank, whatever the model makes of it, and so do both where anything speaks
against a promise. Only what was plainly planned, for a time that was said, moves the world; other promises are words,
and lapse.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.locales import Language
from service.memory.claim import folded, is_assent, is_denial
from service.memory.cues import after_taking_back, bears, is_unsure
from service.memory.extraction import CommitmentDraft, Mode, SpokenLine
from service.memory.said_time import SaidTime, said_times
from service.memory.utterance import asks_openly, is_question, sentences
from service.memory.words import Words, one_line, words_of
from world.errors import BadWorldTime
from world.time import MINUTES_PER_DAY, WorldTime, parse_time


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidPromise:
    """A promise as it may be stored. `words` are those it was made in, `turn` where its maker said them.

    `place` is as it was said ("": none was). `due_at`: the moment that was said, else the end of the day that was said
    (`has_hour` False), else None. `is_firm`: it may move the world.
    """

    to: str
    what: str
    words: str
    turn: int
    mode: Mode
    place: str = ""
    due_at: WorldTime | None = None
    has_hour: bool = False
    is_firm: bool = False


def promising_turn(lines: Mapping[int, SpokenLine], draft: CommitmentDraft, owner_id: str) -> int | None:
    """The turn in which the owner promises it: the cited one, or its own next one, where that says yes to the other's
    question. None: it promises nothing there.
    """
    if lines[draft.turn].speaker_id == owner_id:
        return draft.turn if _is_promising(lines, draft.turn) else None
    after = lines.get(draft.turn + 1)
    if after is None or after.speaker_id != owner_id or not is_question(sentences(lines[draft.turn].text)[-1]):
        return None
    return draft.turn + 1 if agrees(after.text) else None


def judged_promise(
    lines: Mapping[int, SpokenLine], draft: CommitmentDraft, turn: int, names: frozenset[str], language: Language
) -> ValidPromise:
    """The promise that is made in the turn, with as much of its place and time as was said."""
    words = words_of(lines, turn, draft.what, names)
    said = one_line(lines[turn].text)
    evidence = f"{words.asked} {said}" if words.asked and _takes_up(words, said) else said
    at = lines[turn].at
    doubtful = _is_doubtful(said, _day(draft.when), at)
    due_at, has_hour = (None, False) if doubtful else _due(draft.when, _settled_times(evidence, at))
    return ValidPromise(
        to=draft.to,
        what=draft.what,
        words=words.rendered(language),
        turn=turn,
        mode=draft.mode,
        place="" if doubtful else _place(draft.where, evidence),
        due_at=due_at,
        has_hour=has_hour,
        is_firm=due_at is not None and _is_planned(draft.mode, evidence),
    )


def agrees(text: str) -> bool:
    """Whether an answer opens with a yes that leaves nothing open."""
    return (is_assent(text) or _AGREED.search(folded(text)) is not None) and not is_unsure(text)


_AGREED = re.compile(
    r"^\s*(?:done|deal|agreed|gladly|certainly|sure|ok(?:ay)?|fine|very well|all right|with pleasure|absolutely|perfect"
    r"|it's a (?:deal|date|bargain)|i'll be there|i will|i shall|i'd love to|count on (?:it|me)|here's my hand"
    r"|承知|了解|分かった|わかった|分かりました|わかりました|かしこまり|畏まり|いいとも|いいよ|いいですよ|いいね"
    r"|喜んで|よろこんで|ぜひ|是非|任せ|まかせ|よし|決まり|約束)"
)


def _is_promising(lines: Mapping[int, SpokenLine], turn: int) -> bool:
    """Whether the turn says more than a question; to one, the other must say yes."""
    if not all(is_question(one) for one in sentences(lines[turn].text)):
        return True
    after = lines.get(turn + 1)
    return after is not None and agrees(after.text)


def _takes_up(words: Words, said: str) -> bool:
    """Whether the answer makes what was asked its own."""
    return asks_openly(words.asked) or (agrees(said) and not is_denial(said))


def _settled_times(evidence: str, said_at: WorldTime) -> tuple[SaidTime, ...]:
    """The days and times it names; where it puts itself right, those only that were not named before that."""
    named, rest = said_times(evidence, said_at), after_taking_back(evidence)
    before = said_times(evidence[: len(evidence) - len(rest)], said_at)
    new_days = {one.day for one in said_times(rest, said_at)} - {one.day for one in before}
    settled = [one for one in named if one.day in new_days] or [one for one in named if one not in before]
    return tuple(settled) or named


def _day(when: str) -> int | None:
    """The day of the model's time, since the calendar began; None: it names none."""
    try:
        return parse_time(when) // MINUTES_PER_DAY if when else None
    except BadWorldTime:
        return None


def _due(when: str, said: Sequence[SaidTime]) -> tuple[WorldTime | None, bool]:
    """The model's time if the words name it, and whether they name its hour; of a day without an hour its end."""
    if not when:
        return None, False
    try:
        meant = parse_time(when)
    except BadWorldTime:
        return None, False
    if "T" in when and any(one.allows(meant) for one in said):
        return meant, True
    day = meant // MINUTES_PER_DAY
    of_day = [one for one in said if one.day == day]
    if of_day and ("T" not in when or not any(one.minutes for one in of_day)):
        return WorldTime((day + 1) * MINUTES_PER_DAY), False
    return None, False


_JAPANESE = re.compile(r"[ぁ-んァ-ヺ\u4e00-\u9fff]")
_ARTICLES = re.compile(r"^(?:the|a|an|my|our) ")
_LEADING = re.compile(
    r"^(?:at|in|on|by|to|under|outside|near|behind|beside|inside|before|opposite|below|above|from|into|down|up|over|off"
    r"|round|around) "
)
_LOCATIVE_EN = re.compile(
    r"(?:\b(?:at|in|on|by|to|under|outside|near|behind|beside|inside|opposite|below|above|down|up|round|around|reach|past)"
    r"(?: (?:the|a|an|my|our|your|that|this))?|[,.!?;:—-]|^) ?(?:the |a |an |my |our )?$"
)
_LOCATIVE_JA = re.compile(
    r"^(?:の(?:前|下|上|中|裏|横|そば|脇|ところ|とこ|入口|入り口|門|奥)+)?"
    r"(?:に(?!は?なる)|で|へ|まで|にて|だ|な(?=[。、！!]|$)|ね|[。、！!]|$|集合|待)"
)


def _place(where: str, evidence: str) -> str:
    """The place if it was said there as one: after a word like "at", or by itself between stops."""
    text, wanted = folded(evidence), folded(where)
    bare = _ARTICLES.sub("", _LEADING.sub("", wanted))
    if not bare:
        return ""
    for found in re.finditer(re.escape(bare), text):
        before, after = text[: found.start()], text[found.end() :]
        if _JAPANESE.search(bare) is None:
            named = _LOCATIVE_EN.search(before) or bare != _ARTICLES.sub("", wanted)
            if re.match(r"[a-z]", after) is None and not before[-1:].isalpha() and named:
                return where
        elif _LOCATIVE_JA.match(after):
            return where
    return ""


def _is_planned(mode: Mode, evidence: str) -> bool:
    return mode == "planned" or (mode == "asserted" and bears("planned", evidence))


def _is_doubtful(said: str, day: int | None, said_at: WorldTime) -> bool:
    """Whether a sign of form speaks against it: a jest or a refusal in the turn; a condition, another's word, or the
    past, in the sentences that name its day, or else in those that name a time.
    """
    if bears("joking", said) or is_denial(said) or is_unsure(said):
        return True
    times = {one: {time.day for time in said_times(one, said_at)} for one in sentences(said)}
    timed = [one for one, days in times.items() if day in days] or [one for one, days in times.items() if days]
    return any(bears("hypothetical", one) or _is_hearsay(one) or _is_past(one) for one in timed or times)


def _is_hearsay(sentence: str) -> bool:
    """Whether another said it; who swears it says so himself."""
    return bears("hearsay", _OWN_WORD.sub("", folded(sentence)))


def _is_past(sentence: str) -> bool:
    return _PAST_EN.search(folded(sentence)) is not None or _PAST_JA.search(sentence) is not None


_OWN_WORD = re.compile(r"\bi (?:swear|promise|say|tell you|think|reckon|believe)\b")
_PAST_EN = re.compile(
    r"\b(?:used to|was|were|had|did(?:n't)?|yesterday|ago|last (?:night|week|month|year|\w+day)|back then"
    r"|went|came|stood|brought|gave|met|took)\b"
)
_PAST_JA = re.compile(r"昨日|先[週月日]|去年|(?:た|だった|ました|でした)(?:んだ|です|[よねなわさぜ])*[。！!…]*$")
