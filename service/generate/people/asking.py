"""Owns how a model is asked for a person: one call, from the place, who is there already, and a slot of the plan or a
wish.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from service.content.load import Content
from service.generate.people.made_person import MadePerson, WishedPerson
from service.generate.people.parts import Slot
from service.generate.people.plan import Plan
from service.llm.chat import Prompt, PromptValues, Templates
from service.locales import Language, sentence
from service.run.show import one_line

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
    people = (f"{one.name}: {_short(one.personality)}" for one in cast.everybody.values())
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
            if degree != "medium"
        ),
        family_names=any(one.family_name for one in plan.slots),
        ties=tuple((tie.kind, plan.slots[tie.number]) for tie in slot.ties),
        initial=random.Random(f"{slot.seed}/{attempt}").choice(_INITIALS.get(language, _LETTERS)),
        wrong=tuple(wrong),
    )


def prompt_of(context: PersonContext, thread: str = "") -> Prompt[MadePerson]:
    """The prompt."""
    return TEMPLATES.question("person", "closing", context, context.answer, max_tokens=_MOST_TOKENS, thread=thread)


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
