"""Owns whether the words of a turn say that a promise was kept. Pure.

A model says which promise and which turn; here the words decide. They must be those of one of the two, tell what was
promised, as done, by who promised it, and nothing in them may speak against it. What is missed lapses and moves
nothing; so whatever is in doubt was not kept.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from service.memory.claim import clauses, folded, is_assent, is_denial, is_negated, numbers, share, without_names, words
from service.memory.cues import bears, is_unsure
from service.memory.extraction import ClosingContext, OpenPromise
from service.memory.lexical import FUNCTION_WORDS
from service.memory.stem import stem
from service.memory.utterance import is_question, sentences
from service.memory.words import words_of

THINGS = 0.5
"""Share of the promise's telling words, its verb aside, that the sentence must hold."""

_JAPANESE = re.compile(r"[ぁ-んァ-ヺ\u4e00-\u9fff]")


def is_told_kept(context: ClosingContext, promise: OpenPromise, turn: int) -> bool:
    """Whether the turn, with the question it answers, says so. False where there is no such turn."""
    lines, names = {line.turn: line for line in context.lines}, context.names
    line = lines.get(turn)
    if line is None or bears("joking", line.text) or _names_others(context, promise.what, line.text):
        return False
    told = _told_ja if _JAPANESE.search(promise.what) else _told_en
    by_promiser = line.speaker_id == promise.by_id
    asked = words_of(lines, turn, promise.what, names).asked
    answers = asked and by_promiser and is_assent(line.text) and _is_plain(line.text)
    if answers and told.asks(promise.what, asked, names):
        return True
    return any(
        not is_question(one)
        and _is_plain(one)
        and _agree(promise.what, one)
        and told.states(promise.what, one, names, by_promiser)
        for one in sentences(line.text)
    )


def _names_others(context: ClosingContext, what: str, text: str) -> bool:
    """Whether somebody is named who has nothing to do with the promise."""
    strangers = context.everybody - context.names
    return any(name in text and name not in what for name in strangers)


@dataclass(frozen=True, slots=True)
class _Tongue:
    """How a language tells that something is done: as a statement, and as the question that a yes answers."""

    states: Callable[[str, str, frozenset[str], bool], bool]
    asks: Callable[[str, str, frozenset[str]], bool]


def _is_plain(sentence: str) -> bool:
    """Whether no sign of form speaks against it. "As promised" is no plan."""
    bare = _PROMISED.sub(" ", sentence)
    if is_negated(bare) or is_denial(bare) or is_unsure(bare) or _LONG_AGO.search(folded(bare)):
        return False
    return not bears("hypothetical", bare) and not bears("planned", bare)


_PROMISED = re.compile(
    r"約束(?:の|した|していた|どおり|通り)|\bas (?:i|you) said\b|\b(?:as )?(?:i |you )?promised\b", re.IGNORECASE
)


_LONG_AGO = re.compile(r"\b(?:years?|months?|once|long ago|as a (?:child|boy|girl))\b|昔|[年月]前|以前|かつて")
"""A promise that words keep is some days old at most."""


def _agree(what: str, sentence: str) -> bool:
    """Whether it names no other number than the promise."""
    wanted, said = numbers(what), numbers(sentence)
    return not wanted or not said or wanted <= said


def _holds(things: frozenset[str], sentence: str) -> bool:
    return not things or share(things, sentence) >= THINGS


