"""Owns the part of who is spoken to in a rehearsal: what of its facts and lines answers, coloured by mood and affinity."""

import random
import re

from service.content.profile import Mood
from service.conversation.context import PromptContext
from service.conversation.prompt import Emotion, NpcTurn
from service.conversation.rehearsal.phrases import NPC
from service.conversation.rehearsal.stage import Content, Stage
from service.memory.rehearsal.likeness import fit, grams, holds, sentences
from service.memory.utterance import is_question

_WARM = 40
_COLD = -40
_FITS = 0.08
_CLEARLY_FITS = 0.15
_ECHO = re.compile(r"^[^。]{1,12}かい。|^.{1,14}(?:なら|の話は)|^[^.?!]{1,24}\?|^If ", re.IGNORECASE)
"""A line that answers a question of its own: odd when nobody asked."""
_ECHO_COSTS = 0.4
_THANKS = re.compile(r"ありがと|感謝|お礼|\bthank", re.IGNORECASE)
_NEWS = re.compile(
    r"いかが|どうしてる|変わり|近ごろ|最近|その後|あれから|調子|様子|元気|話を|ほかに|もう少し|続き|"
    r"\b(?:how (?:are|have|has|do)|news|moment|a few things|what else|go on|more to it|more about)\b",
    re.IGNORECASE,
)


def speak_npc(scene: PromptContext, rng: random.Random) -> NpcTurn:
    """What the NPC answers."""
    stage = Stage(scene=scene, speaker=scene.speaker, rng=rng, table=NPC, polite_by_default=False)
    return _answered(_AnsweringPart(stage, scene, scene.learned, scene.mood, scene.affinity))


def speak_partner(scene: PromptContext, rng: random.Random) -> NpcTurn:
    """What a character that was spoken to answers: as an NPC would that has told nothing new of itself.

    Its lines are written for who speaks first: those that greet or ask are no answers.
    """
    stage = Stage(scene=scene, speaker=scene.speaker, rng=rng, table=NPC, polite_by_default=True)
    return _answered(_AnsweringPart(stage, scene, (), "neutral", 0))


def _answered(part: "_AnsweringPart") -> NpcTurn:
    leaves = part.leaves()
    utterance = part.stage.freshest(part.leave if leaves else part.answer)
    return NpcTurn(utterance=utterance, emotion=part.emotion(), wants_to_end=leaves)


