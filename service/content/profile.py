"""Owns what an author wrote about a person, in one language and checked. What happens later lives in the store."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

Mood = Literal["happy", "neutral", "angry"]
Emotion = Literal["neutral", "happy", "sad", "angry", "surprised"]
"""How somebody shows itself while it says something."""
Importance = Literal["low", "medium", "high"]
PersonKind = Literal["character", "npc", "player"]
Decides = Literal["model", "routine"]
"""How a character decides: a model is asked, or it follows its routine and needs at no cost."""


class TellFrom(BaseModel):
    """Who may be told a secret: whom its owner likes so much (-100..100), or the one person with that id; either
    suffices.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    affinity: int | None = None
    person: str | None = None


class Secret(BaseModel):
    """Something true of a person that its author lets it tell to some only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fact: str
    tell_from: TellFrom

    def may_be_told(self, partner_id: str, affinity: int) -> bool:
        """Whether the partner, whom the owner likes so much, may be told."""
        asked = self.tell_from
        return partner_id == asked.person or (asked.affinity is not None and affinity >= asked.affinity)


class Profile(BaseModel):
    """Common to characters and NPCs. `facts` are told to anybody, `secrets` to some. `lines` are sentences in the
    person's own voice: a model's example of style, and what the rehearsal speaks from. `mood` is the one a person falls
    back into. `voice` is the client's own, for its speech synthesis: handed on as it was written, no model sees it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    personality: str
    tendencies: tuple[str, ...] = ()
    custom_prompt: str = ""
    facts: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    lines: tuple[str, ...] = ()
    mood: Mood = "neutral"
    voice: JsonValue = None


class NpcProfile(Profile):
    """Stands at its post and never moves. `facts` are master data: what the author wrote always wins."""

    @property
    def kind(self) -> Literal["npc"]:
        return "npc"


class LifeGoal(BaseModel):
    """Something a character wants of life."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str
    importance: Importance = "medium"


class RoutineBlock(BaseModel):
    """What a character does from `starts` (minutes of the day) on, and at which facility (None: at home). `action_id`
    names the action of actions.json that this is (None: what fits the place).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    starts: int
    activity: str
    facility_id: str | None = None
    action_id: str | None = None


class CharacterProfile(Profile):
    """Mobile, with goals and a routine; `home` is the node it starts at and sleeps at. `knows` are the people, NPCs
    and characters, it was on terms with before the story begins, and they with it: they do not meet as strangers.
    `needs` are levels it begins with, `decision` is how it decides (None: as its world says).
    """

    home: str
    knows: tuple[str, ...] = ()
    goals: tuple[LifeGoal, ...] = ()
    routine: tuple[RoutineBlock, ...] = ()
    needs: Mapping[str, float] = {}
    decision: Decides | None = None

    @property
    def kind(self) -> Literal["character"]:
        return "character"


class PlayerProfile(Profile):
    """A human finds its words: the profile says what it is called and what others may know of it. Made at run time, it
    is in no content file.
    """

    personality: str = ""

    @property
    def kind(self) -> Literal["player"]:
        return "player"
