"""Owns what a speaker knows at the moment of speaking: the value its prompt is rendered from, and its answer."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.content.profile import CharacterProfile, Mood, NpcProfile
from world.time import Language

Emotion = Literal["neutral", "happy", "sad", "angry", "surprised"]
Nudge = Literal["repeated", "broke_character"]
"""Why the speaker is asked again: it repeated itself, or stepped out of its role."""

Utterance = Annotated[str, Field(min_length=1, max_length=400)]


class Goal(BaseModel):
    """What the character wants of this conversation; small enough for one conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str = Field(min_length=1, max_length=200)
    success_criteria: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One utterance. `turn` counts from 0 within its conversation."""

    turn: int
    speaker_id: str
    speaker_name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LastMeeting:
    """The last settled conversation of the two: its summary and the world time since, in words."""

    summary: str
    ago: str


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What both speakers' scenes share. `unsettled` are the last lines of a talk of these two that has ended but
    is not yet remembered (its closing runs, or failed), and `unsettled_ago` when that was. `lines` is this conversation
    so far. `acquainted`: by the author's word the two knew each other before the story began.
    """

    language: Language
    partner_id: str
    partner_name: str
    place: str
    now: str
    last_meeting: LastMeeting | None = None
    times_met: int = 0
    acquainted: bool = False
    unsettled: tuple[Line, ...] = ()
    unsettled_ago: str = ""
    lines: tuple[Line, ...] = ()
    turns_left: int = 10
    nudge: Nudge | None = None


@dataclass(frozen=True, kw_only=True)
class CharacterScene(Scene):
    """The character's side. `goal` is None when the character is to set it in its first answer.

    `learned`: what it told about itself before; `known`: what it remembers about the partner, each with when;
    `mid_term`: what affects the next days; `today`: the day's conversations; `stance`: its attitude towards the partner; `items`: what it carries.
    """

    speaker: CharacterProfile
    goal: Goal | None
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    stance: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PartnerScene(Scene):
    """The side of a character that was spoken to: as `CharacterScene`, of its own memory, and without a goal."""

    speaker: CharacterProfile
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    stance: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NpcScene(Scene):
    """The NPC's side. `learned` are facts about itself from earlier conversations, beside its authored ones;
    `affinity` (-100..100) is how it likes the partner. What it remembers is as in `CharacterScene`.
    """

    speaker: NpcProfile
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    stance: str = ""
    mood: Mood = "neutral"
    affinity: int = 0


class NpcTurn(BaseModel):
    """What an NPC answers, or a character that was spoken to."""

    model_config = ConfigDict(extra="forbid")

    utterance: Utterance
    emotion: Emotion
    wants_to_end: bool


class CharacterTurn(NpcTurn):
    """What a character answers."""

    goal_achieved: bool


class OpeningTurn(BaseModel):
    """A character's first answer when nobody gave it a goal: it sets one, within the guidelines, and speaks."""

    model_config = ConfigDict(extra="forbid")

    goal: str = Field(min_length=1, max_length=200)
    success_criteria: str = Field(min_length=1, max_length=200)
    utterance: Utterance
    emotion: Emotion
    wants_to_end: bool
