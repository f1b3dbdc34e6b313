"""npcs/*.yaml and characters/*.yaml: their form."""

from pydantic import Field

from service.content.fields import UNWRITTEN, Clock, Many, Number, Slug, Text, Written
from service.content.profile import Decides, Importance, Mood


class PersonFile(Written):
    """What the files of NPCs and characters have in common."""

    id: Slug
    name: Text
    personality: Text
    tendencies: Many[Text] = ()
    custom_prompt: Text = UNWRITTEN
    facts: Many[Text] = ()
    lines: Many[Text] = ()


class NpcFile(PersonFile):
    """npcs/*.yaml."""

    mood: Mood = "neutral"


class GoalEntry(Written):
    """Something a character wants of life."""

    goal: Text
    importance: Importance


class RoutineEntry(Written):
    """What a character does from `starts` on; without a facility at home. `action`: which of actions.json that is."""

    starts: Clock
    activity: Text
    facility_id: str | None = Field(default=None, alias="facility")
    action_id: str | None = Field(default=None, alias="action")


class CharacterFile(PersonFile):
    """characters/*.yaml."""

    goals: Many[GoalEntry] = ()
    routine: Many[RoutineEntry] = ()
    home: str
    knows: Many[str] = ()
    needs: dict[str, Number] = {}
    decision: Decides | None = None
