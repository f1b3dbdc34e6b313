"""Owns the reading of TinyTroupe's agents and fragments (https://github.com/microsoft/TinyTroupe, examples/agents and
examples/fragments).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, JsonValue

from service.content.fields import Key, ListOf, quote
from studio.exchange.clean import chunks
from studio.exchange.draft import LORE_TOKENS, MOST_LINES, PERSONALITY_TOKENS, Draft, Foreign, json_of, name_in, parsed

_TRAITS = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
_DEGREE = re.compile(r"\s*(?:very\s+|moderately\s+)?(low|medium|high)\b", re.IGNORECASE)
_NOTHING = {"", "n/a", "none", "null"}


def _inner(value: object) -> object:
    """Older agents write ``{"trait": "You are curious"}``."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def _titled(value: object) -> object:
    return {"title": value} if isinstance(value, str) else value


Texts = ListOf[Annotated[str, BeforeValidator(_inner)]]


class _Occupation(Foreign):
    title: str = ""
    organization: str = ""
    description: str = ""


class _Personality(Foreign):
    traits: Texts = ()
    big_five: dict[str, str] = {}


class _Preferences(Foreign):
    interests: Texts = ()
    likes: Texts = ()
    dislikes: Texts = ()


class _Relationship(Foreign):
    name: str = ""
    description: str = ""


class _Persona(Foreign):
    """What an agent or a fragment says; what is not here has no key of ours."""

    name: str = ""
    age: int | str = ""
    gender: str = ""
    nationality: str = ""
    residence: str = ""
    education: str = ""
    occupation: Annotated[_Occupation, BeforeValidator(_titled)] = _Occupation()
    style: str = ""
    personality: _Personality = _Personality()
    preferences: _Preferences = _Preferences()
    long_term_goals: Texts = ()
    skills: Texts = ()
    beliefs: Texts = ()
    behaviors: JsonValue = None
    health: str = ""
    relationships: ListOf[_Relationship] = ()
    other_facts: Texts = ()


class _Agent(Foreign):
    type: Literal["TinyPerson", "Fragment"]
    persona: _Persona


def read_tinytroupe(file: str, raw: bytes) -> Draft:
    """The person, or the fragment of one, that the file describes.

    Raises:
        ImportRefused: it is neither.
    """
    agent = parsed(_Agent, file, json_of(file, raw, "exchange.no_agent"))
    is_fragment = agent.type == "Fragment"
    name = Path(file).name.partition(".")[0] if is_fragment else name_in(file, ("persona", "name"), agent.persona.name)
    draft = Draft(file=file, name=name, is_fragment=is_fragment)
    _fill(draft, agent.persona)
    draft.leave_out(agent.model_extra, ())
    draft.leave_out(agent.persona.model_extra, ("persona",))
    return draft


def _fill(draft: Draft, persona: _Persona) -> None:
    values = draft.values
    if not draft.is_fragment:
        values["name"] = draft.name
    age = str(persona.age).strip()
    if age.isdecimal() and len(age) < 5:
        values["age"] = int(age)
    elif age:
        draft.note(("persona", "age"), "no_age", found=quote(age))
    plain = ("gender", "nationality", "residence", "education")
    values |= _texts(draft, ("persona",), {name: getattr(persona, name) for name in plain})
    work = persona.occupation
    if work.title:
        named = {name: getattr(work, name) for name in ("title", "organization", "description")}
        values["occupation"] = _texts(draft, ("persona", "occupation"), named)
    _characterise(draft, persona)
    behaviors = [*_behaviors(draft, ("persona", "behaviors"), persona.behaviors, "")]
    cares = {name: _list(draft, ("preferences", name), texts) for name, texts in persona.preferences if texts}
    goals = _list(draft, ("long_term_goals",), persona.long_term_goals)
    found = {
        "preferences": cares,
        "beliefs": _list(draft, ("beliefs",), persona.beliefs),
        "skills": _list(draft, ("skills",), persona.skills),
        "behaviors": [*draft.first(("persona", "behaviors"), behaviors, MOST_LINES)],
        "goals": [{"goal": goal, "importance": "medium"} for goal in goals],
        "experiences": [
            {"event": event, "importance": "medium"} for event in _list(draft, ("other_facts",), persona.other_facts)
        ],
    }
    values |= {name: told for name, told in found.items() if told}
    if persona.health:
        draft.tell(("persona", "health"), draft.text(("persona", "health"), persona.health))
    for number, other in enumerate(draft.first(("persona", "relationships"), persona.relationships, MOST_LINES)):
        key = ("persona", "relationships", number)
        who, what = (draft.text(key, text) for text in (other.name, other.description))
        if who and what:
            draft.relations.append((key, who, what))


def _characterise(draft: Draft, persona: _Persona) -> None:
    """What it is like, how it speaks, and the five traits."""
    key = ("persona", "personality")
    traits = [draft.text((*key, "traits", i), text) for i, text in enumerate(persona.personality.traits)]
    parts = [*chunks(" ".join(filter(None, traits)), PERSONALITY_TOKENS)]
    if parts and not draft.is_fragment:
        draft.values["personality"] = parts.pop(0)
    tendencies = [*parts, *_texts(draft, ("persona",), {"style": persona.style}).values()]
    if tendencies:
        draft.values["tendencies"] = tendencies
    degrees = {name: _DEGREE.match(text) for name, text in persona.personality.big_five.items()}
    known = {name: found[1].lower() for name, found in degrees.items() if found and name in _TRAITS}
    if known:
        draft.values["bigFive"] = known
        draft.note((*key, "big_five"), "only_degrees")
    for name in degrees.keys() - known.keys():
        draft.note((*key, "big_five", name), "no_degree")
    draft.leave_out(persona.personality.model_extra, key)


def _texts(draft: Draft, above: Key, named: dict[str, str]) -> dict[str, str]:
    """The texts that say something, each of the length of one thing to know."""
    told = {name: draft.short((*above, name), text) for name, text in named.items()}
    return {name: text for name, text in told.items() if text.lower() not in _NOTHING}


def _list(draft: Draft, key: Key, texts: Sequence[str]) -> list[str]:
    return [
        part
        for number, text in enumerate(draft.first(("persona", *key), texts, MOST_LINES))
        for part in chunks(draft.text(("persona", *key, number), text), LORE_TOKENS)
    ]


def _behaviors(draft: Draft, key: Key, value: Any, when: str) -> Iterator[str]:
    """Lists by their occasion, which may be nested: ``morning: wakes early``."""
    match value:
        case str():
            for part in chunks(draft.text(key, value), LORE_TOKENS):
                yield f"{when}: {part}" if when else part
        case list():
            for number, one in enumerate(value):
                yield from _behaviors(draft, (*key, number), _inner(one), when)
        case dict():
            for name, one in value.items():
                is_group = name in ("general", "routines")
                yield from _behaviors(draft, (*key, name), one, when if is_group else draft.text(key, name))
