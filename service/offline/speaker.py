"""Owns the speaker: greets, says an authored line or fact that fits, asks back, takes its leave. Nothing twice a
day.
"""

import random
import re
from collections.abc import Sequence
from functools import cached_property

from service.conversation.context import PromptContext
from service.conversation.prompt import CharacterTurn, Emotion, NpcTurn, OpeningTurn
from service.memory.utterance import is_question
from service.memory.words import quoted_in
from service.offline.goals import set_goal, topic_of
from service.offline.lines import Kind, Saying, clip, fit, joined, lines_of, register_of, sayings, told
from service.offline.phrases import keys, phrases, sentences

_PATIENCE = 4
"""Own turns after which the opener leaves."""
_ENOUGH = 2
"""Things told that are news enough, whatever the goal was; and replies the opener waits for."""
_ANSWERS = 0.12
"""Fit of something told to the goal that achieves it."""
_COLD, _WARM = -40, 40
_OFTEN = 0.6
_LONGEST, _LONGEST_PART, _LONGEST_QUOTE = 400, 180, 110
_KNOWN = re.compile(r"^\((?P<ago>[^()]+)\) (?P<statement>.+)$")


def speak(context: PromptContext, rng: random.Random) -> NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers; the same context and generator state make the same answer."""
    return _Opener(context, rng).turn() if context.begins else _Partner(context, rng).turn()


class _Speaker:
    """One person at one moment."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        self.context, self.rng = context, rng
        self.phrases = phrases(context.language)
        self.register = register_of(context.speaker, self.phrases)
        self.own = [line.text for line in context.lines if line.speaker_id == context.speaker.id]
        self.theirs = [line.text for line in context.lines if line.speaker_id != context.speaker.id]
        self.heard = self.theirs[-1] if self.theirs else ""
        self._said = self._keys([*(line.text for line in context.lines), *context.said_today])
        self._told = self._keys(context.said_before)

    @cached_property
    def name(self) -> str:
        return self.context.partner_name.strip()[:40]

    @property
    def is_cold(self) -> bool:
        return self.context.mood == "angry" or self.context.affinity <= _COLD

    @property
    def has_met(self) -> bool:
        known = self.context
        return bool(known.acquainted or known.times_met or known.last_meeting or known.unsettled or known.said_today)

    def is_fresh(self, text: str, *, ever: bool = False) -> bool:
        """Whether no sentence of it was said today; with `ever`, nor told the partner in the days before."""
        found = keys([text])
        return self._said.isdisjoint(found) and not (ever and found & self._told)

    def say(self, key: str, /, **slots: str) -> str:
        """A wording of small talk that was not heard yet; "" where none is left."""
        names = {"me": self.context.speaker.name.strip()[:40], "you": self._address()}
        texts = self.phrases.wordings(f"{self.register}.{key}", **names, **slots)
        fresh = [text for text in texts if self.is_fresh(text)]
        return self._spoken(self.rng.choice(fresh)) if fresh else ""

    def line(self, kind: Kind, query: str = "") -> str:
        """An authored line of that kind the partner has not heard, the best for the query; "" where none is left."""
        lines = [clip(line, _LONGEST_PART, self.phrases) for line in lines_of(self.context.speaker, kind, self.phrases)]
        return self._spoken(self._best([line for line in lines if self.is_fresh(line, ever=True)], query))

    def tell(self, query: str, least: float = 0.0) -> str:
        """A statement or fact that is new to the partner and fits the query at least so well; "" where there is
        none.
        """
        new = [
            one for one in sayings(self.context.speaker, self.phrases, self.name) if self.is_fresh(one.text, ever=True)
        ]
        best = self._best([one.text for one in new if fit(query, one.text) >= least], query)
        saying = next((one for one in new if one.text == best), Saying(text=""))
        if not saying.is_fact:
            return self._spoken(clip(saying.text, _LONGEST_PART, self.phrases))
        return self.say("fact", fact=clip(self._spoken(saying.text), _LONGEST_PART, self.phrases))

    def emotion(self) -> Emotion:
        if self.context.mood == "angry":
            return "angry"
        return "happy" if self.context.mood == "happy" or self.context.affinity >= _WARM else "neutral"

    def utter(self, *parts: str) -> str:
        """One utterance; silence where nothing is left to say."""
        return joined(parts, _LONGEST, self.phrases) or self.phrases.only("silence")

    def _keys(self, texts: Sequence[str]) -> frozenset[str]:
        """The sentences of texts, and the facts that stand in frames."""
        facts = (one.text for text in texts for one in self.phrases.passages(text) if one.is_fact)
        return keys([*texts, *facts])

    def _spoken(self, text: str) -> str:
        """What is about to be said is not said once more in the same breath."""
        self._said |= keys([text])
        return text

    def _best(self, texts: list[str], query: str) -> str:
        """The best for the query; chance decides among those that fit as well."""
        self.rng.shuffle(texts)
        return max(texts, key=lambda text: fit(query, text), default="")

    def _address(self) -> str:
        return self.phrases.only(f"{'address' if self.name else 'stranger'}.{self.register}", name=self.name)


