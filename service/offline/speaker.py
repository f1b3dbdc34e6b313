"""Owns the speaker, in a talk or a scene: greets, answers with what bears on what it is asked or does not know, takes
its leave; beside its words it thinks and acts, asks something of the game, and suggests lines; and who is next. Nothing
twice.
"""

import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from service.content.profile import Emotion
from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn, SceneTurn
from service.conversation.context_selection import bearing
from service.conversation.moderator import ModeratorContext, ModulatorContext, NextSpeaker, Reach, choosing, reaching
from service.conversation.prompt import Goal, Line, PromptContext, ScenePart, answer_of
from service.conversation.sketch import Sketch, SketchContext
from service.memory.lexical import (
    FEW,
    asks_when,
    is_named,
    likeness,
    says_little,
    sentences,
    telling,
    tells_a_time,
    tokens,
)
from service.offline.phrases import (
    LineKind,
    Recollection,
    clip,
    facts_of,
    is_polite,
    keys,
    lines_of,
    phrases,
    quotable,
    recollections,
    set_goal,
    topic_of,
    words_of,
)
from service.store.phase import Loudness, OpenedFor

_PATIENCE = 4
"""In its turn of that number the opener leaves for certain; the nearer it is, the likelier in one before."""
_MOST_OF_IT = 0.5
"""An answer holds more than that share of the words of its question, the rarer the more a word counts."""
_SELDOM = 0.25
"""How often somebody who has told something asks for something too."""
_COLD, _WARM = -40, 40
_LONGEST, _LONGEST_QUOTE = 400, 110


