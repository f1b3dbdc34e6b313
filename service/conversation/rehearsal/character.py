"""Owns the character's part of a rehearsal: greeting, remembering, pursuing its goal, taking leave."""

import random
import re

from service.conversation.context import Goal, PromptContext
from service.conversation.prompt import CharacterTurn, Emotion, OpeningTurn
from service.conversation.rehearsal.goal import Errand, Memory, achieved, choose, errand_of, recalled
from service.conversation.rehearsal.phrases import CHARACTER
from service.conversation.rehearsal.stage import Stage, daytime
from service.memory.rehearsal.likeness import fit, key_phrase, sentences, tells_something
from service.memory.utterance import is_question

_FITS = 0.22
_PATIENCE = 3
_OWN_WORDS = 0.6
_HELLO = re.compile(
    r"^(?:こんにちは|おはようございます|おはよう|こんばんは|hello|hi|good (?:morning|day|evening))[、。!！,. ]+", re.I
)
_SELF = re.compile(r"わたし|あたし|僕|ぼく|俺|おれ|わし|私|うち[はがもの]|\b(?:I|I'm|I've|my)\b")
_SAD = re.compile(
    r"亡く|病気|寝込|怪我|死ん|火事|海に取られ|帰らなかった|\b(?:died|dead|lost (?:a |an |my |our )(?:\w+ )?(?:wife|husband|son|daughter|father|mother|brother|sister)|ill|buried|drowned)\b",
    re.IGNORECASE,
)


def speak_character(scene: PromptContext, rng: random.Random) -> CharacterTurn | OpeningTurn:
    """What the character answers; without a goal it sets one and opens with it."""
    stage = Stage(scene=scene, speaker=scene.speaker, rng=rng, table=CHARACTER, polite_by_default=True)
    part = _CharacterPart(stage, scene)
    if scene.goal is None:
        return part.open()
    return part.go_on(scene.goal)


