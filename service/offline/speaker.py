"""Owns the speaker: greets, says an authored line or fact that fits, asks back, takes its leave. Nothing twice a
day.
"""

import random
import re
from collections.abc import Iterable
from functools import reduce
from typing import Any, cast

from service.content.profile import CharacterProfile, Emotion
from service.conversation.aside import AsideContext, AsideText
from service.conversation.context import Line, PromptContext
from service.conversation.prompt import CharacterTurn, NpcTurn, OpeningTurn, answer_of
from service.memory.utterance import is_question
from service.memory.words import quoted_in
from service.offline.acting import act
from service.offline.goals import set_goal, topic_of
from service.offline.lines import Kind, fit, lines_of, register_of, sayings, told
from service.offline.phrases import Passage, clip, keys, phrases, quotable, sentences
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
_KNOWN = re.compile(r"^\((?P<ago>[^()]+)\) (?P<statement>.+)$")


def speak(context: PromptContext, rng: random.Random) -> NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers; the same context and generator state make the same answer."""
    turn = _Opener(context, rng).turn() if context.begins else _Partner(context, rng).turn()
    more: dict[str, Any] = {"action": act(context)} if context.actions else {}
    if context.choices:
        more |= {"choices": suggest(context, turn, rng)}
    whole = answer_of(context).model_validate({**turn.model_dump(), **more}) if more else turn
    return cast("NpcTurn | CharacterTurn | OpeningTurn", whole)


def suggest(context: PromptContext, turn: NpcTurn | CharacterTurn | OpeningTurn, rng: random.Random) -> list[str]:
    """What the partner could say to this turn: an answer, where it was asked; then a question, one about what is
    announced, and a goodbye.
    """
    if turn.wants_to_end:
        return []
    said = Line(turn=0, speaker_id=context.speaker.id, speaker_name=context.speaker.name, text=turn.utterance)
    partner = CharacterProfile(id=context.partner_id, name=context.partner_name, personality="", home="")
    turned = PromptContext(
        language=context.language,
        speaker=partner,
        begins=True,
        partner_id=context.speaker.id,
        partner_name=context.speaker.name,
        place=context.place,
        now=context.now,
        notices=context.notices,
        lines=(*context.lines, said),
    )
    return _Human(turned, rng).could_say(context.choices)


def write_aside(context: AsideContext, rng: random.Random) -> AsideText:
    """The last words that were said, whatever is wanted. Nothing is left to chance: `rng` is not drawn from."""
    return AsideText(utterance=context.lines[-1][1] if context.lines else context.npc_name)


class Speaker:
    """One person at one moment."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        self.context, self.rng = context, rng
        self.phrases = phrases(context.language)
        self.name = context.partner_name.strip()[:40]
        self.own = [line.text for line in context.lines if line.speaker_id == context.speaker.id]
        self.theirs = [line.text for line in context.lines if line.speaker_id != context.speaker.id]
        self.heard = self.theirs[-1] if self.theirs else ""
        self.is_cold = context.mood == "angry" or context.affinity <= _COLD
        self._register = register_of(context.speaker, self.phrases)
        self._said = self._keys([*(line.text for line in context.lines), *context.said_today])
        self._told = self._keys(context.said_before)

    @property
    def has_met(self) -> bool:
        known = self.context
        return bool(known.acquainted or known.times_met or known.last_meeting or known.unsettled or known.said_today)

    def say(self, key: str, /, **slots: str) -> str:
        """A wording of small talk that the partner has not heard today; "" where none is left."""
        address = f"{'address' if self.name else 'stranger'}.{self._register}"
        names = {"me": self.context.speaker.name.strip()[:40], "you": self.phrases.only(address, name=self.name)}
        texts = self.phrases.wordings(f"{self._register}.{key}", **names, **slots)
        fresh = [text for text in texts if self._said.isdisjoint(keys([text]))]
        return self._spoken(self.rng.choice(fresh)) if fresh else ""

    def line(self, kind: Kind, query: str = "") -> str:
        """An authored line of that kind that is new to the partner, the best for the query; "" where none is left."""
        best = self._best([Passage(text=line) for line in lines_of(self.context.speaker, kind, self.phrases)], query)
        return self._spoken(best.text) if best else ""

    def tell(self, query: str, least: float = 0.0) -> str:
        """A statement or fact that is new to the partner and fits the query (0..1) at least so well; "" where there is
        none.
        """
        known = sayings(self.context.speaker, self.context.secrets, self.phrases, self.name)
        best = self._best([one for one in known if fit(query, one.text) >= least], query)
        if best is None:
            return ""
        text = self._spoken(best.text)
        return self.say("fact", fact=text) if best.is_fact else text

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
        whole = reduce(self.phrases.beside, filter(None, parts), "")
        return clip(whole, _LONGEST, self.phrases) or self.phrases.only("silence")

    def recalled(self, query: str, least: float = 0.0) -> str:
        """What the partner once told, given back in its own words, as far as it fits the query (0..1); "" where nothing
        does.
        """
        context = self.context
        known = [match for one in (*context.known, *context.reminded) if (match := _KNOWN.match(one))]
        found = [
            (match["ago"], quoted_in(match["statement"], self.name, context.language))
            for match in known
            if self.name and match["statement"].startswith(self.name)
        ] or [
            (context.unsettled_ago, line.text)
            for line in context.unsettled
            if line.speaker_id == context.partner_id and told(line.text, self.phrases)
        ]
        fitting = [one for one in found if fit(query, one[1]) >= least]
        if not fitting:
            return ""
        ago, said = max(fitting, key=lambda one: fit(query, one[1]))
        return self.say("recall", ago=ago, said=self._first_told(said))

    def _first_told(self, text: str) -> str:
        """The first sentence of it that tells something, ready for quotation marks."""
        passages = told(text, self.phrases, is_human=True)
        first = sentences(passages[0].text if passages else text)[0]
        first = clip(first, _LONGEST_QUOTE, self.phrases).rstrip("。.")
        return first if first[-1:] in "!?！？…" else self.phrases.only("memory.sentence", words=first)

    def _keys(self, texts: Iterable[str]) -> frozenset[str]:
        """The sentences of texts, and the facts that stand in frames."""
        whole = list(texts)
        return keys([*whole, *(one.text for text in whole for one in self.phrases.passages(text) if one.is_fact)])

    def _spoken(self, text: str) -> str:
        """Note that the text is about to be said, so that it does not come twice in one utterance."""
        self._said |= keys([text])
        return text

    def _best(self, passages: list[Passage], query: str) -> Passage | None:
        """The best for the query of what the partner has never heard; chance decides among those that fit as well."""
        heard = self._said | self._told
        new = [one for one in passages if heard.isdisjoint(keys([one.text]))]
        self.rng.shuffle(new)
        return max(new, key=lambda one: fit(query, one.text), default=None)