def speak(context: PromptContext, rng: random.Random) -> NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers; the same context and generator state make the same answer."""
    speaker = OfflineSpeaker(context, rng)
    words, leaves = speaker.words()
    turn: dict[str, object] = {"utterance": speaker.utter(words), "emotion": speaker.emotion, "wants_to_end": leaves}
    if context.begins:
        # Whether it is achieved a rule cannot judge.
        turn |= {"goal_achieved": False} if context.goal or not context.sets_goal else speaker.goal.model_dump()
    if context.actions:
        turn["action"] = act(context)
    if context.choices:
        turn["choices"] = [] if leaves else suggest(context, str(turn["utterance"]), rng)
    return cast("NpcTurn | CharacterTurn | OpeningTurn", answer_of(context).model_validate(turn))


class OfflineSpeaker:
    """One person at one moment. A turn is a greeting at first, something told, a question at times, or a goodbye."""

    def __init__(self, context: PromptContext, rng: random.Random) -> None:
        self.context, self.rng = context, rng
        self.phrases = phrases(context.language)
        self.name = context.partner_name.strip()[:40]
        self.own = [line.text for line in context.lines if line.speaker_id == context.speaker.id]
        self.theirs = [line.text for line in context.lines if line.speaker_id != context.speaker.id]
        self.heard = self.theirs[-1] if self.theirs else ""
        self.is_asked = self.phrases.asks(self.heard)
        self.asked = self.phrases.asked(self.heard)
        self.is_bidden = any(self.phrases.has("farewell", sentence) for sentence in sentences(self.heard)[-2:])
        self.is_cold = context.mood == "angry" or context.affinity <= _COLD
        self.goal = context.goal or set_goal(context.speaker, context.partner_name, context.language, rng)
        self.wanted = f"{self.goal.goal} {self.goal.success_criteria}" if context.begins else ""
        self._register = "polite" if is_polite(context.speaker, self.phrases) else "plain"
        self._said = self._keys([*(line.text for line in context.lines), *context.said_today])
        self._told = self._keys(context.said_before)

    def words(self) -> tuple[list[str], bool]:
        """What it says, and whether it leaves: it was bidden goodbye, it is time, or nothing is left to tell or ask."""
        if self.is_bidden:
            return [self.bye()], True
        is_over, greeting = self.is_over(), self.greeting()
        told = self.news() if self.is_asked or not is_over else ""
        question = "" if is_over or self.phrases.asks(told) else self.question(told)
        leaves = is_over or not (told or question)
        return [*greeting, told, self.bye() if leaves else question], leaves

    def greeting(self) -> list[str]:
        """A greeting, and who I am if we have not met; in the first turn."""
        context = self.context
        if self.own or self.is_cold:
            return []
        has_met = context.acquainted or context.times_met or context.meetings or context.unsettled
        return [self.hello(), "" if has_met or context.said_today else self.say("introduce")]

    def news(self) -> str:
        """What it tells: why it came, the answer to what it is asked, a word on what was heard; or, where it is asked
        for nothing in particular or begins, what the partner once told, or something of itself.
        """
        if self.context.opened_for in (OpenedFor.PROMISE, OpenedFor.URGENT) and not self.own:
            key = "due" if self.context.opened_for == OpenedFor.PROMISE else "news"
            return self.say(key, said=quotable(clip(self.context.matter, _LONGEST_QUOTE, self.phrases)))
        if self.asked:
            return self.answer()
        if self.heard and not self.is_asked:
            return self.line("reply") or self.recalled(self.heard) or self.tell(self.heard, bears=self.is_cold)
        recalled = "" if self.heard or self.is_cold else self.recalled(self.wanted, anyway=True)
        return recalled or self.tell(f"{self.wanted} {self.heard}", bears=self.is_cold)

    def answer(self) -> str:
        """What bears on what it is asked, or on that and what was asked before, where it goes on from there; of the
        partner itself what that one has told; else that it does not know, unless it was asked in answer to its
        greeting.
        """
        words, asked = self.phrases, self.asked
        if words.has("who", asked):
            return self.say("introduce")
        query = words.without("little", words.without("work", asked))
        if words.has("own", asked):
            return self.recalled(query, self.theirs[::-1], anyway=not telling(query)) or self.say("nothing")
        if words.has("work", asked):  # is what its author says of it first
            query = next(iter(self.context.speaker.facts), query)
        told = (
            (words.has("hours", asked) and self._when_open(query))
            or ((words.has("back", asked) or not telling(query)) and self._going_on(query))
            or self._bearing(query)
            or self.recalled(query, self.theirs[-2::-1], of_anybody=True)
        )
        if told or (self.context.begins and words.has("greeting", self.heard)):
            return told
        return (words.has("open", self.heard) and self.tell(" ".join((asked, *self.own[-1:])))) or self.say("nothing")

    def _bearing(self, query: str) -> str:
        """What of all it knows holds most of what is asked last; else what is of the same kind (`offline.kin`).
        Who is of a kind to it comes first.
        """
        known, kin = self._known, self.phrases.kin
        kindred = [
            one._replace(text=self.phrases.without("beside", one.slots["relation"]))
            for one in known
            if one.key == "relation" and kin(query) != query
        ]
        ways = ((kindred, kin), (known, str), (known, kin))
        for part, (among, form) in ((part, way) for part in sentences(query)[::-1] for way in ways):
            shares = _shares(form(part), [form(one.text) for one in among])
            if told := self._best_new(
                (share, one) for share, one in zip(shares, among, strict=True) if share > _MOST_OF_IT
            ):
                return told
        return ""

    def _going_on(self, query: str) -> str:
        """What goes on from the question before and its answer, and holds most of what is asked, if that says anything;
        or a time, where that is asked.
        """
        if not (self.own and self.theirs[:-1]):
            return ""
        form, known, mine = self.phrases.kin, self._known, self.own[-1]
        topic = self.phrases.without("little", self.phrases.asked(self.theirs[-2]) or self.theirs[-2])
        named = [name for name, _ in self.context.relations if is_named(name, mine)]
        held, around, wanted = (
            _shares(form(words), [form(one.text) for one in known]) for words in (topic, f"{topic} {mine}", query)
        )
        return self._best_new(
            (around[n], one)
            for n, one in enumerate(known)
            if (held[n] or any(is_named(name, one.text) for name in named))
            and (wanted[n] > _MOST_OF_IT or asks_when(self.asked) or not telling(query))
        )

    def _best_new(self, fits: Iterable[tuple[float, "_Known"]]) -> str:
        """The best that the partner has not heard, of persons all that fit as well; else that all is told, where
        it has told any of it."""
        found = sorted(fits, key=lambda both: -round(both[0], 2))
        for share, one in found:
            alike = [other for fit, other in found if fit == share and other.key == one.key == "relation"] or [one]
            if told := self.phrases.joined(map(self._tell, alike[:3])):
                return told
        said = self._keys(self.own) | self._told
        is_told = any(one.key in ("relation", "place") or said & keys([one.text]) for _, one in found)
        return self.say("all_told") if is_told else ""

    @property
    def _known(self) -> list["_Known"]:
        """All it can answer with: its own lines and facts, who others are to it, the places, and what is announced; a
        person, where it is asked for one, and a time likewise.
        """
        context, words, asked = self.context, self.phrases, self.asked
        names = [name for name, _ in context.relations]
        named = [name for name in names if is_named(name, asked)] or names
        known = [
            *(_Known(text, *self._framed(text)) for text in (*self._authored, *context.speaker.identity)),
            *(
                _Known(f"{name} {what}", "relation", {"name": name, "relation": what})
                for name, text in context.relations
                if name != self.name and name in named and (what := words.turned(text))
            ),
            *(_Known(text) for text in (*context.lore, *context.notices, *context.news)),
            *(
                _Known(f"{name} {what}", "place", {"place": name})
                for name, what, _ in context.places
                if words.has("where", asked)
            ),
        ]
        if words.has("whom", asked):
            known = sorted(
                (one for one in known if any(is_named(name, one.text) for name in names)),
                key=lambda one: one.key != "relation",
            )
        return [one for one in known if tells_a_time(one.text)] if asks_when(asked) else known

    def _when_open(self, query: str) -> str:
        """When the place is open that is asked for; of those that fit as well, the one where they are."""
        shares = _shares(query, [f"{name} {what}" for name, what, _ in self.context.places])
        share, is_here, place, hours = max(
            (
                (share, name in self.context.place, name, hours)
                for share, (name, _, hours) in zip(shares, self.context.places, strict=True)
            ),
            default=(0, False, "", ""),
        )
        return self.say("open", place=place, hours=hours) if share or (is_here and not telling(query)) else ""

    def question(self, told: str) -> str:
        """What it asks, where it began: about its goal, or how the other is; "" where there is nothing."""
        if not self.context.begins:
            return ""
        topic = topic_of(self.goal, self.context.speaker, self.name, self.context.language)
        if topic and not self.own:
            return self.say("ask_about", topic=topic)
        if told and self.rng.random() >= _SELDOM:
            return ""
        return self.line("question", f"{self.wanted} {self.heard}") or ("" if told or self.own else self.say("ask"))

    def is_over(self) -> bool:
        """Whether it is time to leave: soon the limit is reached; who began has said enough; or it dislikes the other,
        whom it still answers a few questions.
        """
        if not (self.own and self.context.begins):
            answers = _PATIENCE if self.is_asked else 1
            return (self.is_cold and len(self.own) >= answers) or self.context.turns_left <= 1
        return self.is_cold or self.context.turns_left <= 2 or self.rng.random() * _PATIENCE < len(self.own)

    def say(self, key: str, /, **slots: str) -> str:
        """A wording of small talk that the partner has not heard today; "" where none is left."""
        address = f"{'address' if self.name else 'stranger'}.{self._register}"
        names = {"me": self.context.speaker.name.strip()[:40], "you": self.phrases.only(address, name=self.name)}
        texts = self.phrases.wordings(f"{self._register}.{key}", **names, **slots)
        fresh = [text for text in texts if self._said.isdisjoint(keys([text]))]
        return self._spoken(self.rng.choice(fresh)) if fresh else ""

    def line(self, kind: LineKind, query: str = "") -> str:
        """An authored line of that kind that is new to the partner, the best for the query; "" where none is left."""
        return self._spoken(self._best(lines_of(self.context.speaker, kind, self.phrases), query))

    @property
    def _authored(self) -> list[str]:
        """Its statements, and the facts that none of them tells, but for those about the partner."""
        one, words = self.context.speaker, self.phrases
        told = lines_of(one, "statement", words) + facts_of(one, self.context.secrets, words)
        return [text for text in told if not (self.name and self.name in text)]

    def tell(self, query: str, *, bears: bool = False) -> str:
        """A statement or fact that is new to the partner, the best for the query, or only one that bears on it; ""
        where there is none.
        """
        known = self._authored
        best = self._best([known[n] for n in bearing(query, known)] if bears else known, query)
        return self._tell(_Known(best, *self._framed(best)))

    def _framed(self, text: str) -> tuple[str, dict[str, str]]:
        """How a statement or fact is said: as it is, or of whom it is true."""
        is_line = text[:1].isupper() or text in lines_of(self.context.speaker, "statement", self.phrases)
        return ("", {}) if is_line else ("fact", {"fact": quotable(text.rstrip("."))})

    def _tell(self, one: "_Known") -> str:
        """It in its wording; "" where the partner has heard it."""
        if one.key not in ("relation", "place") and not self._best([one.text], ""):
            return ""
        return self.say(one.key, **one.slots) if one.key else self._spoken(one.text)

    def recalled(self, query: str, said: Iterable[str] = (), *, anyway: bool = False, of_anybody: bool = False) -> str:
        """What the partner, or anybody, has told that bears on the query, in the words that were said: in this talk
        (`said`) or before. `anyway`: else the first of it. "" where there is none. What it has quoted before it quotes
        again where it is asked.
        """
        told = [*(Recollection("", self.name, text, text) for text in said), *self._remembered()]
        passages = [
            (one, sentence)
            for one in told
            if one.name and (of_anybody or one.name.strip()[:40] == self.name)
            for passage in self.phrases.told(one.said, is_human=True)
            for sentence in sentences(passage)
            if self._says_something(sentence)
        ]
        texts = [words for _, words in passages]
        places = bearing(query, texts)
        if self.asked:
            shares, least = _shares(query, texts), _MOST_OF_IT if of_anybody else 0
            places = sorted((n for n, share in enumerate(shares) if share > least), key=lambda n: -shares[n])
        found = [passages[n] for n in places] or passages[: int(anyway)]
        for one, words in found:
            quote = quotable(clip(words, _LONGEST_QUOTE, self.phrases))
            if self.phrases.has("quoted", words) or (
                not self.asked and any(quote in text for text in (*self.own, *self.context.said_today))
            ):
                continue
            closed = quote if quote[-1:] in ".!?！？…" else self.phrases.only("memory.sentence", words=quote)
            key = "recall_now" if not one.ago else "recall" if one.name.strip()[:40] == self.name else "heard"
            return self.say(key, ago=one.ago, said=closed, name=one.name)
        return ""

    def _says_something(self, sentence: str) -> bool:
        """Whether it is more than a name, a word to go on, or a fragment ("Perfect timing."): that has no grammar."""
        return (
            (not sentence.isascii() or any(map(says_little, tokens(sentence))))
            and not self.phrases.has("open", sentence)
            and bool(telling(self.phrases.without("little", sentence.replace(self.name or " ", " "))))
        )

    def _remembered(self) -> list[Recollection]:
        """What it remembers that others have told."""
        context, language = self.context, self.context.language
        quoted = ((one, words_of(self.name, one.summary, language)) for one in context.meetings[::-1])
        return [
            *(
                one
                for line in context.known + context.heard + context.reminded
                for one in recollections(line, language)
            ),
            *(Recollection(context.unsettled_ago, one.speaker_name, one.text, one.text) for one in context.unsettled),
            *(Recollection(one.ago, self.name, one.summary, said) for one, said in quoted if said),
        ]

    def hello(self) -> str:
        """A greeting that fits the hour; by day in the author's words."""
        hour = int(found[1]) if (found := re.search(r"(\d{1,2}):\d{2}", self.context.now)) else 12
        own = self.line("greeting") if 9 <= hour < 18 else ""
        return own or self.say(f"hello_{'morning' if 4 <= hour < 11 else 'day' if 11 <= hour < 18 else 'evening'}")

    @property
    def emotion(self) -> Emotion:
        """What its face shows."""
        mood = self.context.mood
        return (
            "angry" if mood == "angry" else "happy" if mood == "happy" or self.context.affinity >= _WARM else "neutral"
        )

    def bye(self) -> str:
        """Its leave, in the author's words if there is nothing between the two."""
        key = "bye_cold" if self.is_cold else "bye" if self.context.begins else "bye_back"
        return (not self.is_cold and self.line("farewell")) or self.say(key)

    def utter(self, parts: Iterable[str]) -> str:
        """One utterance; silence where nothing is left to say."""
        return clip(self.phrases.joined(parts), _LONGEST, self.phrases) or self.phrases.only("silence")

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
        return max(new, key=lambda text: likeness(query, text), default="")


