"""Owns what an author wrote about a person, in one language and checked. What happens later lives in the store."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, JsonValue, PlainValidator, WithJsonSchema, model_serializer, model_validator

from service.content.fields import ContentModel, PersonId, Text, refusal

Mood = Literal["happy", "neutral", "angry", "sad", "afraid", "ashamed", "moved"]
Emotion = Literal["neutral", "happy", "sad", "angry", "surprised"]
"""How somebody shows itself while it says something."""
Importance = Literal["low", "medium", "high"]
PersonKind = Literal["character", "npc", "player"]
SMALL = 4
"""A goal of so much weight at most is told only when there is talk of it."""
Decides = Literal["model", "sketch", "routine"]
"""How a character decides: a model is asked, or it follows its routine and needs at no cost."""


def importance_word(weight: int) -> Importance:
    """What matters so much, from 1 to 10, in a word."""
    if weight >= 8:
        return "high"
    return "medium" if weight > SMALL else "low"


class TellFrom(ContentModel):
    """Who may be told a secret; either key suffices."""

    affinity: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        default=None,
        description="whoever the person likes at least so much / 好感度がこれ以上の相手",
    )
    person: PersonId | None = Field(default=None, description="the person with that id / そのidの人物")

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if self.affinity is None and self.person is None:
            raise refusal("nobody_told")
        return self


class Secret(BaseModel, frozen=True, extra="forbid"):
    """Something true of a person that its author lets it tell to some only."""

    fact: str
    """what is true of it, as its author wrote"""
    tell_from: TellFrom

    def may_be_told(self, partner_id: str, affinity: int) -> bool:
        """Whether the partner, whom the owner likes so much, may be told."""
        asked = self.tell_from
        return partner_id == asked.person or (asked.affinity is not None and affinity >= asked.affinity)


class PersonaLine(BaseModel, frozen=True, extra="forbid", json_schema_serialization_defaults_required=True):
    """Something of a person that is told when the moment asks for it."""

    text: str = Field(exclude=True, description="as its author wrote it")
    told: str = Field(description="as a model reads it; of a relationship, what the other is to it")
    weight: int = Field(default=5, description="how much it matters, from 1 to 10")
    person: str | None = Field(default=None, description="whom it is about: told in its presence alone; null: nobody")


_WEIGHTS = {"low": 3, "medium": 6, "high": 9}


def _weight(value: object) -> int:
    """Raises: PydanticCustomError."""
    if isinstance(value, str) and value in _WEIGHTS:
        return _WEIGHTS[value]
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10:
        return value
    raise refusal("importance")


Weight = Annotated[
    int,
    PlainValidator(_weight),
    WithJsonSchema({"anyOf": [{"enum": list(_WEIGHTS)}, {"type": "integer", "minimum": 1, "maximum": 10}]}),
]
"""How much something matters, from 1 to 10; or in a word."""


class LifeGoal(ContentModel):
    """Something it wants of life."""

    goal: Text = Field(description="what it wants / 望むこと")
    weight: Weight = Field(
        alias="importance",
        description="how much it wants it: from 1 to 10, or `low`, `medium`, `high`; below 5 it is told when there is "
        "talk of it / どれほど望むか。1〜10、または `low`、`medium`、`high`。5未満は話題に出たときだけ伝える",
    )

    @property
    def importance(self) -> Importance:
        """How much it wants it, in a word."""
        return importance_word(self.weight)

    @model_serializer
    def _as_given(self) -> dict[str, object]:  # the rehearsal draws its answers from these very bytes
        return {"goal": self.goal, "importance": self.importance, "weight": self.weight}


class Profile(BaseModel, frozen=True, extra="forbid"):
    """Common to characters and NPCs. `facts` are told to anybody, `secrets` to some. `identity` (age,
    occupation, home, …) is true of the person as facts are, and stands before them in one line; of its `persona` only
    what bears on the moment is told. `lines` are sentences in the person's own voice: a model's example of style, and
    what the rehearsal speaks from. `deflections` it says where its model would not speak for it.
    `mood` is the one a person falls back into. `voice` is the client's own, for its
    speech synthesis: handed on as it was written, no model sees it.
    """

    id: str
    """id of the person"""
    name: str
    """its name in the world's language"""
    personality: str
    """what it is like, as its author wrote; empty: nothing was said"""
    tendencies: tuple[str, ...] = ()
    """habits of speech and behaviour, as its author wrote"""
    custom_prompt: str = ""
    """what its author adds to every prompt in which it speaks"""
    identity: tuple[str, ...] = ()
    """who it is, in a line of each of its prompts: age, occupation, home …"""
    seen: str = ""
    """what others see of it, in a line of their prompts: its looks and trade; empty: nothing was said"""
    persona: tuple[PersonaLine, ...] = ()
    goals: tuple[LifeGoal, ...] = ()
    facts: tuple[str, ...] = ()
    """what is true of it, as its author wrote"""
    secrets: tuple[Secret, ...] = ()
    lines: tuple[str, ...] = ()
    deflections: tuple[str, ...] = ()
    mood: Mood = "neutral"
    """the mood it falls back into"""
    voice: JsonValue = None
    portrait: str | None = None
    """its picture in the content directory; null: the pages draw one from its id"""
    context_tokens: int | None = None
    """about how many tokens its prompts in talks may take; null: as its world or the settings say"""

    @property
    def settled(self) -> tuple[str, ...]:
        """What is true of it, as its author wrote, and may be shown to anybody: it wins over whatever is said."""
        return (*self.identity, *self.facts)

    @property
    def wishes(self) -> tuple[str, ...]:
        """The goals that always stand in its prompts: not the small ones."""
        return tuple(goal.goal for goal in self.goals if goal.weight > SMALL)


class NpcProfile(Profile):
    """Stands at its post; with `may_leave` it goes to its appointments and comes back, else it never moves. `facts` are
    master data: what the author wrote always wins.
    """

    may_leave: bool = False

    @property
    def kind(self) -> Literal["npc"]:
        return "npc"


class RoutineBlock(BaseModel, frozen=True, extra="forbid", from_attributes=True):
    """What a character does from `starts` (minutes of the day) on, and at which facility (None: at home). `action_id`
    names the action of actions.json that this is (None: what fits the place).
    """

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
    """the node where it lives and sleeps"""
    knows: tuple[str, ...] = ()
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
