"""Owns how a model is asked for a person, from the place, who is there already, and a slot of the plan or a wish in
plain words; what it answers, within bounds; and what a rehearsal, which does not understand a wish, makes of it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from service.content.fields import MARKUP, clipped
from service.content.load import Content
from service.conversation.repetition import is_foreign
from service.generate.dataset import WishUnusable
from service.generate.people.parts import Slot
from service.generate.people.plan import DemographyFile, Plan
from service.llm.chat import Prompt, PromptValues, Templates
from service.locales import Language, Phrase, sentence
from studio.exchange.clean import plain, without_orders
from studio.terminal.show import one_line


def _plain(value: object) -> object:
    """A text on one line, before its length is looked at: so what was taken once is taken again.

    Raises:
        ValueError: it holds what frames prompts.
    """
    if not isinstance(value, str):
        return value
    words = " ".join(one_line(value).split())
    if MARKUP.search(words):
        raise ValueError("expected plain words")
    return words


Short = Annotated[str, Field(min_length=1, max_length=60), BeforeValidator(_plain)]
Sentence = Annotated[str, Field(min_length=3, max_length=160), BeforeValidator(_plain)]


class MadeGoal(BaseModel, extra="forbid", frozen=True):
    """Something the person wants of life."""

    goal: Sentence
    importance: int = Field(ge=1, le=10)


class MadePerson(BaseModel, extra="forbid", frozen=True):
    """A person, as the model gives it."""

    name: Short
    personality: Annotated[str, Field(min_length=10, max_length=240), BeforeValidator(_plain)]
    tendencies: list[Sentence] = Field(min_length=2, max_length=4)
    facts: list[Sentence] = Field(min_length=3, max_length=6)
    lines: list[Sentence] = Field(min_length=6, max_length=12)
    goals: list[MadeGoal] = Field(min_length=1, max_length=3)
    likes: list[Short] = Field(max_length=4)
    dislikes: list[Short] = Field(max_length=4)
    beliefs: list[Sentence] = Field(max_length=4)
    skills: list[Short] = Field(max_length=4)
    behaviours: list[Sentence] = Field(max_length=4)
    experiences: list[Sentence] = Field(max_length=3)


class WishedPerson(MadePerson):
    """A person of a wish, which may say what else a plan would: the model says how it came out."""

    age: int = Field(ge=0, le=110)
    sex: Short
    work: Annotated[str, Field(max_length=60), BeforeValidator(_plain)]
    workplace: Annotated[str, Field(max_length=80), BeforeValidator(_plain)]
    """the place of the world where it works, by its name; empty: none of them"""


def words_of(person: MadePerson) -> str:
    """All that is written of the person but its name."""
    told = (person.personality, *person.tendencies, *person.facts, *person.lines, *(one.goal for one in person.goals))
    cares = (*person.likes, *person.dislikes, *person.beliefs, *person.skills)
    return "\n".join((*told, *cares, *person.behaviours, *person.experiences))


TEMPLATES = Templates(__file__)

_MOST_TOKENS = 3000
_MOST_PLACES, _MOST_PEOPLE = 24, 40
_LONGEST = 90
"""Letters of what is told of somebody who is there already."""
_INITIALS = {"ja": "あいうえおかきくけこさしすせそたちつてとなにのはひふまみむもやゆよりるれ"}
_LETTERS = "ABCDEFGHIJKLMNOPRSTVWY"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the people are to live: the same for all of one plan, and so the beginning of each prompt."""

    name: str
    places: tuple[str, ...]
    people: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class PersonContext(PromptValues):
    """What the model is told of a `slot`. `number` counts from 1, `attempt` from 0. `ties`: of whom the person has,
    what they are and their slots; their names are not known yet. `wrong`: what was wrong with its last answer.
    """

    place: Place
    slot: Slot
    number: int
    count: int
    attempt: int = 0
    wish: str = ""
    traits: tuple[str, ...]
    family_names: bool
    ties: tuple[tuple[str, Slot], ...]
    initial: str
    wrong: tuple[str, ...] = ()

    @property
    def answer(self) -> type[MadePerson]:
        """The form of the answer."""
        return WishedPerson if self.wish else MadePerson


