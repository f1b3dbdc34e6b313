"""Owns the speaker: greets, says an authored line or fact that fits, asks back, takes its leave. Nothing twice a
day.
"""

import random
import re
from collections.abc import Iterable
from typing import cast

from service.content.profile import Emotion
from service.conversation.context import Goal, PromptContext
from service.conversation.prompt import CharacterTurn, NpcTurn, OpeningTurn, answer_of
from service.memory.words import quoted_in
from service.offline.acting import act, suggest
from service.offline.lines import Kind, facts_of, fit, is_polite, lines_of, set_goal, topic_of
from service.offline.phrases import asks, clip, keys, phrases, quotable, sentences
from service.store.phase import OpenedFor

_PATIENCE = 4
"""Own turns after which the opener leaves."""
_ENOUGH = 2
"""Things told that are news enough, whatever the goal was; and replies the opener waits for."""
_ANSWERS = 0.12
"""Fit of something told to the goal that achieves it."""
_RECALLS = 0.2
"""Fit of what the partner once told to what it says now that brings it to mind."""
_COLD, _WARM = -40, 40
_LONGEST, _LONGEST_QUOTE = 400, 110
KNOWN = re.compile(r"^\((?P<ago>[^()]+)\) (?P<statement>.+)$")
"""What is remembered as a prompt has it: since when, and what."""


def speak(context: PromptContext, rng: random.Random) -> NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers; the same context and generator state make the same answer."""
    turn = _Opener(context, rng).turn() if context.begins else Speaker(context, rng).turn()
    if context.actions:
        turn["action"] = act(context)
    if context.choices:
        turn["choices"] = [] if turn["wants_to_end"] else suggest(context, str(turn["utterance"]), rng)
    return cast("NpcTurn | CharacterTurn | OpeningTurn", answer_of(context).model_validate(turn))


class Speaker:
    """One person at one moment; it answers who speaks to it."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        self.context, self.rng = context, rng
        self.phrases = phrases(context.language)
        self.name = context.partner_name.strip()[:40]
        self.own = [line.text for line in context.lines if line.speaker_id == context.speaker.id]
        self.theirs = [line.text for line in context.lines if line.speaker_id != context.speaker.id]
        self.heard = self.theirs[-1] if self.theirs else ""
        self.is_asked = asks(self.heard)
        self.is_cold = context.mood == "angry" or context.affinity <= _COLD
        self._register = "polite" if is_polite(context.speaker, self.phrases) else "plain"
        self._said = self._keys([*(line.text for line in context.lines), *context.said_today])
        self._told = self._keys(context.said_before)

    def say(self, key: str, /, **slots: str) -> str:
        """A wording of small talk that the partner has not heard today; "" where none is left."""
        address = f"{'address' if self.name else 'stranger'}.{self._register}"
        names = {"me": self.context.speaker.name.strip()[:40], "you": self.phrases.only(address, name=self.name)}
        texts = self.phrases.wordings(f"{self._register}.{key}", **names, **slots)
        fresh = [text for text in texts if self._said.isdisjoint(keys([text]))]
        return self._spoken(self.rng.choice(fresh)) if fresh else ""

    def line(self, kind: Kind, query: str = "") -> str:
        """An authored line of that kind that is new to the partner, the best for the query; "" where none is left."""
        return self._spoken(self._best(lines_of(self.context.speaker, kind, self.phrases), query))

    def tell(self, query: str, least: float = 0.0) -> str:
        """A statement or fact, not about the partner, that is new to it and fits the query (0..1) at least so well; ""
        where there is none.
        """
        speaker = self.context.speaker
        facts = facts_of(speaker, self.context.secrets, self.phrases)
        known = [text for text in (*lines_of(speaker, "statement", self.phrases), *facts) if fit(query, text) >= least]
        best = self._spoken(self._best([text for text in known if not (self.name and self.name in text)], query))
        is_clause = best in facts and not best[:1].isupper()
        return self.say("fact", fact=quotable(best.rstrip("."))) if is_clause else best

    def recalled(self, query: str, least: float = 0.0) -> str:
        """What the partner once told, given back in its own words, as far as it fits the query (0..1); "" where nothing
        does.
        """
        context = self.context
        known = filter(None, map(KNOWN.match, (*context.known, *context.reminded)))
        found = [
            (match["ago"], quoted_in(match["statement"], self.name, context.language))
            for match in known
            if self.name and match["statement"].startswith(self.name)
        ] or [
            (context.unsettled_ago, line.text)
            for line in context.unsettled
            if line.speaker_id == context.partner_id and self.phrases.told(line.text)
        ]
        fitting = [one for one in found if fit(query, one[1]) >= least]
        if not fitting:
            return ""
        ago, said = max(fitting, key=lambda one: fit(query, one[1]))
        first = sentences((self.phrases.told(said, is_human=True) or [said])[0])[0]
        first = clip(first, _LONGEST_QUOTE, self.phrases).rstrip("。.")
        words = first if first[-1:] in "!?！？…" else self.phrases.only("memory.sentence", words=first)
        return self.say("recall", ago=ago, said=words)

    def hello(self) -> str:
        """A greeting that fits the hour; by day in the author's words."""
        hour = int(found[1]) if (found := re.search(r"(\d{1,2}):\d{2}", self.context.now)) else 12
        own = self.line("greeting") if 9 <= hour < 18 else ""
        return own or self.say(f"hello_{'morning' if 4 <= hour < 11 else 'day' if 11 <= hour < 18 else 'evening'}")

    @property
    def emotion(self) -> Emotion:
        if self.context.mood == "angry":
            return "angry"
        return "happy" if self.context.mood == "happy" or self.context.affinity >= _WARM else "neutral"

    def utter(self, parts: Iterable[str]) -> str:
        """One utterance; silence where nothing is left to say."""
        return clip(self.phrases.joined(parts), _LONGEST, self.phrases) or self.phrases.only("silence")

    def greeting(self, recalled: str = "") -> list[str]:
        """A greeting, and who I am or what I remember of last time; in the first turn."""
        if self.own or self.is_cold:
            return []
        known = self.context
        if known.acquainted or known.times_met or known.last_meeting or known.unsettled or known.said_today:
            return [self.hello(), recalled or self.say("again")]
        return [self.hello(), self.say("introduce")]

    def bye(self, key: str) -> str:
        """Its leave, in the author's words if there is nothing between the two."""
        return self.say("bye_cold") if self.is_cold else self.line("farewell") or self.say(key)

    def turn(self) -> dict[str, object]:
        """What it answers, by the names of its answer's fields."""
        parts, leaves = self._answer()
        return {"utterance": self.utter(parts), "emotion": self.emotion, "wants_to_end": leaves}

    def _answer(self) -> tuple[list[str], bool]:
        """Its words, and whether it leaves."""
        heard_goodbye = any(self.phrases.has("farewell", sentence) for sentence in sentences(self.heard)[-2:])
        if heard_goodbye or self.context.turns_left <= 1:
            return [self.bye("bye_back")], True
        greeting = self.greeting()
        told = "" if self.is_cold else self.recalled(self.heard, _RECALLS)
        told = told or self.tell(self.heard, _ANSWERS if self.is_cold else 0.0)
        if not told or (self.is_cold and self.own):
            return [*greeting, told or self.say("nothing"), self.bye("bye_back")], True
        asks_back = len(self.own) == 1 and self.context.turns_left > 3
        return [*greeting, self.say("answer"), told, self.say("ask_back") if asks_back else ""], False

    def _keys(self, texts: Iterable[str]) -> frozenset[str]:
        """The sentences of texts, and the facts that stand in frames."""
        return keys(one for text in texts for one in (text, *self.phrases.told(text)))

    def _spoken(self, text: str) -> str:
        """Note that the text is about to be said, so that it does not come twice in one utterance."""
        self._said |= keys([text])
        return text

    def _best(self, texts: list[str], query: str) -> str:
        """The best for the query of what the partner has never heard; chance decides among those that fit as well."""
        heard = self._said | self._told
        new = [text for text in texts if heard.isdisjoint(keys([text]))]
        self.rng.shuffle(new)
        return max(new, key=lambda text: fit(query, text), default="")