class _Known(NamedTuple):
    """Something it can answer with: the words by which it is found, and its wording ("": these words), filled."""

    text: str
    key: str = ""
    slots: Mapping[str, str] = {}


def _shares(query: str, texts: Sequence[str]) -> list[float]:
    """Which share (0..1) of the query each text holds; the fewer texts hold a word, the more it counts."""
    wanted, total = telling(query), max(len(texts), FEW)
    held = [wanted & telling(text) for text in texts]
    rarity = {word: math.log1p(total / (0.5 + sum(word in one for one in held))) for word in wanted}
    whole = sum(rarity.values()) or 1.0
    return [sum(rarity[word] for word in one) / whole for one in held]


_MEANT = 0.14
"""Likeness of what was heard to what an action is, from which it is meant."""


def act(context: PromptContext) -> dict[str, Any] | None:
    """The action that the other has just asked for, with its arguments out of the same words; None: none was."""
    heard = context.lines[-1].text if context.lines else ""
    wanted = max(context.can_do, key=lambda one: likeness(heard, one.description), default=None)
    if wanted is None or likeness(heard, wanted.description) < _MEANT:
        return None
    form = wanted.form.model_json_schema()
    told = {name: _argument(form["properties"][name], heard, context) for name in form.get("required", ())}
    return {"id": wanted.id, "args": told}