class _CharacterPart:
    def __init__(self, stage: Stage, scene: PromptContext) -> None:
        self._stage = stage
        self._scene = scene

    def open(self) -> OpeningTurn:
        """Set a goal and speak the first line towards it."""
        stage = self._stage
        goal, phrase, topic = choose(stage, self._scene)
        utterance = stage.freshest(lambda: stage.join(*self._hello(goal), stage.say(phrase, topic=topic)))
        return OpeningTurn(
            goal=goal.goal,
            success_criteria=goal.success_criteria,
            utterance=utterance,
            emotion="neutral",
            wants_to_end=False,
        )

    def go_on(self, goal: Goal) -> CharacterTurn:
        """The next line towards a goal that is set."""
        stage = self._stage
        done = achieved(stage, self._scene, goal)
        tired = self._scene.turns_left <= 2 or len(stage.own) >= _PATIENCE
        ends = done or bool(stage.own and (tired or stage.took_leave))
        errand = errand_of(goal, self._scene.partner_name, self._scene.language)
        if ends:
            utterance = stage.freshest(lambda: self._leave(done))
        elif not stage.own:
            utterance = stage.freshest(lambda: stage.join(*self._hello(goal), self._ask(errand)))
        else:
            utterance = stage.freshest(lambda: self._pursue(goal, errand))
        return CharacterTurn(utterance=utterance, emotion=self._emotion(done), wants_to_end=ends, goal_achieved=done)

    def _hello(self, goal: Goal) -> list[str]:
        """By name and hour; then who I am, or what I remember of last time."""
        stage, scene = self._stage, self._scene
        hello = stage.say(daytime(stage.hour))
        unsettled = [line.text for line in scene.unsettled if line.speaker_id == scene.partner_id]
        met = scene.acquainted or scene.times_met > 0 or scene.last_meeting is not None or bool(unsettled)
        if not met and not scene.known:
            own = stage.own_greeting()
            if own and stage.me in own:
                bare = _HELLO.sub("", own)
                return [hello, bare[:1].upper() + bare[1:]]
            return [own, stage.say("intro_you")] if own else [hello, stage.say("intro")]
        memory = recalled(scene, f"{goal.goal} {goal.success_criteria}")
        if memory:
            return [hello, self._recall(memory)]
        words = scene.last_meeting.summary if scene.last_meeting else " ".join(unsettled)
        key = key_phrase(words, (*stage.names, goal.goal))
        ago = scene.last_meeting.ago if scene.last_meeting else ""
        return [hello, stage.say("recall_key", key=key, ago=self._when(ago)) if key else stage.say("again")]

    def _recall(self, memory: Memory) -> str:
        ago = self._when(memory.ago)
        phrase = "recall_quote" if memory.quoted and self._scene.language == "en" else "recall"
        return self._stage.say(phrase, ago=ago, Ago=ago[:1].upper() + ago[1:], said=memory.said)

    def _when(self, ago: str) -> str:
        """The time since, as an adverb."""
        if self._scene.language == "ja":
            return {"": "前に", "たった今": "さっき", "昨日": "昨日"}.get(ago, f"{ago}に")
        return {"": "last time", "just now": "a moment ago"}.get(ago, ago)

    def _ask(self, errand: Errand) -> str:
        stage = self._stage
        if errand.kind == "thank":
            return stage.say("thank_topic", topic=errand.topic) if errand.topic else stage.say("thank")
        if errand.kind == "greet":
            return stage.say("greet")
        if errand.kind == "news":
            return stage.say("ask_news")
        return stage.say("ask_topic" if errand.kind == "topic" else "ask_clause", topic=errand.topic)

    def _pursue(self, goal: Goal, errand: Errand) -> str:
        """React to what was heard, answer what was asked, put in a word of one's own, ask on."""
        stage = self._stage
        key = self._key()
        own = self._own_answer() if stage.was_asked else self._own_word(goal)
        react = self._react(key)
        return stage.join(react, own, self._ask_on("" if key in react else key, goal, errand))

    def _react(self, key: str) -> str:
        stage = self._stage
        if _SAD.search(stage.heard) and not stage.used("react_sad"):
            return stage.say("react_sad")
        return stage.say("react_key", key=key) if key and stage.rng.random() < 0.75 else stage.say("react")

    def _ask_on(self, key: str, goal: Goal, errand: Errand) -> str:
        """Ask further: in authored words where there are some, of what was just said, or of the goal."""
        stage = self._stage
        if stage.rng.random() < _OWN_WORDS and (own := stage.own_question(f"{stage.heard} {goal.goal}")):
            return own
        if errand.kind == "topic" and len(errand.topic) <= 25 and len(stage.own) % 2 == 0:
            return stage.say("more_topic", topic=errand.topic)
        asked_of_key = any(key in said for said in stage.own) if key else True
        return stage.say("more_any") if asked_of_key or stage.rng.random() < 0.4 else stage.say("more_key", key=key)

    def _leave(self, done: bool) -> str:
        """A last reaction, an answer if one is owed, thanks and a goodbye."""
        stage = self._stage
        if stage.took_leave:
            owed = stage.say("thanks") if done and not stage.used("thanks") else ""
            return stage.join(owed, stage.say("bye_reply"))
        react = self._react(self._key()) if tells_something(stage.heard) else ""
        own = self._own_answer() if stage.was_asked else ""
        thanks = (self._often(stage.own_thanks()) or stage.say("thanks")) if done else stage.say("giveup")
        return stage.join(react, own, thanks, self._often(stage.own_farewell()) or stage.say("bye"))

    def _often(self, own: str) -> str:
        """Authored words mostly, not always: two visits should not end alike."""
        return own if self._stage.rng.random() < _OWN_WORDS else ""

    def _key(self) -> str:
        """What to quote of the partner's last words; nothing that was quoted before."""
        stage = self._stage
        told = " ".join(s for s in sentences(stage.heard) if tells_something(s))
        return key_phrase(told, (*stage.names, stage.you, *stage.own))

    def _own_answer(self) -> str:
        """Asked back: an authored line or fact of one's own."""
        stage = self._stage
        offered = [c for c in stage.contents() if not _asks(c.core)]
        ranked = stage.rank(offered, stage.heard, lambda c: 0.4 if c.is_line and not _of_oneself(c.core) else 0.0)
        if not ranked:
            return stage.say("own_nothing")
        answer = ranked[0].spoken
        return answer if answer.startswith(stage.i) else stage.join(stage.say("own"), answer)

    def _own_word(self, goal: Goal) -> str:
        """An authored line of one's own where it fits what was said."""
        stage = self._stage
        query = f"{goal.goal} {stage.heard}"
        fitting = [c for c in stage.contents() if c.is_line and not _asks(c.core) and fit(query, c.core) >= _FITS]
        ranked = stage.rank(fitting, query, lambda c: 0.0)
        return ranked[0].spoken if ranked else ""

    def _emotion(self, done: bool) -> Emotion:
        stage = self._stage
        if _SAD.search(stage.heard):
            return "sad"
        return "happy" if done or not stage.own else "neutral"


def _asks(line: str) -> bool:
    return any(is_question(sentence) for sentence in sentences(line))


def _of_oneself(line: str) -> bool:
    return bool(_SELF.search(line)) and not re.search(r"\byou|\bplease\b|あなた", line, re.IGNORECASE)