# ---- English --------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_PASTS = dict(
    pair.split(":")
    for pair in (
        "brought:bring told:tell wrote:write written:write lent:lend gave:give given:give showed:show shown:show "
        "came:come went:go gone:go made:make took:take taken:take bought:buy taught:teach sent:send sang:sing "
        "sung:sing spoke:speak spoken:speak said:say paid:pay kept:keep fed:feed built:build found:find got:get "
        "gotten:get caught:catch left:leave met:meet did:do done:do saw:see seen:see sold:sell hung:hang drew:draw "
        "drawn:draw swept:sweep sewn:sew dug:dig grew:grow grown:grow chose:choose chosen:choose woke:wake "
        "held:hold stood:stand read:read put:put cut:cut lit:light won:win spent:spend wove:weave woven:weave"
    ).split()
)
"""What was done, and the word for doing it; of others it ends in -ed."""
_GIVING = frozenset(map(stem, "give leave send hand deliver fetch".split()))
"""Who promised to bring something may have done any of these."""
_HERE = re.compile(r"\b(?:here(?:'s| is| are| you are| it is|,)|as (?:i |you )?promised|there you (?:are|go))")
_THANKED = re.compile(r"\bthank(?:s| you)\b[^.!?]*?\bfor (?:(the|your|this|that|these|those|all|my)\b|(\w+ing)\b)")
_NAME = re.compile(r"(?<=[a-z,;'’] )[A-Z][a-z]+")
_THEIRS = re.compile(r"\b(?:to|for) (?:my|his|her|their) ([a-z]+)")
_NOT_QUITE = frozenset("almost nearly to never not".split())
_ASKS_DONE = re.compile(r"\b(?:did|have|has) (?:you|we)\b")


def _states_en(what: str, sentence: str, names: frozenset[str], by_promiser: bool) -> bool:
    verb, things = _verb_en(what, names), _things_en(what, names)
    if not _holds(things, sentence) or _others_en(what, sentence, names):
        return False
    if verb not in ("tell", "say") and bears("hearsay", _PROMISED.sub(" ", sentence)):
        return False
    doers = {"i", "i've", "we", "we've"} if by_promiser else {"you", "you've"}
    if any(_holds(things, clause) and _is_done(verb, clause, doers) for clause in clauses(sentence)):
        return True
    if by_promiser:
        return bool(things) and _HERE.search(folded(sentence)) is not None
    thanked = _THANKED.search(folded(sentence))
    return thanked is not None and (bool(things and thanked[1]) or _base(thanked[2] or "") == verb)


def _asks_en(what: str, asked: str, names: frozenset[str]) -> bool:
    said = {_base(token) for token in _TOKEN.findall(folded(asked))}
    done = _ASKS_DONE.search(folded(asked)) is not None
    return done and _verb_en(what, names) in said and _holds(_things_en(what, names), asked) and _agree(what, asked)


def _is_done(verb: str, clause: str, doers: set[str]) -> bool:
    said = _TOKEN.findall(clause)
    before = (said[max(0, place - 3) : place] for place, one in enumerate(said) if _past(one) == verb)
    return any(not doers.isdisjoint(near) and _NOT_QUITE.isdisjoint(near) for near in before)


def _others_en(what: str, sentence: str, names: frozenset[str]) -> bool:
    """Whether it names somebody who has nothing to do with the promise."""
    known = folded(" ".join((what, *names)))
    strangers = {*map(str.casefold, _NAME.findall(sentence)), *_THEIRS.findall(folded(sentence))}
    return any(one not in known for one in strangers)


def _verb_en(what: str, names: frozenset[str]) -> str:
    """What is to be done: the first word that tells something."""
    said = _TOKEN.findall(without_names(what, names))
    return next((_base(token) for token in said if token not in FUNCTION_WORDS), "")


def _things_en(what: str, names: frozenset[str]) -> frozenset[str]:
    """With whom or what."""
    bare = without_names(what, names)
    rest = [token for token in _TOKEN.findall(bare) if _base(token) != _verb_en(what, names)]
    return words(" ".join(rest))


def _past(token: str) -> str:
    """The base of a word that tells what was done; "" of any other."""
    return _base(token) if token in _PASTS or token.endswith("ed") else ""


def _base(token: str) -> str:
    base = stem(_PASTS.get(token, token))
    return "bring" if base in _GIVING else base


# ---- Japanese -------------------------------------------------------------------------------------------------------