class _AnsweringPart:
    def __init__(self, stage: Stage, scene: PromptContext, learned: tuple[str, ...], mood: Mood, affinity: int) -> None:
        self.stage = stage
        self._scene = scene
        self._learned = learned
        self._mood = mood
        self._affinity = affinity
        self._approached = scene.speaker.kind == "character"
        self._untold = [c for c in stage.contents(learned) if not (self._approached and _asks(c.core))]
        self._cold = mood == "angry" or affinity <= _COLD
        self._warm = not self._cold and affinity >= _WARM
        summary = scene.last_meeting.summary if scene.last_meeting else ""
        self._before = [summary, *(line.text for line in scene.unsettled if line.speaker_id == scene.speaker.id)]

    def leaves(self) -> bool:
        """Whether this is its last word: it heard a goodbye, the turns run out, or it has no more to say."""
        stage, scene = self.stage, self._scene
        out_of_words = not self._untold and (stage.used("nothing") or len(stage.own) >= 3)
        out_of_patience = self._cold and len(stage.own) >= 1
        return stage.took_leave or scene.turns_left <= 1 or out_of_words or out_of_patience

    def leave(self) -> str:
        """A goodbye; a cold one still answers what it was asked first."""
        stage = self.stage
        if self._cold:
            last = self._pick()[:1] if stage.was_asked and not stage.took_leave else []
            return stage.join(*(content.spoken for content in last), stage.say("bye_angry"))
        if not stage.took_leave:
            return stage.join(stage.say("leave"))
        thanks = stage.say("thanked") if _THANKS.search(stage.heard) else ""
        return stage.join(thanks, stage.own_farewell() or stage.say("bye_warm" if self._warm else "bye"))

    def answer(self) -> str:
        """A greeting when it is its first word, then what it has to tell, then perhaps a question back."""
        stage = self.stage
        picked = self._pick()
        if stage.own:
            lead = "" if self._cold else self._lead(picked)
            greeting = ""
        else:
            greeting = self._greeting()
            lead = "" if self._cold else self._first_lead(picked)
        told = [self._spoken(content, first=i == 0, led=bool(lead)) for i, content in enumerate(picked)]
        if self._cold and not stage.was_asked:
            told = [stage.say("curt")]
        elif not told:
            told, lead = [stage.say("nothing")], ""
        return stage.join(greeting, lead, *told, self._question_back())

    def emotion(self) -> Emotion:
        if self._mood == "angry":
            return "angry"
        return "happy" if self._warm or self._mood == "happy" or self.stage.took_leave else "neutral"

    def _pick(self) -> list[Content]:
        """What to tell now: what fits best and was not told last time; more of it to a friend."""
        stage, scene = self.stage, self._scene
        earlier = " ".join(stage.theirs[:-1])

        def handicap(content: Content) -> float:
            stale = 2.0 if stage.hinted_before(content, [*self._before, stage.heard]) else 0.0
            learned = 0.0 if content.is_line or content.core in stage.speaker.facts else 0.1
            shared = 0.0 if content.is_line else -0.15 if self._warm else 0.3 if self._cold else 0.05
            echo = _ECHO_COSTS if _ECHO.search(content.core) and fit(stage.heard, content.core) < _FITS else 0.0
            return stale + learned + shared + echo - 0.3 * fit(earlier, content.core)

        ranked = stage.rank(self._untold, stage.heard, handicap)
        again = self._worth_repeating(ranked)
        if again:
            return [again]
        if scene.nudge == "repeated":
            ranked = ranked[1:] + ranked[:1]
        second = self._warm or (self._mood == "happy" and stage.rng.random() < 0.3)
        if not second or self._cold or len(ranked) < 3:
            return ranked[:1]
        other = next((c for c in ranked[1:] if c.is_line != ranked[0].is_line and handicap(c) < 1), None)
        return [ranked[0], other] if other else ranked[:1]

    def _worth_repeating(self, ranked: list[Content]) -> Content | None:
        """What it told last time, when that is what it was asked for and nothing new fits."""
        stage = self.stage
        if not stage.was_asked or _NEWS.search(stage.heard):
            return None
        asked = " ".join(s for s in sentences(stage.heard) if is_question(s))
        fitting = [c for c in ranked if fit(asked, c.core) >= _CLEARLY_FITS]
        if not fitting or not all(stage.heard_before(c, self._before) for c in fitting):
            return None
        return next((c for c in fitting if not stage.heard_before(c, [stage.heard])), None)

    def _greeting(self) -> str:
        stage, scene = self.stage, self._scene
        if self._cold:
            return stage.say("angry")
        met = scene.times_met > 0 or scene.last_meeting is not None or bool(scene.unsettled)
        if not met:
            own = "" if self._approached else stage.own_greeting()
            return own or stage.say("soon" if scene.acquainted else "first")
        since = _since(scene.last_meeting.ago) if scene.last_meeting and not scene.unsettled else "soon"
        if since in ("soon", "yesterday"):
            greeting = stage.say(since)
        else:
            greeting = stage.say("since" if self._affinity > 0 else "since_cool", since=since)
        return stage.join(greeting, stage.say("warm")) if self._warm else greeting

    def _first_lead(self, picked: list[Content]) -> str:
        """To a guest who remembers what was told last time, that is acknowledged."""
        stage = self.stage
        if self._is_remembered():
            return stage.say("remembered")
        return stage.say("hedge") if self._misses(picked) else stage.say("asked") if stage.was_asked else ""

    def _lead(self, picked: list[Content]) -> str:
        stage = self.stage
        if _THANKS.search(stage.heard):
            return stage.say("thanked")
        if self._misses(picked) and not stage.used("hedge"):
            return stage.say("hedge")
        return stage.say("asked" if stage.was_asked else "told")

    def _spoken(self, content: Content, *, first: bool, led: bool) -> str:
        stage = self.stage
        if first and not self._cold and stage.heard_before(content, self._before) and not stage.used("told_before"):
            return stage.join(stage.say("told_before"), content.spoken)
        if content.is_line or not first:
            return content.spoken
        if self._warm and not stage.used("close"):
            return stage.join(stage.say("close"), content.spoken)
        plain = stage.say("plain") if not led or stage.language == "ja" else ""
        if stage.language == "en" and not content.spoken.startswith("I "):
            plain = ""
        return f"{plain} {content.spoken}".strip() if stage.language == "en" else plain + content.spoken

    def _is_remembered(self) -> bool:
        stage = self.stage
        cores = [*stage.speaker.lines, *stage.speaker.facts, *self._learned]
        old = (core for core in cores if any(holds(text, core) >= 0.8 for text in self._before))
        return any(grams(core) and holds(stage.heard, core) >= 0.6 for core in old)

    def _misses(self, picked: list[Content]) -> bool:
        """Whether it was asked for something of which it has nothing to tell."""
        stage = self.stage
        if not picked or not stage.was_asked or _NEWS.search(stage.heard):
            return False
        return all(fit(stage.heard, text) < _FITS for text in (*stage.speaker.lines, *stage.speaker.facts))

    def _question_back(self) -> str:
        stage = self.stage
        wanted = len(stage.own) == 1 and not self._cold and self._scene.turns_left > 3 and not stage.used("back")
        return stage.say("back") if wanted and stage.rng.random() < 0.7 else ""


def _asks(line: str) -> bool:
    return any(is_question(sentence) for sentence in sentences(line))


def _since(ago: str) -> str:
    """``soon``, ``yesterday``, or the time in words: 2日ぶり / 2 days."""
    if ago in ("昨日", "yesterday"):
        return "yesterday"
    if ago in ("たった今", "just now") or re.search(r"分前|時間前|minute|hour", ago):
        return "soon"
    return re.sub(r"前$", "ぶり", ago).removesuffix(" ago")
