"""Owns the rehearsal of a scene: what somebody thinks, does and says, out of what its author wrote; who is next, and
who perceives what. Nothing twice.
"""

import random
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn, SceneTurn
from service.conversation.directing import ModeratorContext, ModulatorContext, NextSpeaker, Reach, choosing, reaching
from service.conversation.prompt import PromptContext, ScenePart, SharedLine, answer_of
from service.offline.phrases import clip, keys, quotable
from service.offline.speaker import Speaker, speak
from service.store.phase import Loudness

_LONGEST = 180
_WHISPERS = 0.1
"""How often something is whispered where more than two are there."""
_ASKS = 0.5
_TURNS_AWAY = 0.4
"""How often somebody who is asked speaks to somebody else."""


def answer(context: PromptContext, rng: random.Random) -> SceneTurn | NpcTurn | CharacterTurn | OpeningTurn:
    """What the person answers, in a scene or a talk; the same context and generator state make the same answer."""
    return speak(context, rng) if context.part is None else _Player(context, context.part, rng).play()


def choose_next(context: ModeratorContext, rng: random.Random) -> NextSpeaker:
    """Who was spoken to; else one of those who have said nothing lately."""
    silent = [name for name in context.names if not any(line.startswith(name) for line in context.lines)]
    chosen = context.addressed[:1] or (rng.choice(silent or context.names),)
    return choosing(context.names)(next=chosen[0])


def modulate(context: ModulatorContext, rng: random.Random) -> BaseModel:
    """By the rule of place. Nothing is left to chance: `rng` is not drawn from."""
    names, (seen, heard) = tuple(one.name for one in context.others), context.near
    reach = {
        f"person_{n}": Reach(sees=10 * (name in seen), hears=10 * (name in heard)) for n, name in enumerate(names, 1)
    }
    return reaching(names)(**reach)


class _Player(Speaker):
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
        shared = [line for line in own if isinstance(line, SharedLine)]
        to = next((name for name in self._part.names if name.startswith(self.name)), "")
        told: dict[str, Any] = {
            "think": _new(self._thoughts(), [line.think for line in shared]),
            "act": _new(self._acts(), [line.act for line in shared]),
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
        asks = not told or self.rng.random() < _ASKS
        return (self.line("question", self.heard) or self.say("ask")) if asks else ""

    def is_over(self) -> bool:
        """Whether it is time to leave: a scene has its own end."""
        return False

    def _thoughts(self) -> Iterator[str]:
        """What it could think: of what has just come to it first, then of what it wants, then of who is there."""
        for what in self.context.happened:
            yield self.rng.choice(self.phrases.wordings("scene.came", what=quotable(what)))
        wants = (("wish", self._part.goal), ("plan", self._part.plan))
        for kind, what in (*wants, *(("life", goal.goal) for goal in self.context.speaker.goals)):
            if what:
                yield from self._wordings(kind, what=clip(what, _LONGEST, self.phrases).rstrip("。.!"))
        yield from self._wordings("about", name=self.name)

    def _acts(self) -> Iterator[str]:
        """What it could do: as its author says it does, then what anybody does."""
        yield from (clip(one, _LONGEST, self.phrases) for one in self.context.speaker.tendencies)
        yield from self._wordings("act", name=self.name)

    def _wordings(self, kind: str, **slots: str) -> list[str]:
        found = self.phrases.wordings(f"scene.{kind}", **slots)
        return self.rng.sample(found, len(found))


def _new(could: Iterable[str], before: Iterable[str]) -> str:
    """The first that was not thought or done before; "" where there is none."""
    known = keys(before)
    return next((one for one in could if known.isdisjoint(keys([one]))), "")