_DOING = re.compile(r"^.*[をにでへがはと](?=[^をにでへがはと]*$)")
_KANJI = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff々](?=[ぁ-ん])")
_GOES_ON = "[てで]い[るたま]"
_PAST = (
    rf"(?:(?!{_GOES_ON})[ぁ-ん]){{0,9}}?(?:(?<!たかっ)た|(?<=[んい])だ)"
    r"(?=$|[。、！!…よねなわさぞぜのんけがか])(?!か?ったら|かっ)"
)
_FAVOUR = re.compile(
    r"(?:くれ|もら|くださ|下さ|いただ|頂)[ぁ-ん]{0,3}(?:た|て|だ)(?!い|ら)|ありがと|助かった|助かりました"
)
_GIVEN = re.compile(r"持|届|渡|あげ|やる|送|贈|くれ|運")
_HERE_JA = re.compile(
    r"(?:^|[、。])(?:ほら|はい|どうぞ|これ|さあ)[^。]*約束(?:の|した|していた)|約束(?:の|した)[^。]*(?:どうぞ|これ)"
)
_SUBJECT = re.compile(r"([\u3400-\u4dbf\u4e00-\u9fff々]+|[ァ-ヺー]+)(?:さん|ちゃん|くん|様)?が")
_COUNT = re.compile(r"^[一二三四五六七八九十百\d]+[つ人匹本枚個冊杯束]")
_KIN = re.compile(r"(息子|娘|兄|弟|姉|妹|母|父|妻|夫|友|彼女|彼|子供|孫)(?:たち|達|さん)?[にがへ]")
_THIRD = re.compile(r"([ァ-ヺー]{2,})(?:さん|ちゃん|くん|様)?[にへがと]")
_OWN = re.compile(r"私|俺|僕|儂")
_ASKS_DONE_JA = re.compile(r"(?:た|ました)(?:の|か|かい|かね|のか)*[?？。]*$")


def _states_ja(what: str, sentence: str, names: frozenset[str], by_promiser: bool) -> bool:
    things = _things_ja(what, names)
    if not _holds(things, sentence) or _others_ja(what, sentence, names):
        return False
    done = _done_ja(what, sentence)
    if by_promiser:
        favour = re.search(r"(?:くれ|くださ|下さ)", sentence) is not None
        return (done and not favour) or (bool(things) and _HERE_JA.search(sentence) is not None)
    if _FAVOUR.search(sentence) is None:
        return False
    return _verb_stands(what, sentence) or (bool(things) and _GIVEN.search(_doing(what)) is not None)


def _asks_ja(what: str, asked: str, names: frozenset[str]) -> bool:
    things = _things_ja(what, names)
    return (
        _ASKS_DONE_JA.search(asked) is not None
        and _verb_stands(what, asked)
        and _holds(things, asked)
        and _agree(what, asked)
    )


def _doing(what: str) -> str:
    """What is to be done: what stands after the last particle."""
    return _COUNT.sub("", _DOING.sub("", re.sub(r"[。.\s]+$", "", what)))


def _verb_stands(what: str, sentence: str) -> bool:
    kanji = _KANJI.search(_doing(what))
    return kanji[0] in sentence if kanji else "を" in sentence


def _done_ja(what: str, sentence: str) -> bool:
    """Whether the verb stands there as done; of one in kana alone, whatever is done to the thing."""
    kanji = _KANJI.search(_doing(what))
    return re.search((kanji[0] if kanji else "を") + _PAST, sentence) is not None


def _others_ja(what: str, sentence: str, names: frozenset[str]) -> bool:
    """Whether somebody else did it, or had it."""
    known = what + " ".join(names)
    strangers = {*_SUBJECT.findall(sentence), *_THIRD.findall(sentence), *_KIN.findall(sentence)}
    return any(one not in known and _OWN.search(one) is None for one in strangers)


def _things_ja(what: str, names: frozenset[str]) -> frozenset[str]:
    doing = _doing(what)
    return words(without_names(what[: len(what) - len(doing)] if what.endswith(doing) else what, names))


_told_en = _Tongue(_states_en, _asks_en)
_told_ja = _Tongue(_states_ja, _asks_ja)
