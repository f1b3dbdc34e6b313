"""Owns what a model answers when it is asked for a person: plain words within bounds, no more than a person's file
holds.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from service.content.fields import MARKUP
from service.run.show import one_line


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


def words_of(person: MadePerson) -> str:
    """All that is written of the person but its name."""
    told = (person.personality, *person.tendencies, *person.facts, *person.lines, *(one.goal for one in person.goals))
    cares = (*person.likes, *person.dislikes, *person.beliefs, *person.skills)
    return "\n".join((*told, *cares, *person.behaviours, *person.experiences))