class _Opener(Speaker):
    """Who began: the goal is its own. Without one it sets one."""

    def turn(self) -> dict[str, object]:
        context = self.context
        goal = context.goal or set_goal(context.speaker, context.partner_name, context.language, self.rng)
        query = f"{goal.goal} {goal.success_criteria}"
        done = self._is_done(query)
        going_on = self._begin(goal, query) if not self.own else [] if done else self._go_on(query)
        utterance = self.utter(going_on or self._leave(done))
        more = goal.model_dump() if context.sets_goal and context.goal is None else {"goal_achieved": done}
        return {"utterance": utterance, "emotion": self.emotion, "wants_to_end": not going_on, **more}

    def _begin(self, goal: Goal, query: str) -> list[str]:
        """A greeting; why it came, or a word of its own that bears on the goal; and a question."""
        context, begin = self.context, self.greeting(self.recalled(query))
        if context.opened_for in (OpenedFor.PROMISE, OpenedFor.URGENT):
            matter = quotable(clip(context.matter, _LONGEST_QUOTE, self.phrases))
            return [*begin, self.say("due" if context.opened_for == OpenedFor.PROMISE else "news", said=matter)]
        if topic := topic_of(goal, context.speaker, self.name, context.language):
            return [*begin, self.say("ask_about", topic=topic)]
        return [*begin, self.tell(query, _ANSWERS), self.line("question", query) or self.say("ask")]

    def _go_on(self, query: str) -> list[str]:
        """React, answer if asked, ask on; nothing where it is time to leave, or nothing is left to ask or tell."""
        if self.context.turns_left <= 2 or len(self.own) >= _PATIENCE or not self.phrases.told(self.heard):
            return []
        query = f"{query} {self.heard}"
        reply = self.line("reply")
        if asks(reply):
            return [reply]
        own = self.tell(query, 0.0 if self.is_asked else _ANSWERS)
        question = self.line("question", query) or self.say("more")
        return [reply or self.say("react"), own, question] if question else []

    def _leave(self, done: bool) -> list[str]:
        """A last answer if one is owed, thanks, and a goodbye."""
        own = self.tell(self.heard) if self.is_asked else ""
        answer = own or self.say("own_nothing" if self.is_asked else "react")
        return [answer, self.line("thanks") or self.say("thanks") if done else "", self.bye("bye")]

    def _is_done(self, query: str) -> bool:
        """Whether the partner has told what the goal asks, or news enough."""
        heard = [passage for text in self.theirs for passage in self.phrases.told(text)]
        if len(self.theirs) < _ENOUGH and self.context.turns_left > 4:
            return False
        return len(heard) >= _ENOUGH or any(fit(query, text) >= _ANSWERS for text in heard)
