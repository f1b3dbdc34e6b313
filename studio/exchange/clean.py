"""Owns what becomes of a text that somebody unknown has written: plain sentences, without placeholders, markup, and
letters that nobody sees. Pure.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import reduce

from service.public.files import MARKUP
from service.public.models import estimate_tokens
from service.public.words import Language, sentence, sentences_of

_JOINERS = "\u200c\u200d"
"""Unseen letters that some scripts and pictures need."""
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_MACRO = re.compile(r"\{\{([^{}]*)\}\}")
_SHORT = re.compile(r"<(char|bot|user)>", re.IGNORECASE)
_NOT_SHOWN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PICTURE, _LINK = re.compile(r"!\[[^\[\]]*\]\([^()]*\)"), re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_DECORATOR = re.compile(r"^@@.*$\n?", re.MULTILINE)
_MARK = re.compile(r"^(?:#{1,6} |[-*+•>] |-{3,}$)+")
_HEADING = re.compile(r"\s*#{1,6}\s[^:：]{0,60}")
_STRONG = re.compile(r"\*\*|__|```\w{0,20}")
_PAIRS = re.compile(r"\b(\w[\w ]{0,40})\(\s{0,9}(\"[^\"]*\"(?:\s{0,9}\+\s{0,9}\"[^\"]*\")*)\s{0,9}\)")
"""What cards call W++: ``Likes("tea" + "rain")``."""
_TRAITS = re.compile(r"\b(\w[\w'’ ]{0,40}?)\s{0,9}=\s{0,9}(\"[^\"]*\"(?:\s{0,9}[,+]\s{0,9}\"[^\"]*\")*)\s{0,9};?")
"""What they call a PList: ``Mood = "calm", "kind"``."""
_WORDS = re.compile(r"\"([^\"]*)\"")
_DEED = re.compile(r"\*[^*]+\*")
_QUOTED = re.compile(r"[“\"]([^“”\"]+)[”\"]|「([^「」]+)」")
_JAPANESE = re.compile(r"[\u3041-\u30ff]")
_USER = r"(?:\{\{user\}\}|<user>)(?:さん|様|くん|君|ちゃん)?"
_CALLED_LAST = re.compile(rf"[,、，]\s{{0,3}}{_USER}(?=\s{{0,3}}(?:[!！?？.。…~〜\"”」]|$))", re.IGNORECASE)
_CALLED_FIRST = re.compile(rf"(?<![^\s\"“「*]){_USER}[,、，]\s{{0,3}}", re.IGNORECASE)
_OWNED = re.compile(rf"{_USER}['’]s\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[\w\s,']{0,40}\b(?:instructions?|prompts?)\b"
    r"|\bsystem (?:note|prompt|message)\b|\bjailbreak|\bOOC\b"
    r"|\byou are (?:now |not )?(?:an? |the )?(?:AI\b|language model|chatbot|ChatGPT|DAN\b)"
    r"|\b(?:write|generate|continue|respond|reply)\b[\w\s,']{0,40}\b(?:next (?:reply|response|message)|role-?play)\b"
    r"|\b(?:never|not|avoid) (?:speak|talk|act|writ)(?:e|ing)? (?:for|as) (?:the visitor|the user|you)\b"
    r"|(?:指示|命令|プロンプト)[はを](?:すべて|全て|全部)?(?:無視|忘れ)|システムプロンプト|(?:AI|言語モデル)として(?:答|応|振)"
    r"|忽略[^。]{0,10}(?:指令|指示|提示)",
    re.IGNORECASE,
)
"""What is said to a model, and not of a person."""
_ROUNDS = 8
"""What is taken out may leave markup behind: so often that is looked for."""


def language_of(text: str) -> Language:
    """The language for words of ours that stand in somebody's text: Japanese where it has kana."""
    return "ja" if _JAPANESE.search(text) else "en"


