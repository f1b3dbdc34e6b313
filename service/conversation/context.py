"""Owns what a speaker knows at the moment of speaking: the value its prompt is rendered from."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from service.content.actions import GameAction
from service.content.profile import CharacterProfile, Mood, NpcProfile
from service.llm.chat import PromptValues
from service.locales import Language
from service.people.attitude import liking
from service.people.person import FeltNeed
from service.store.phase import CallState, OpenedFor

Nudge = Literal["repeated", "broke_character", "gave_away", "refused", "go_on"]
"""Why the speaker is asked again: it repeated itself, stepped out of its role, gave a secret away, or its model refused
to answer; or it is to say more.
"""


class Goal(BaseModel, frozen=True, extra="forbid"):
    """What the opener wants of this conversation; small enough for one conversation."""

    goal: str = Field(min_length=1, max_length=200)
    """what it wants, in a sentence"""
    success_criteria: str = Field(min_length=1, max_length=200)
    """how to tell that the goal is reached"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One utterance. `turn` counts from 0 within its conversation; `note` is the block its speaker was shown before
    it.
    """

    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    note: str = ""

    @property
    def shown(self) -> str:
        """As others are told it."""
        return self.text

    @property
    def answer(self) -> dict[str, str]:
        """What its speaker answered."""
        return {"utterance": self.text}


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedLine(Line):
    """A line among more than two, or of a scene, as one of them perceived it: what it did not hear or see is "".
    `told` is how it is told it; `in_scene`: it was one of a scene.
    """

    told: str
    think: str = ""
    act: str = ""
    in_scene: bool = False

    @property
    def shown(self) -> str:
        """As the person is told it."""
        return self.told

    @property
    def answer(self) -> dict[str, str]:
        """What its speaker answered."""
        return {"think": self.think, "act": self.act, "talk": self.text} if self.in_scene else {"utterance": self.text}


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """Somebody who is there besides the partner, and what the speaker has to do with it, as PromptContext says of the
    partner. `ago`: since the two last talked ("": they have not); `spot`: where it stands.
    """

    person_id: str
    name: str
    language: Language
    affinity: int = 0
    stance: str = ""
    acquainted: bool = False
    ago: str = ""
    known: tuple[str, ...] = ()
    spot: str = ""

    @property
    def liking(self) -> str:
        """How the speaker likes it, in words; "": it neither likes nor dislikes it."""
        felt, nothing = (liking(affinity, self.name, self.language) for affinity in (self.affinity, 0))
        return "" if felt == nothing else felt


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenePart:
    """What a speaker of a scene has of its own: what it wants there, how it means to go about it, where it stands.
    `partner_spot` is where the partner stands. It is asked to whom it speaks and how loud (`addresses`), and how much
    it wants to go on (`urges`), where that is of use. `names` are those who may be named in its answer.
    """

    goal: str = ""
    plan: str = ""
    spot: str = ""
    partner_spot: str = ""
    addresses: bool = False
    urges: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LastMeeting:
    """The last settled conversation of the two, as it is told, and the world time since, in words."""

    summary: str
    ago: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of something that the speaker asked of the game; `message` is the game's own word."""

    what: str
    state: CallState
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class PromptContext(PromptValues):
    """What a person knows when it speaks, whoever it is.

    As it was when they met: `now` is date, time and weather ("": the place is not of this world), `notices` are
    announced, `told` is what the game said was going on, `lore` what the speaker's author lets it always know.
    `last_meeting`, `known` (each with when), `stance`, `affinity` (-100..100) and `times_met` are about the partner.
    `acquainted`: the two knew each other before they first talked here. `secrets` are those that the
    partner, and who else is there, may be told. `heard` is what it remembers, from anybody, that bears on its goal.
    `said_today` and `said_before` (in the days before) are what it has said to the partner, and all that was said among
    more than two: no prompt tells it, but who speaks without a model repeats nothing of it.
    `unsettled` are the last lines of a talk of these two that has ended but is not yet remembered (its closing
    runs, or failed), and `unsettled_ago` when that was. `persona` is what of itself, as its author wrote, bears on
    the moment; `learned` what it told about itself before; `mid_term` what affects its next days; `today` the day's
    conversations with others; `items` what it carries; `doing` what it did when they met.

    Since then: `lines` were said; `clock` is the time, where it has moved on by itself ("": it has not), `news` what
    was announced, `told_now` what the game says goes on now, and `reminded` what the last lines remind the speaker of;
    `stance_now` is its stance by now, where it was told another one before. `begins`: it opened the conversation.
    `actions` is all that it may ask of the game in this conversation, `can_do` what of it may be asked now; `outcomes`
    are what became of what it asked before. `choices`: so many lines it suggests to the partner for its next words.
    `opened_for`: why it spoke to a player first, and `matter` what of.
    `goal` is the opener's; None while it is to set one itself (`sets_goal`), in its first answer.
    `scene_before` is what it remembers of the scene that this one goes on from. `others` are there besides the partner;
    `part` is what the speaker has of its own in a scene (None: it is a talk), and `happened` who came or left since its
    last turn, and what a writer let happen, a sentence each. `keeps` are the secrets that its prompt told it, and that
    not all may know who are there by now: they are in `secrets` no more.
    """

    speaker: CharacterProfile | NpcProfile
    begins: bool
    partner_id: str
    partner_name: str
    place: str
    now: str
    notices: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    scene_before: str = ""
    lore: tuple[str, ...] = ()
    last_meeting: LastMeeting | None = None
    times_met: int = 0
    acquainted: bool = False
    affinity: int = 0
    stance: str = ""
    secrets: tuple[str, ...] = ()
    mood: Mood = "neutral"
    persona: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    mid_term: tuple[str, ...] = ()
    today: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    needs: tuple[FeltNeed, ...] = ()
    doing: str = ""
    unsettled: tuple[Line, ...] = ()
    unsettled_ago: str = ""
    said_today: tuple[str, ...] = ()
    said_before: tuple[str, ...] = ()

    opened_for: OpenedFor | None = None
    matter: str = ""
    goal: Goal | None = None
    sets_goal: bool = False
    lines: tuple[Line, ...] = ()
    turns_left: int = 10
    clock: str = ""
    news: tuple[str, ...] = ()
    told_now: tuple[str, ...] = ()
    reminded: tuple[str, ...] = ()
    stance_now: str = ""
    nudge: Nudge | None = None
    actions: tuple[GameAction, ...] = ()
    can_do: tuple[GameAction, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    choices: int = 0
    others: tuple[Present, ...] = ()
    part: ScenePart | None = None
    happened: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    feedback: str = ""

    @property
    def company(self) -> tuple[str, ...]:
        """The names of all the others."""
        return (self.partner_name, *(one.name for one in self.others))

    @property
    def affinities(self) -> dict[str, int]:
        """How the speaker likes each of the others."""
        return {self.partner_id: self.affinity, **{one.person_id: one.affinity for one in self.others}}

    @property
    def liking(self) -> str:
        """How the speaker likes the partner, in words."""
        return liking(self.affinity, self.partner_name, self.language)
