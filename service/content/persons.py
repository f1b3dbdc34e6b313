"""npcs/*.yaml and characters/*.yaml: their form."""

from pydantic import Field

from service.content.fields import UNWRITTEN, Clock, ContentModel, ListOf, Number, Slug, Text
from service.content.profile import Decides, Importance, Mood


class PersonFile(ContentModel):
    """What the files of NPCs and characters have in common."""

    id: Slug
    name: Text
    personality: Text
    tendencies: ListOf[Text] = ()
    custom_prompt: Text = UNWRITTEN
    facts: ListOf[Text] = ()
    lines: ListOf[Text] = ()


class NpcFile(PersonFile):
    """npcs/*.yaml."""

    mood: Mood = "neutral"


class GoalEntry(ContentModel):
    """Something a character wants of life."""

    goal: Text
    importance: Importance


class RoutineEntry(ContentModel):
    """What a character does from `starts` on; without a facility at home. `action`: which of actions.json that is."""

    starts: Clock
    activity: Text
    facility_id: str | None = Field(default=None, alias="facility")
    action_id: str | None = Field(default=None, alias="action")


class CharacterFile(PersonFile):
    """characters/*.yaml."""

    goals: ListOf[GoalEntry] = ()
    routine: ListOf[RoutineEntry] = ()
    home: str
    knows: ListOf[str] = ()
    needs: dict[str, Number] = {}
    decision: Decides | None = None