class _Human(Speaker):
    """A player, whose next words are found by somebody else."""

    def could_say(self, most: int) -> list[str]:
        """So many different lines, the last a goodbye where there is room for one."""
        asked = any(map(is_question, sentences(self.heard)[-1:]))
        news = [self.phrases.only("goal.notice", notice=quotable(text)) for text in self.context.notices]
        lines = [
            self.say("own_nothing") if asked else "",
            self.say("more" if told(self.heard, self.phrases) else "ask"),
            *(self.say("ask_about", topic=topic) for topic in news),
            self.say("ask"),
        ]
        found = list(filter(None, lines))
        return [*found[: max(1, most - 1)], self.utter([self.say("thanks"), self.say("bye")])][:most]


class _Partner(Speaker):
    """Who was spoken to."""

    def turn(self) -> NpcTurn:
        if self._heard_goodbye() or self.context.turns_left <= 1:
            return self._turn(self.say("welcome") if self._thanked() else "", self._bye(), leaves=True)
        greeting = "" if self.own else self._greeting()
        recalled = "" if self.is_cold else self.recalled(self.heard, _RECALLS)
        if recalled:
            return self._turn(greeting, recalled, leaves=False)
        answer = self.tell(self.heard, _ANSWERS if self.is_cold else 0.0)
        if not answer:
            return self._turn(greeting, self.say("curt" if self.is_cold else "nothing"), self._bye(), leaves=True)
        if self.is_cold:
            return self._turn(greeting, answer, self._bye() if self.own else "", leaves=bool(self.own))
        asks = len(self.own) == 1 and self.context.turns_left > 3
        return self._turn(greeting, self._lead(), answer, self.say("ask_back") if asks else "", leaves=False)

    def _turn(self, *parts: str, leaves: bool) -> NpcTurn:
        emotion = "happy" if leaves and not self.is_cold else self.emotion
        return NpcTurn(utterance=self.utter(parts), emotion=emotion, wants_to_end=leaves)

    def _greeting(self) -> str:
        if self.is_cold or self.has_met:
            return self.say("greet_cold" if self.is_cold else "greet_again")
        own = self.line("greeting") if self.context.speaker.kind == "npc" else ""
        return own or self.say("greet_first")

    def _lead(self) -> str:
        """A few words before it tells something: an answer to what it just heard."""
        if not self.own and self._is_recalled():
            return self.say("remembered")
        return self.say("welcome" if self._thanked() else "answer")

    def _is_recalled(self) -> bool:
        """Whether the partner gave back what this person once told."""
        quoted = keys(re.findall(r"[「\"](.+)[」\"]", self.heard))
        return bool(self._told & quoted) or any(fact and fact in self.heard for fact in self.context.speaker.facts)

    def _heard_goodbye(self) -> bool:
        return any(self.phrases.has("farewell", sentence) for sentence in sentences(self.heard)[-2:])

    def _thanked(self) -> bool:
        return self.phrases.has("thanks", self.heard)

    def _bye(self) -> str:
        return self.say("bye_cold" if self.is_cold else "bye_back")


