"""Owns what a speaker knows at the moment of speaking: the value its prompt is rendered from, and its answer."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.content.profile import CharacterProfile, Mood, NpcProfile
from service.people.attitude import liking
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
    """What a person knows when it speaks, whoever it is. `now` is date, time and weather; `notices` are announced.

    `last_meeting`, `known` (each with when), `stance`, `affinity` (-100..100) and `times_met` are about the partner.
    `unsettled` are the last lines of a talk of these two that has ended but is not yet remembered (its closing runs, or
    failed), and `unsettled_ago` when that was. `said_today` and `said_before` (in the days before) are what it has said to
    the partner: no prompt tells it, but who speaks without a model repeats nothing of it. `acquainted`: by the author's word the two knew each other before the
    story began. `learned` is what it told about itself before; `mid_term` what affects its next days; `today` the day's
    conversations with others; `items` what it carries. `lines` is this conversation so far.
    """

    begins: ClassVar[bool] = False
    """Whether the speaker is the one who began."""

    language: Language
    speaker: CharacterProfile | NpcProfile
    partner_id: str
    partner_name: str
    place: str
    now: str
    notices: tuple[str, ...] = ()
    last_meeting: LastMeeting | None = None
    times_met: int = 0
    acquainted: bool = False
    affinity: int = 0
    stance: str = ""
    mood: Mood = "neutral"
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    unsettled: tuple[Line, ...] = ()
    unsettled_ago: str = ""
    said_today: tuple[str, ...] = ()
    said_before: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    turns_left: int = 10
    nudge: Nudge | None = None

    @property
    def liking(self) -> str:
        """How the speaker likes the partner, in words."""
        return liking(self.affinity, self.partner_name, self.language)


@dataclass(frozen=True, kw_only=True)
class CharacterScene(Scene):
    """The side of the character that began. `goal` is None when it is to set one in its first answer."""

    begins: ClassVar[bool] = True

    speaker: CharacterProfile
    goal: Goal | None


@dataclass(frozen=True, kw_only=True)
class PartnerScene(Scene):
    """The side of a character that was spoken to."""

    speaker: CharacterProfile


@dataclass(frozen=True, kw_only=True)
class NpcScene(Scene):
    """The side of an NPC."""

    speaker: NpcProfile


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
