"""Owns what an author wrote about a person, in one language and checked. What happens later lives in the store."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

Mood = Literal["happy", "neutral", "angry"]
Importance = Literal["low", "medium", "high"]
PersonKind = Literal["character", "npc"]
Decides = Literal["model", "routine"]
"""How a character decides: a model is asked, or it follows its routine and needs at no cost."""


class Profile(BaseModel):
    """Common to characters and NPCs. `lines` are sentences in the person's own voice: a model's example of style,
    and what the rehearsal speaks from. `mood` is the one a person falls back into.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    personality: str
    tendencies: tuple[str, ...] = ()
    custom_prompt: str = ""
    facts: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    mood: Mood = "neutral"


class NpcProfile(Profile):
    """Stands at its post and never moves. `facts` are master data: what the author wrote always wins."""

    @property
    def kind(self) -> PersonKind:
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
    def kind(self) -> PersonKind:
        return "character"