class _Opener(Speaker):
    """Who began: the goal is its own. Without one it sets one."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        super().__init__(context, rng)
        self._goal = context.goal or set_goal(context.speaker, context.partner_name, context.language, rng)
        self._query = f"{self._goal.goal} {self._goal.success_criteria}"
        self._is_asked = any(map(is_question, sentences(self.heard)[-1:]))

    def turn(self) -> CharacterTurn | OpeningTurn:
        done = self._is_done()
        parts = self._begin() if not self.own else [] if done else self._go_on()
        utterance = self.utter(parts or self._leave(done))
        if self.context.goal is None:
            return OpeningTurn(**self._goal.model_dump(), utterance=utterance, emotion="neutral", wants_to_end=False)
        emotion: Emotion = "happy" if done and not self.is_cold else self.emotion
        return CharacterTurn(utterance=utterance, emotion=emotion, wants_to_end=not parts, goal_achieved=done)

    def _begin(self) -> list[str]:
        """A greeting, who I am or what I remember of last time, and what the goal is about."""
        known = (self.recalled(self._query) or self.say("again")) if self.has_met else self.say("introduce")
        return [self.hello(), known, *self._ask()]

    def _ask(self) -> list[str]:
        """A word of one's own that bears on the goal, and a question."""
        if self.context.opened_for in (OpenedFor.PROMISE, OpenedFor.URGENT):
            matter = quotable(clip(self.context.matter, _LONGEST_QUOTE, self.phrases))
            return [self.say("due" if self.context.opened_for == OpenedFor.PROMISE else "news", said=matter)]
        if self.phrases.has("thanks", self._goal.goal):
            return [self.say("thank")]
        topic = topic_of(self._goal, self.context.speaker, self.name, self.context.language)
        if topic:
            return [self.say("ask_about", topic=topic)]
        own = self.tell(self._query, _ANSWERS)
        return [own, self.say("turn") if own else "", self._question() or self.say("ask")]

    def _go_on(self) -> list[str]:
        """React, answer if asked, ask on; nothing where it is time to leave, or nothing is left to ask or tell."""
        if self.context.turns_left <= 2 or len(self.own) >= _PATIENCE or not told(self.heard, self.phrases):
            return []
        reply = self.line("reply")
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
        thanks = (self.line("thanks") or self.say("thanks")) if done else self.say("give_up")
        return [*answer, thanks, self.line("farewell") or self.say("bye")]

    def _question(self) -> str:
        return self.line("question", f"{self._query} {self.heard}")

    def _is_done(self) -> bool:
        """Whether the partner has told what the goal asks, or news enough."""
        heard = [passage.text for text in self.theirs for passage in told(text, self.phrases)]
        if len(self.theirs) < _ENOUGH and self.context.turns_left > 4:
            return False
        return len(heard) >= _ENOUGH or any(fit(self._query, text) >= _ANSWERS for text in heard)