class _Partner(_Speaker):
    """Who was spoken to."""

    def turn(self) -> NpcTurn:
        if self._heard_goodbye() or self.context.turns_left <= 1:
            return self._turn([self.say("welcome") if self._thanked() else "", self._bye()], leaves=True)
        if self.is_cold:
            return self._curt()
        greeting = "" if self.own else self._greeting()
        answer = self.tell(self.heard)
        if not answer:
            return self._turn([greeting, self.say("nothing"), self._bye()], leaves=True)
        asks = len(self.own) == 1 and self.context.turns_left > 3
        lead = self._lead() if greeting or self.rng.random() < _OFTEN else ""
        return self._turn([greeting, lead, answer, self.say("ask_back") if asks else ""], leaves=False)

    def _turn(self, parts: list[str], *, leaves: bool) -> NpcTurn:
        emotion = "happy" if leaves and not self.is_cold else self.emotion()
        return NpcTurn(utterance=self.utter(*parts), emotion=emotion, wants_to_end=leaves)

    def _curt(self) -> NpcTurn:
        """A cold word, and an answer if one is owed."""
        if self.own:
            return self._turn([self.tell(self.heard, _ANSWERS), self.say("bye_cold")], leaves=True)
        return self._turn([self.say("greet_cold"), self.tell(self.heard, _ANSWERS) or self.say("curt")], leaves=False)

    def _greeting(self) -> str:
        if self.has_met:
            return self.say("greet_again")
        own = self.line("greeting") if self.context.speaker.kind == "npc" else ""
        return own or self.say("greet_first")

    def _lead(self) -> str:
        """Small talk between what it said and what it tells."""
        if not self.own and self._is_recalled(self.heard):
            return self.say("remembered")
        return self.say("welcome") if self._thanked() else self.say("answer")

    def _is_recalled(self, line: str) -> bool:
        """Whether the line gives back what this person once told."""
        quoted = keys(re.findall(r"[「\"](.+)[」\"]", line))
        return bool(self._told & quoted) or any(fact and fact in line for fact in self.context.speaker.facts)

    def _heard_goodbye(self) -> bool:
        return any(self.phrases.has("farewell", sentence) for sentence in sentences(self.heard)[-2:])

    def _thanked(self) -> bool:
        return self.phrases.has("thanks", self.heard)

    def _bye(self) -> str:
        return self.say("bye_cold" if self.is_cold else "bye_back")


