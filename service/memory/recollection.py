"""Owns the one extraction after a conversation: what the model is given (ClosingScene) and answers (Recollection).

Of two characters both remember: PairScene and PairRecollection, from which each one's view is taken.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from service.content.profile import Importance, Mood
from world.time import Language

Short = Annotated[str, Field(min_length=1, max_length=80)]
Sentence = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine:
    """A line of the transcript. `turn` counts from 0."""

    turn: int
    speaker_id: str
    speaker_name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFact:
    """A fact known before the conversation, under the short id the model may cite (``n1`` NPC's, ``m1`` memory's)."""

    ref: str
    statement: str
    authored: bool = False


@dataclass(frozen=True, kw_only=True)
class ClosingScene:
    """All that the extraction may draw on, and nothing else.

    `settled` are facts the author wrote about the two that no memory may contradict: none where an NPC is spoken to, for
    what a character remembers of it may differ from what it is.
    """

    language: Language
    character_id: str
    character_name: str
    npc_id: str
    npc_name: str
    now: str
    goal: str
    goal_achieved: bool
    affinity: int
    mood: Mood
    npc_facts: tuple[KnownFact, ...]
    memories: tuple[KnownFact, ...]
    lines: tuple[SpokenLine, ...]
    settled: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Party:
    """One of two characters at a closing: its authored `facts`, how it likes the other, what it remembered before."""

    person_id: str
    name: str
    facts: tuple[str, ...]
    affinity: int
    memories: tuple[KnownFact, ...]


@dataclass(frozen=True, kw_only=True)
class PairScene:
    """What the extraction may draw on where two characters talked. The goal was the first one's; `lines` are of both."""

    language: Language
    first: Party
    second: Party
    now: str
    goal: str
    goal_achieved: bool
    lines: tuple[SpokenLine, ...]

    def views(self) -> tuple[ClosingScene, ClosingScene]:
        """The talk as the first, and as the second remembers it: oneself as the character, the other as the partner."""
        return self._view(self.first, self.second), self._view(self.second, self.first)

    def _view(self, one: Party, other: Party) -> ClosingScene:
        return ClosingScene(
            language=self.language,
            character_id=one.person_id,
            character_name=one.name,
            npc_id=other.person_id,
            npc_name=other.name,
            now=self.now,
            goal=self.goal if one is self.first else "",
            goal_achieved=self.goal_achieved and one is self.first,
            affinity=other.affinity,
            mood="neutral",
            npc_facts=tuple(
                KnownFact(ref=f"n{i}", statement=fact, authored=True) for i, fact in enumerate(other.facts, 1)
            ),
            memories=one.memories,
            lines=self.lines,
            settled=(*one.facts, *other.facts),
        )


class _Bounded(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LearnedFact(_Bounded):
    """Something the NPC said about itself. `turn` is the turn it said it in; `replaces` the `ref` it changes, or ""."""

    statement: Sentence
    turn: int = Field(ge=0, le=99)
    replaces: str = Field(max_length=8)


class MemoryFact(_Bounded):
    """Something the character now knows. `valid_on`: the day since when it is true (YYYY-MM-DD), or "" for now."""

    subject: Short
    relation: Short
    object: Short
    statement: Sentence
    turn: int = Field(ge=0, le=99)
    valid_on: str = Field(max_length=10)
    replaces: str = Field(max_length=8)


class MidTermDraft(_Bounded):
    """Something that affects the character's next days."""

    content: Sentence
    importance: Importance


class NpcRecollection(_Bounded):
    """What the conversation did to the NPC. `affinity` is how it likes the character now, -100..100."""

    affinity: int = Field(ge=-100, le=100)
    mood: Mood
    learned_facts: list[LearnedFact] = Field(max_length=5)


class CharacterRecollection(_Bounded):
    """What the character takes away. `stance`: its attitude towards the NPC in a few words."""

    facts: list[MemoryFact] = Field(max_length=6)
    mid_term: list[MidTermDraft] = Field(max_length=3)
    stance: str = Field(max_length=120)


class Recollection(_Bounded):
    """The one structured answer a closing needs."""

    summary: Annotated[str, Field(min_length=1, max_length=400)]
    topics: list[Short] = Field(max_length=5)
    npc: NpcRecollection
    character: CharacterRecollection


class SideRecollection(CharacterRecollection):
    """What one of two characters takes away. `affinity` is how it likes the other now, -100..100."""

    affinity: int = Field(ge=-100, le=100)


class PairRecollection(_Bounded):
    """The one structured answer a closing of two characters needs."""

    summary: Annotated[str, Field(min_length=1, max_length=400)]
    topics: list[Short] = Field(max_length=5)
    first: SideRecollection
    second: SideRecollection

    def views(self) -> tuple[Recollection, Recollection]:
        """What the first, and what the second takes away, with how it is liked by the other."""
        return self._view(self.first, self.second), self._view(self.second, self.first)

    def _view(self, one: SideRecollection, other: SideRecollection) -> Recollection:
        return Recollection(
            summary=self.summary,
            topics=self.topics,
            npc=NpcRecollection(affinity=other.affinity, mood="neutral", learned_facts=[]),
            character=one,
        )
