"""Owns the one extraction after a conversation: what the model is given (ClosingScene) and answers (Recollection)."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from service.cast.profile import Importance, Mood
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
    """All that the extraction may draw on, and nothing else."""

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