class _Opener(_Speaker):
    """Who began: the goal is its own. Without one it sets one."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        super().__init__(context, rng)
        self._goal = context.goal or set_goal(context.speaker, context.partner_name, context.language, rng)
        self._query = f"{self._goal.goal} {self._goal.success_criteria}"

    def turn(self) -> CharacterTurn | OpeningTurn:
        done = self._is_done()
        parts = [*self._hello(), *self._begin()] if not self.own else [] if done else self._go_on()
        leaves = not parts
        utterance = self.utter(*(parts or self._leave(done)))
        if self.context.goal is None:
            return OpeningTurn(**self._goal.model_dump(), utterance=utterance, emotion="neutral", wants_to_end=False)
        emotion: Emotion = "happy" if done and not self.is_cold else self.emotion()
        return CharacterTurn(utterance=utterance, emotion=emotion, wants_to_end=leaves, goal_achieved=done)

    def _hello(self) -> list[str]:
        """By the hour; then who I am, or what I remember of last time."""
        hour = int(found[1]) if (found := re.search(r"(\d{1,2}):\d{2}", self.context.now)) else 12
        by_day = 9 <= hour < 18
        own = self.line("greeting") if by_day and (not self.has_met or self.rng.random() < 1 - _OFTEN) else ""
        hello = own or self.say(
            "hello_morning" if 4 <= hour < 11 else "hello_day" if 11 <= hour < 18 else "hello_evening"
        )
        if not self.has_met:
            return [hello, self.say("introduce")]
        return [hello, self._recalled() or (self.say("again") if self.rng.random() < _OFTEN else "")]

    def _recalled(self) -> str:
        """The best of what the partner told, given back in its own words; "" where nothing is known."""
        found = [match for known in self.context.known if (match := _KNOWN.match(known))]
        found = [match for match in found if self.name and match["statement"].startswith(self.name)]
        best = max(found, key=lambda match: fit(self._query, match["statement"]), default=None)
        if best is not None:
            return self.say("recall", ago=best["ago"], said=self._quoted(best["statement"]))
        unsettled = (line.text for line in self.context.unsettled if line.speaker_id == self.context.partner_id)
        heard = [passage.text for text in unsettled for passage in told(text, self.phrases)]
        return self.say("recall", ago=self.context.unsettled_ago, said=self._first(heard[0])) if heard else ""

    def _quoted(self, statement: str) -> str:
        """What the partner said in remembered words, the first that tells something; a statement as it is."""
        said = quoted_in(statement, self.name, self.context.language)
        passages = told(said, self.phrases)
        return self._first(passages[0].text if passages else said)

    def _first(self, text: str) -> str:
        first = clip(sentences(text)[0], _LONGEST_QUOTE, self.phrases).rstrip("。.")
        return first if first[-1:] in "!?！？…" else self.phrases.only("memory.sentence", words=first)

    def _begin(self) -> list[str]:
        """A word of one's own that bears on the goal, and a question."""
        if self.phrases.has("thanks", self._goal.goal):
            return [self.say("thank")]
        topic = topic_of(self._goal, self.context.speaker, self.name, self.context.language)
        if topic:
            return [self.say("ask_about", topic=topic)]
        own = self.tell(self._query, _ANSWERS)
        return [own, self.say("turn") if own else "", self._question() or self.say("ask")]

    def _go_on(self) -> list[str]:
        """React, answer if asked, ask on; nothing where it is time to leave, or nothing is left to ask or tell."""
        if self.context.turns_left <= 2 or len(self.own) >= _PATIENCE:
            return []
        if not told(self.heard, self.phrases):
            return []
        reply = self._often("reply")
        if any(map(is_question, sentences(reply))) and not self._is_asked:
            return [reply]
        own = self.tell(f"{self._query} {self.heard}", 0.0 if self._is_asked else _ANSWERS)
        question = self._question() or self.say("more")
        lead = self.say("own") if self._is_asked and own else ""
        return [reply or self.say("react"), lead, own, question] if question else []

    def _leave(self, done: bool) -> list[str]:
        """A last answer if one is owed, thanks, and a goodbye."""
        own = self.tell(self.heard) if self._is_asked else ""
        answer = [self.say("own"), own] if own else [self.say("own_nothing" if self._is_asked else "react")]
        thanks = (self._often("thanks") or self.say("thanks")) if done else self.say("give_up")
        return [*answer, thanks, self._often("farewell") or self.say("bye")]

    @property
    def _is_asked(self) -> bool:
        return any(map(is_question, sentences(self.heard)[-1:]))

    def _often(self, kind: Kind) -> str:
        """Authored words mostly, not always: two visits should not end alike."""
        return self.line(kind) if self.rng.random() < _OFTEN else ""

    def _question(self) -> str:
        return self.line("question", f"{self._query} {self.heard}")

    def _is_done(self) -> bool:
        """Whether the partner has told what the goal asks, or news enough."""
        heard = [passage.text for text in self.theirs for passage in told(text, self.phrases)]
        if len(self.theirs) < _ENOUGH and self.context.turns_left > 4:
            return False
        return len(heard) >= _ENOUGH or any(fit(self._query, text) >= _ANSWERS for text in heard)