def suggest(context: PromptContext, said: str, rng: random.Random) -> list[str]:
    """What the partner could ask that the speaker can answer, and has not been asked: about whom it has just spoken of,
    what is announced, its work, whom else it knows; and a goodbye.
    """
    words, speaker = phrases(context.language), context.speaker
    asked = [line.text for line in context.lines if line.speaker_id != speaker.id]

    def any_of(key: str, **slots: str) -> str:
        you = words.only("address.polite", name=speaker.name.strip()[:40])
        return rng.choice(words.wordings(f"polite.{key}", you=you, **slots))

    known = sorted((name for name, _ in context.relations), key=lambda name: not is_named(name, said))
    near = sum(is_named(name, said) for name in known)
    news = [words.only("goal.notice", notice=quotable(text)) for text in context.notices]
    lines = [
        any_of("ask_about", topic=topic)
        for topic in (*known[:near], *news, *known[near:])
        if topic != context.partner_name and not any(topic in text for text in asked)
    ]
    if speaker.facts and not any(words.has("work", text) for text in asked):
        lines.insert(near, any_of("ask_work"))
    return [*lines[: max(1, context.choices - 1)], any_of("bye")][: context.choices]


def _argument(form: Mapping[str, Any], heard: str, context: PromptContext) -> Any:
    choices = [str(form["const"])] if "const" in form else form.get("enum", context.items)
    if form["type"] == "string":
        named = [one for one in choices if one.casefold() in heard.casefold()]
        return (named or list(choices) or [heard])[0][: form.get("maxLength")]
    if form["type"] == "boolean":
        return True
    found = re.search(r"\d+", heard)
    number = int(found[0]) if found else max(1, form["minimum"])
    return max(form["minimum"], min(form["maximum"], number))


