"""Owns where a rehearsed speaker stands: its voice, what it said and heard, and how an utterance is put together."""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from service.content.profile import Profile
from service.conversation.context import PromptContext
from service.conversation.rehearsal.phrases import Voice
from service.locales import Language
from service.memory.rehearsal.likeness import clip, fit, grams, holds, is_farewell, sameness, sentences
from service.memory.rehearsal.retell import told
from service.memory.utterance import is_question

_HONORIFIC = re.compile(r"(?:さん|様|さま|くん|君|ちゃん|先生|殿|氏|爺|婆|じいさん|ばあさん|町長|村長|師匠)$")
_POLITE = re.compile(r"です|ます|ません|ました|ください|でしょう")
_GREETING = re.compile(
    r"^(?:いらっしゃい|ようこそ|おはよう|こんにちは|こんばんは|やあ|よう、|おや、|おかえり)|^(?:welcome|hello|good (?:morning|day|evening|to see)|hi)\b",
    re.IGNORECASE,
)
_MORNING = re.compile(r"おはよう|good morning", re.IGNORECASE)
_EVENING = re.compile(r"こんばんは|good evening", re.IGNORECASE)
_RETURNING = re.compile(r"また(?:寄|来|お邪魔|伺|うかが)|\b(?:come|stop|drop) (?:by|back|in) again\b", re.IGNORECASE)
_THANKING = re.compile(r"ありがと|\bthank", re.IGNORECASE)
_NOON = re.compile(r"こんにちは|good (?:day|afternoon)", re.IGNORECASE)
_PRONOUN = re.compile(r"わたし|あたし|僕|ぼく|俺|おれ|わし|私|うち(?=[はがもの、])")
_ATTEMPTS = 12
_LONGEST = 400
_LONGEST_PART = 180
_NAME = 40
_TELLING = 4
_FRESH = 0.45
_FRESHER = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """Something the author gave the person to say. `core` is the author's text, `spoken` how it is said."""

    core: str
    spoken: str
    is_line: bool


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One speaker at one moment. `table` holds the small talk of its part, by voice."""

    scene: PromptContext
    speaker: Profile
    rng: random.Random
    table: Mapping[Voice, Mapping[str, tuple[str, ...]]]
    polite_by_default: bool

    @property
    def language(self) -> Language:
        return self.scene.language

    @cached_property
    def voice(self) -> Voice:
        """Japanese is polite when most of the person's authored lines are."""
        if self.language == "en":
            return "en"
        polite = [bool(_POLITE.search(line)) for line in self.speaker.lines]
        is_polite = sum(polite) * 2 >= len(polite) if polite else self.polite_by_default
        return "ja" if is_polite else "ja-plain"

    @cached_property
    def own(self) -> tuple[str, ...]:
        """What the speaker said in this conversation, oldest first."""
        return tuple(line.text for line in self.scene.lines if line.speaker_id == self.speaker.id)

    @cached_property
    def theirs(self) -> tuple[str, ...]:
        """What the partner said in this conversation, oldest first."""
        return tuple(line.text for line in self.scene.lines if line.speaker_id != self.speaker.id)

    @property
    def heard(self) -> str:
        """What the partner said last, or ""."""
        return self.theirs[-1] if self.theirs else ""

    @property
    def was_asked(self) -> bool:
        """Whether the partner's last words hold a question."""
        return any(is_question(sentence) for sentence in sentences(self.heard))

    @property
    def took_leave(self) -> bool:
        """Whether the partner said goodbye: in its last two sentences, where people do."""
        return any(is_farewell(sentence) for sentence in sentences(self.heard)[-2:])

    @cached_property
    def me(self) -> str:
        return self.speaker.name.strip()[:_NAME] or self.speaker.id[:_NAME]

    @cached_property
    def i(self) -> str:
        """How a Japanese speaker calls itself: as in its authored lines."""
        found = _PRONOUN.search("。".join(self.speaker.lines))
        return found.group(0) if found else "私"

    @cached_property
    def you(self) -> str:
        """How the partner is addressed."""
        name = self.scene.partner_name.strip()[:_NAME]
        if not name:
            return {"en": "friend", "ja": "あなた", "ja-plain": "きみ"}[self.voice]
        return name if self.voice != "ja" or _HONORIFIC.search(name) else f"{name}さん"

    @property
    def names(self) -> tuple[str, str]:
        return self.speaker.name.strip(), self.scene.partner_name.strip()

    @property
    def hour(self) -> int:
        """Hour of the world's day, noon when the scene's clock cannot be read."""
        found = re.search(r"(\d{1,2}):\d{2}", self.scene.now)
        return int(found.group(1)) if found else 12

    def say(self, phrase: str, **slots: str) -> str:
        """One wording of a phrase, not one already used in this conversation while others remain."""
        texts = [text.format(you=self.you, me=self.me, i=self.i, **slots) for text in self.table[self.voice][phrase]]
        fresh = [text for text in texts if not text or not any(text in said for said in self.own)]
        return self.rng.choice(fresh or texts)

    def used(self, phrase: str) -> bool:
        """Whether a wording of a phrase (one without further slots) was spoken in this conversation."""
        texts = (text.format(you=self.you, me=self.me, i=self.i) for text in self.table[self.voice][phrase] if text)
        return any(text in said for text in texts for said in self.own)

    def join(self, *parts: str) -> str:
        """One utterance of its parts: within bounds, never empty, each part cut where an author was long-winded."""
        kept = [clip(part.strip(), _LONGEST_PART) for part in parts if part.strip()]
        text = "".join(kept) if self.language == "ja" else " ".join(kept)
        return clip(text, _LONGEST) or "……"

    def freshest(self, compose: Callable[[], str]) -> str:
        """The first of some attempts that is unlike all the speaker said before, or the least alike."""
        limit = _FRESHER if self.scene.nudge == "repeated" else _FRESH
        attempts = []
        for _ in range(_ATTEMPTS):
            text = compose()
            alike = max((sameness(text, said) for said in self.own), default=0.0)
            if alike < limit:
                return text
            attempts.append((alike, text))
        return min(attempts)[1]

    def contents(self, learned: Iterable[str] = ()) -> list[Content]:
        """Authored lines and facts, then what was learned beside them, that this conversation has not heard yet."""
        lines = [Content(core=line.strip(), spoken=_closed(line.strip()), is_line=True) for line in self.speaker.lines]
        known = [*self.speaker.facts]
        known += [fact for fact in learned if all(holds(c.core, fact) < 0.8 for c in lines)]
        polite = self.voice == "ja"
        facts = [
            Content(core=fact, spoken=told(fact, self.speaker.name, self.language, polite=polite), is_line=False)
            for fact in known
            if fact.strip()
        ]
        found = [c for c in lines if c.core and not is_courtesy(c.core)] + facts
        return [c for c in found if not self.heard_before(c, self.own) and not self._is_about_partner(c)]

    def _is_about_partner(self, content: Content) -> bool:
        """What speaks of somebody by name is not said to their face."""
        name = self.names[1]
        return bool(name) and name in content.core

    def heard_before(self, content: Content, texts: Iterable[str]) -> bool:
        """Whether one of the texts holds the content already."""
        return any(holds(text, content.core) >= 0.8 or content.spoken in text for text in texts)

    def hinted_before(self, content: Content, texts: Iterable[str]) -> bool:
        """Whether one of the texts holds the content or a whole sentence of it, as a summary does."""
        parts = [content.core, *(s for s in sentences(content.core) if len(grams(s)) >= _TELLING)]
        return any(holds(text, part) >= 0.8 for text in texts for part in parts)

    def rank(self, contents: Iterable[Content], query: str, handicap: Callable[[Content], float]) -> list[Content]:
        """Best answer to the query first; likeness decides, then the handicap, then chance."""
        scored = [(fit(query, c.core) - handicap(c) + self.rng.random() * 0.08, c) for c in contents]
        return [content for _, content in sorted(scored, key=lambda pair: -pair[0])]

    def own_greeting(self) -> str:
        """An authored line that greets, fit for the hour, or ""."""
        found = [line.strip() for line in self.speaker.lines if is_greeting(line.strip()) and self._in_time(line)]
        return clip(self.rng.choice(found), _LONGEST_PART) if found else ""

    def own_farewell(self) -> str:
        """An authored line that takes leave, or ""; a wish to come back gets a goodbye after it."""
        line = self._unsaid(lambda line: (is_farewell(line) or bool(_RETURNING.search(line))) and not is_greeting(line))
        return line if not line or is_farewell(line) else self.join(line, self.say("bye_reply"))

    def own_thanks(self) -> str:
        """An authored line that thanks, or ""."""
        return self._unsaid(lambda line: bool(_THANKING.search(line)) and not is_farewell(line))

    def own_question(self, query: str) -> str:
        """The authored line that asks on, best for the query, or ""."""
        asked = [line for line in self.speaker.lines if line.strip() and not is_courtesy(line.strip())]
        asked = [line.strip() for line in asked if any(is_question(s) for s in sentences(line))]
        fresh = [line for line in asked if not any(line in said for said in self.own)]
        return clip(max(fresh, key=lambda line: (fit(query, line), line), default=""), _LONGEST_PART)

    def _unsaid(self, fits: Callable[[str], bool]) -> str:
        found = [line.strip() for line in self.speaker.lines if line.strip() and fits(line)]
        found = [line for line in found if not any(line in said for said in self.own)]
        return clip(self.rng.choice(found), _LONGEST_PART) if found else ""

    def _in_time(self, line: str) -> bool:
        if _MORNING.search(line):
            return 4 <= self.hour < 11
        if _NOON.search(line):
            return 9 <= self.hour < 18
        return not _EVENING.search(line) or self.hour >= 17 or self.hour < 4


def is_greeting(line: str) -> bool:
    """Whether an authored line opens with a greeting."""
    return bool(_GREETING.search(line))


def is_courtesy(line: str) -> bool:
    """Whether an authored line greets, thanks or takes leave: it has its own place in a conversation."""
    return is_greeting(line) or is_farewell(line) or bool(_THANKING.search(line) or _RETURNING.search(line))


def daytime(hour: int) -> str:
    """The phrase that greets at this hour."""
    return "morning" if 4 <= hour < 11 else "day" if hour < 17 and hour >= 11 else "evening"


def _closed(line: str) -> str:
    """With an end, so that what follows does not run into it."""
    if not line or re.search(r"[。！？!?.…、」』\"”)）〜~♪]$", line):
        return line
    return line + ("." if line.isascii() else "。")