def place_of(world: Content, language: Language, about: str) -> Place:
    """What is told of the world."""
    cast = world.cast(language)
    facilities = dict.fromkeys(one.name for one in cast.world_map.facilities.values())
    nodes = dict.fromkeys(one.name for one in cast.world_map.nodes.values() if one.name)
    people = (f"{one.name}: {clipped(one_line(one.personality), _LONGEST)}" for one in cast.everybody.values())
    return Place(
        name=cast.world_name,
        places=tuple(facilities or nodes)[:_MOST_PLACES],
        people=tuple(people)[:_MOST_PEOPLE],
        about=about,
    )


def context_of(
    plan: Plan, number: int, place: Place, language: Language, *, wish: str, attempt: int, wrong: Sequence[str]
) -> PersonContext:
    """What is told for the slot of that number."""
    slot = plan.slots[number]
    return PersonContext(
        language=language,
        place=place,
        slot=slot,
        number=number + 1,
        count=len(plan.slots),
        attempt=attempt,
        wish=wish,
        traits=tuple(
            sentence(language, f"persona.{degree}", trait=sentence(language, f"persona.traits.{name}"))
            for name, degree in slot.traits.items()
            if degree != "medium" and not wish  # chance must not say another character than the wish
        ),
        family_names=any(one.family_name for one in plan.slots),
        ties=tuple((tie.kind, plan.slots[tie.number]) for tie in slot.ties),
        initial=random.Random(f"{slot.seed}/{attempt}").choice(_INITIALS.get(language, _LETTERS)),
        wrong=tuple(wrong),
    )


def prompt_of(context: PersonContext, thread: str = "") -> Prompt[MadePerson]:
    """The prompt."""
    return TEMPLATES.question("person", "closing", context, context.answer, max_tokens=_MOST_TOKENS, thread=thread)


LONGEST = 1000
_LONGEST_REHEARSED = 60
_MOST_FACTS, _MOST_LINES = 6, 12

OPEN = DemographyFile.model_validate({"age": ["18-29", "30-44", "45-59", "60-75"]})
"""Who is drawn where a wish leaves it open: grown-ups, all else as usual."""


def cleaned(wish: str) -> str:
    """The wish in plain words: no markup, nothing that is said to a model.

    Raises:
        WishUnusable: nothing of it is left, or it is too long.
    """
    if len(wish) > LONGEST:
        raise WishUnusable(reason=Phrase("people_make.wish.long", count=len(wish), most=LONGEST))
    words = " ".join(without_orders(plain(wish, "")).split())
    if not any(letter.isalpha() for letter in words):
        raise WishUnusable(reason=Phrase("people_make.wish.empty"))
    return words


def rehearsed(wish: str, language: Language) -> str:
    """As much of the wish as a rehearsal repeats; "" where it is in another language, for it translates nothing."""
    if is_foreign(wish, language):
        return ""
    return clipped(wish, _LONGEST_REHEARSED)


def as_wished(person: MadePerson, context: PersonContext) -> WishedPerson:
    """A rehearsed person who is what the wish says in its author's words."""
    language = context.language
    wish = rehearsed(context.wish, language)
    said: dict[str, object] = {"age": context.slot.age, "sex": context.slot.sex, "work": wish, "workplace": ""}
    if wish:
        first, rest = f"{wish[0].upper()}{wish[1:]}", person.personality
        about = sentence(language, "people_make.rehearsed.personality", wish=first, rest=rest)
        fact, line = (sentence(language, f"people_make.rehearsed.{one}", wish=wish) for one in ("fact", "line"))
        greeting, *lines = person.lines
        said |= {
            "personality": about[:240],
            "facts": [fact, *person.facts][:_MOST_FACTS],
            "lines": [greeting, line, *lines[-(_MOST_LINES - 2) :]],
        }
    return WishedPerson.model_validate(person.model_dump() | said)