def plain(text: str, name: str, *, user: str = "exchange.visitor") -> str:
    """The text as sentences, line by line. `name` stands where the person is named; `user`: the key of the word for
    whoever it talks with.
    """
    other = sentence(language_of(text), user)
    for _ in range(_ROUNDS):
        before = text
        text = _SHORT.sub(r"{{\1}}", html.unescape(text))
        text = _MACRO.sub(lambda found: _said(found[1], name, other), text)
        text = _TAG.sub(" ", _NOT_SHOWN.sub("", MARKUP.sub("", text)))
        text = _LINK.sub(r"\1", _PICTURE.sub("", _DECORATOR.sub("", text)))
        if text == before:
            break
    else:
        text = re.sub(r"[<>{}]", "", text)
    text = _TRAITS.sub(_listed, _PAIRS.sub(_listed, _STRONG.sub("", text)))
    text = "".join(filter(_is_seen, text.replace("\t", " ")))
    return "\n".join(filter(None, map(_line, text.splitlines())))


def has_orders(text: str) -> bool:
    """Whether something in it is said to a model."""
    return _ORDER.search(text) is not None


def without_orders(text: str) -> str:
    """The text without the sentences that are said to a model."""
    lines = ([one for one in sentences_of(line) if not has_orders(one)] for line in text.splitlines())
    return "\n".join(reduce(_joined, line) for line in lines if line)


def spoken(text: str, name: str) -> str:
    """What is said in a greeting or an answer, on one line: the quoted words, else all but the deeds between asterisks;
    "" where nothing is said.
    """
    text = _OWNED.sub(sentence(language_of(text), "exchange.your"), _CALLED_FIRST.sub("", _CALLED_LAST.sub("", text)))
    said = plain(_DEED.sub("\n", text.replace("**", "")), name, user="exchange.you")
    quoted = ["".join(found).strip() for found in _QUOTED.findall(said)]
    whole = ""
    for part in quoted or said.splitlines():
        whole = _joined(whole, part)
    return whole.strip("*_ ")


def chunks(text: str, tokens: int) -> Iterator[str]:
    """The text in parts of so many tokens at most: no part goes over the end of a line, and they are cut between
    sentences where they can be.
    """
    for line in text.splitlines():
        part = ""
        for one in (piece for said in sentences_of(line) for piece in _pieces(said, tokens)):
            longer = _joined(part, one)
            if part and estimate_tokens(longer) > tokens:
                yield part
                longer = one
            part = longer
        if part:
            yield part


def _joined(before: str, after: str) -> str:
    """Both in a row; Japanese sentences have no space between them."""
    return f"{before} {after}".strip() if before.isascii() or before[-1:].isascii() else before + after


def _pieces(said: str, tokens: int) -> Iterator[str]:
    """A sentence that is too long by itself is cut where it is."""
    while estimate_tokens(said) > tokens:
        cut = max(1, len(said) * tokens // estimate_tokens(said) - 1)
        space = said.rfind(" ", cut // 2, cut)
        cut = space if space > 0 else cut
        yield said[:cut].strip()
        said = said[cut:].strip()
    if said:
        yield said


def _said(macro: str, name: str, other: str) -> str:
    """What a placeholder stands for; of a choice the first; of what only a chat program knows, nothing."""
    kind, _, rest = (part.strip() for part in macro.partition(":"))
    match kind.lower():
        case "char" | "bot":
            return name
        case "user":
            return other
        case "random" | "pick":
            return re.split(r"::|(?<!\\),", rest.lstrip(":"), maxsplit=1)[0].replace("\\,", ",").strip()
    return ""


def _listed(found: re.Match[str]) -> str:
    words = ", ".join(_WORDS.findall(found[2]))
    return f"{found[1].strip()}: {words}. "


def _line(line: str) -> str:
    """Without the marks of a list, and the brackets around it; "" of a heading, which says nothing of anybody."""
    if _HEADING.fullmatch(line):
        return ""
    words = _MARK.sub("", " ".join(line.split()))
    return words[1:-1].strip() if words.startswith("[") and words.endswith("]") else words


def _is_seen(letter: str) -> bool:
    return letter == "\n" or letter in _JOINERS or unicodedata.category(letter) not in _UNSEEN
