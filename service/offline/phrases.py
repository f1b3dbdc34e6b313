"""Owns what the rehearsal says: the small talk of each language, the lines an author gave a person, what of a text is
left without the one or the other, and what a line of a prompt recalls (memory/telling.py).
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.prompt import Goal
from service.locales import Language, room, sentence
from service.memory.lexical import sentences, share, squeezed, telling

_SLOT = re.compile(r"\\\{(\w+)\\\}")
_SLOTS = {"fact": r"(?P<fact{n}>[^\n]{{1,200}}?)", "said": r"[^\n]{{1,200}}?"}
_NO_SMALL_TALK = ("relation", "place", "open", "ask_about", "ask_work")
"""Wordings that tell something, or ask after it."""
_NAME = r"[^\n。．.!?！？「」\"]{{0,80}}?"
"""What fills any other slot: a name, a time, a topic."""


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """The sentences of one language: `offline` in its file of sentences."""

    texts: Mapping[str, tuple[str, ...]]
    small_talk: re.Pattern[str]

    def wordings(self, key: str, /, **slots: str) -> list[str]:
        """All wordings of a key, filled."""
        return [text.format(**slots) for text in self.texts[key]]

    def only(self, key: str, /, **slots: str) -> str:
        """The one wording of a key."""
        return self.wordings(key, **slots)[0]

    def joined(self, parts: Iterable[str]) -> str:
        """Sentences as one text."""
        return self.only("joint", one="", other="").join(filter(None, parts))

    def has(self, mark: str, text: str) -> bool:
        """Whether a text bears a mark: a regular expression of `offline.marks`."""
        return any(re.search(pattern, text, re.IGNORECASE) for pattern in self.texts[f"marks.{mark}"])

    def without(self, mark: str, text: str) -> str:
        """The text with blanks in the place of what is marked so."""
        return re.sub("|".join(self.texts[f"marks.{mark}"]), " ", text, flags=re.IGNORECASE)

    def kin(self, text: str) -> str:
        """The text with one word for all words of a kind: a daughter and a son are children (`offline.kin`)."""
        for n, kind in enumerate(self.texts["kin"]):
            text = re.sub(kind, f" kin{n} ", text, flags=re.IGNORECASE)
        return text

    def turned(self, relation: str) -> str:
        """What somebody is to the speaker, as that one says it: "your wife; she bakes" becomes "my wife"."""
        head = re.split(r"[;；,、。]", relation.strip().rstrip("."), maxsplit=1)[0]
        for you, i in (rule.split(" => ") for rule in self.texts["turned"]):
            head = re.sub(you, i, head, flags=re.IGNORECASE)
        return head

    def asks(self, text: str) -> bool:
        """Whether one of its sentences ends as a question does."""
        return any(self.has("question", sentence) for sentence in sentences(text))

    def asked(self, text: str) -> str:
        """Its questions, without small talk, and without a word or two that the speaker goes on to answer ("My back? It
        aches."); in a script that parts no words, those are not told apart.
        """
        parts = sentences(self.small_talk.sub("\n", text))
        return " ".join(
            one
            for n, one in enumerate(parts)
            if self.has("question", one)
            and not (one.isascii() and len(one.split()) <= 2 and any(not self.asks(later) for later in parts[n + 1 :]))
        )

    def fact(self, name: str, fact: str) -> str:
        """An authored fact as a sentence that names whose it is."""
        return fact if name in fact else self.only("memory.fact", name=name, fact=fact.rstrip(".。"))

    def told(self, text: str, *, is_human: bool = False) -> list[str]:
        """What a text tells beside the small talk: facts, and an author's words up to where they greet or ask. A human
        goes on after that.
        """
        left = self.small_talk.sub(lambda talk: f"\n{talk[talk.lastgroup] if talk.lastgroup else ''}\n", text)
        told = filter if is_human else takewhile
        parts = (told(self._tells, sentences(part)) for part in left.split("\n"))
        return [passage for passage in map(self.joined, parts) if telling(passage)]

    def _tells(self, sentence: str) -> bool:
        return not any(self.has(mark, sentence) for mark in ("greeting", "farewell", "thanks", "question"))


@cache
def phrases(language: Language) -> Phrases:
    """The sentences of that language."""
    texts = {key: text if isinstance(text, tuple) else (text,) for key, text in room(language, "offline").items()}
    spoken = [
        key for key in texts if key.startswith(("polite.", "plain.")) and key.rpartition(".")[2] not in _NO_SMALL_TALK
    ]
    said = sorted({wording for key in spoken for wording in texts[key]}, key=lambda one: (-len(one), one))
    patterns = (_pattern(wording, n) for n, wording in enumerate(said))
    return Phrases(texts=texts, small_talk=re.compile(rf"(?:^|(?<=[\s。.!?！？…」\"]))(?:{'|'.join(patterns)})"))


def _pattern(wording: str, n: int) -> str:
    return _SLOT.sub(lambda slot: _SLOTS.get(slot[1], _NAME).format(n=n), re.escape(wording))


def keys(texts: Iterable[str]) -> frozenset[str]:
    """The sentences of texts in the form in which they are compared; one without a letter or digit is left out."""
    return frozenset(key for text in texts for sentence in sentences(text) if (key := squeezed(sentence)))


def quotable(text: str) -> str:
    """The text as it stands between quotation marks."""
    return text.translate(str.maketrans('「」"', "『』'")).rstrip("。")


def clip(text: str, limit: int, phrases: Phrases) -> str:
    """The text within so many characters: whole sentences where they fit, else cut with an ellipsis."""
    if len(text) <= limit:
        return text
    parts = sentences(text)
    wholes = (phrases.joined(parts[:count]) for count in range(len(parts), 0, -1))
    return next((whole for whole in wholes if len(whole) <= limit), f"{text[: limit - 1]}…")


_KNOWN = re.compile(r"\((?P<ago>[^()]+)\) (?P<clause>.+)", re.DOTALL)
"""A line of its own: since when, and what."""
_TURN = re.compile(r"(?P<name>[^:\n]{1,80}): (?P<told>.+)", re.DOTALL)
_NOTED = re.compile(r"(?P<clause>.+?)\s*\((?:[^()]*; )?(?P<ago>[^();]*)\)(?:[.。]\s*|$)", re.DOTALL)
"""A clause of several that one person told: what, and since when."""


class Recollection(NamedTuple):
    """Something remembered: when it was learned, who told it ("": nobody in particular), the clause, and the words that
    it quotes, or itself.
    """

    ago: str
    name: str
    clause: str
    said: str


def recollections(line: str, language: Language) -> list[Recollection]:
    """What the line recalls; nothing where it has another form."""
    if group := _form(language, "remembered.group.told").fullmatch(line):
        found, name = _NOTED.finditer(group["told"]), group["name"]
        return [_recollection(one["ago"], name, one["clause"], language) for one in found]
    known, you = _KNOWN.fullmatch(line), sentence(language, "remembered.you")
    turns = re.split(r" / (?=[^:/\n]{1,80}: )", known["clause"]) if known else ()  # a question with its answer
    recalled = (_recollection(known["ago"], "", turn, language) for turn in turns if known)
    return [one for one in recalled if one.name != you]


def words_of(name: str, text: str, language: Language) -> str:
    """The words that a summary quotes of that one; "": none."""
    form = sentence(language, "remembered.said", name=name, said="\0")
    return str((*re.findall(re.escape(form).replace("\0", "(.+)"), text), "")[0])


def _recollection(ago: str, name: str, clause: str, language: Language) -> Recollection:
    if name:
        forms = (_form(language, key).fullmatch(clause) for key in ("remembered.words", "remembered.said"))
        words = next(filter(None, forms), None)
        return Recollection(ago, name, clause, words["told"] if words else clause)
    clause = _form(language, "remembered.overheard").sub(r"\g<told>", clause)
    quoted = _form(language, "remembered.said").fullmatch(clause) or _TURN.fullmatch(clause)
    return Recollection(ago, quoted["name"] if quoted else "", clause, quoted["told"] if quoted else clause)


@cache
def _form(language: Language, key: str) -> re.Pattern[str]:
    text = re.escape(sentence(language, key, name="\0", told="\1", said="\1", text="\1"))
    return re.compile(text.replace("\0", "(?P<name>.+?)").replace("\1", "(?P<told>.+)"), re.DOTALL)


LineKind = Literal["greeting", "farewell", "reply", "question", "statement"]
"""What a line is for; a reply takes up what was just said."""

_COVERED = 0.6
"""Share of a fact's words in a line from which the line tells it."""
_LONGEST, _LONGEST_WISH = 180, 120
_QUEST = 0.6
"""How likely something it wants of life is what the talk is about."""


def lines_of(profile: CharacterProfile | NpcProfile, kind: LineKind, phrases: Phrases) -> list[str]:
    """The person's lines of a kind, each short enough for a part of an utterance. Who walks takes up what it hears."""
    marked = ("greeting", "farewell", *(["reply"] if profile.kind == "character" else []))

    def kind_of(line: str) -> str:
        asks = sum(len(one) for one in sentences(line) if phrases.has("question", one))
        other = "question" if phrases.has("question", line) or 2 * asks > len(line) else "statement"
        return next((mark for mark in marked if phrases.has(mark, line)), other)

    lines = filter(None, map(str.strip, profile.lines))
    return [clip(line, _LONGEST, phrases) for line in lines if kind_of(line) == kind]


def facts_of(profile: CharacterProfile | NpcProfile, secrets: Iterable[str], phrases: Phrases) -> list[str]:
    """Facts that no line of the person tells."""
    lines, facts = lines_of(profile, "statement", phrases), (fact.strip() for fact in (*profile.facts, *secrets))
    return [clip(fact, _LONGEST, phrases) for fact in facts if fact and not any(tells(line, fact) for line in lines)]


def is_polite(profile: CharacterProfile | NpcProfile, phrases: Phrases) -> bool:
    """How the person speaks: politely, if most of its lines do; a character without lines does too."""
    polite = [phrases.has("polite", line) for line in profile.lines] or [profile.kind == "character"]
    return sum(polite) * 2 >= len(polite)


@lru_cache(maxsize=16_384)
def tells(line: str, fact: str) -> bool:
    """Whether a line tells a fact, in words of its own."""
    return share(telling(fact), line) >= _COVERED


def set_goal(speaker: CharacterProfile | NpcProfile, partner: str, language: Language, rng: random.Random) -> Goal:
    """A goal small enough for one conversation. Nobody is asked about itself by way of somebody's wish."""
    told, name = phrases(language), partner.strip()[:40]
    wishes = [wish for wish in _wishes(speaker) if len(wish) <= _LONGEST_WISH and not (name and name in wish)]
    wants = told.only("goal.news", name=name)
    if wishes and rng.random() < _QUEST:
        wants = told.only("goal.wish", name=name, wish=rng.choice(wishes))
    return Goal(goal=wants, success_criteria=told.only("goal.criteria"))


def topic_of(goal: Goal, speaker: CharacterProfile | NpcProfile, partner: str, language: Language) -> str:
    """What the goal is about, in words that fit a question to the partner. "" where it does not say so; also where it
    is a wish of the speaker's own, of which its own lines speak.
    """
    told, bare = phrases(language), goal.goal.strip().rstrip("。.!")
    if any(wish in bare for wish in _wishes(speaker)):
        return ""
    for whose in ("yours", "any"):
        found = re.search(told.only(f"goal.about_{whose}"), bare)
        if found and len(found[1]) <= _LONGEST_WISH // 2 and partner not in found[1]:
            return told.only(f"goal.topic_{whose}", topic=found[1].strip())
    return ""


def _wishes(speaker: CharacterProfile | NpcProfile) -> list[str]:
    return [bare for wish in speaker.wishes if (bare := wish.strip().rstrip("。."))]