_LONGEST_THOUGHT = 180
_WHISPERS = 0.1
"""How often something is whispered where more than two are there."""
_ASKS = 0.5
_TURNS_AWAY = 0.4
"""How often somebody who is asked speaks to somebody else."""


def answer(context: PromptContext, rng: random.Random) -> SceneTurn | NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers, in a scene or a talk; the same context and generator state make the same answer."""
    return speak(context, rng) if context.part is None else _Player(context, context.part, rng).play()


def sketch(context: SketchContext, rng: random.Random) -> Sketch:
    """A talk of two, each of whom says what it would if it were asked turn by turn."""
    lines, turns, leaves, goal = list[Line](), list[dict[str, Any]](), 0, dict[str, Any]()
    while len(turns) < context.most and leaves < len(context.people):
        own = context.people[len(turns) % len(context.people)]
        if goal and own.begins:
            own = replace(own, goal=Goal(**goal))
        said = speak(replace(own, lines=tuple(lines), turns_left=context.most - len(turns)), rng)
        name, spoken = own.speaker.name, {"utterance": said.utterance, "emotion": said.emotion, "act": said.act}
        lines.append(Line(turn=len(turns), speaker_id=own.speaker.id, speaker_name=name, text=said.utterance))
        turns.append({"speaker": name, **spoken})
        if isinstance(said, OpeningTurn):
            goal = {"goal": said.goal, "success_criteria": said.success_criteria}
        leaves += said.wants_to_end or leaves
    return context.answer.model_validate({"turns": turns, "goal_achieved": False, **goal})


def choose_next(context: ModeratorContext, rng: random.Random) -> NextSpeaker:
    """The person that was spoken to; else one of those who have said nothing lately."""
    silent = [name for name in context.names if not any(line.startswith(name) for line in context.lines)]
    return choosing(context.names)(next=(*context.addressed, rng.choice(silent or context.names))[0])


def modulate(context: ModulatorContext, rng: random.Random) -> BaseModel:
    """By the rule of place. Nothing is left to chance: `rng` is not drawn from."""
    names, (seen, heard) = tuple(one.name for one in context.others), context.near
    reach = {
        f"person_{n}": Reach(sees=10 * (name in seen), hears=10 * (name in heard)) for n, name in enumerate(names, 1)
    }
    return reaching(names)(**reach)


class _Player(OfflineSpeaker):
    """One person of a scene."""

    def __init__(self, context: PromptContext, part: ScenePart, rng: random.Random) -> None:
        super().__init__(context, rng)
        self._part, self.wanted = part, f"{part.goal} {part.plan}"
        self.is_bidden = False  # a goodbye is meant for somebody else
        if not self.is_asked or rng.random() < _TURNS_AWAY:
            self.name = rng.choice(context.company)

    def play(self) -> SceneTurn:
        words, leaves = self.words()
        own = [line for line in self.context.lines if line.speaker_id == self.context.speaker.id]
        to = next((name for name in self._part.names if name.startswith(self.name)), "")
        told: dict[str, Any] = {
            "think": _new(self._thoughts(), [line.think for line in own]),
            "act": _new(self._acts(), [line.act for line in own]),
            "talk": self.utter(words),
            "emotion": self.emotion,
            "wants_to_end": leaves,
            "shifts": [],
        }
        if self._part.addresses:
            whispers = bool(self.context.others) and self.rng.random() < _WHISPERS
            told["to"] = [to] if self.heard or whispers else []
            told["loudness"] = Loudness.WHISPER if whispers else Loudness.NORMAL
        if self._part.urges:
            told["urgency"] = self.rng.randint(0, 10)
        return answer_of(self.context).model_validate(told)  # type: ignore[return-value] # of a scene's turn

    def greeting(self) -> list[str]:
        """A greeting; in the first turn."""
        return [] if self.own else [self.hello()]

    def question(self, told: str) -> str:
        """What it asks now and then, and where it has nothing to tell."""
        is_silent = bool(told) and self.rng.random() >= _ASKS
        return "" if is_silent else self.line("question", self.heard) or self.say("ask")

    def is_over(self) -> bool:
        """Whether it is time to leave: a scene has its own end."""
        return False

    def _thoughts(self) -> Iterator[str]:
        """What it could think: of what has just come to it first, then of what it wants, then of who is there."""
        for _, what in self.context.happened:
            yield self.rng.choice(self.phrases.wordings("scene.came", what=quotable(what)))
        wants = (("wish", self._part.goal), ("plan", self._part.plan))
        for kind, what in (*wants, *(("life", goal.goal) for goal in self.context.speaker.goals)):
            if what:
                yield from self._wordings(kind, what=clip(what, _LONGEST_THOUGHT, self.phrases).rstrip("。.!"))
        yield from self._wordings("about", name=self.name)

    def _acts(self) -> Iterator[str]:
        """What it could do: as its author says it does, then what anybody does."""
        yield from (clip(one, _LONGEST_THOUGHT, self.phrases) for one in self.context.speaker.tendencies)
        yield from self._wordings("act", name=self.name)

    def _wordings(self, kind: str, **slots: str) -> list[str]:
        found = self.phrases.wordings(f"scene.{kind}", **slots)
        return self.rng.sample(found, len(found))


def _new(could: Iterable[str], before: Iterable[str]) -> str:
    """The first that was not thought or done before; "" where there is none."""
    known = keys(before)
    return next((one for one in could if known.isdisjoint(keys([one]))), "")
