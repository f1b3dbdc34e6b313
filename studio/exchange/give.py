"""Owns a person of ours as other programs read one: an agent of TinyTroupe, a Character Card. Secrets stay here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from service.public.errors import NotFound
from service.public.files import CharacterProfile, Content, Lore, NpcProfile, PersonFile, Text, problem, with_fragments
from service.public.words import Language
from studio.exchange.draft import Report

LONGEST_HEADING = 40
"""So many letters before a colon are what a thing to know is called."""
_QUOTES = '"“”'


class Format(StrEnum):
    """What a person can be written as."""

    TINYTROUPE = "tinytroupe"
    CARD_V2 = "card-v2"
    CARD_V3 = "card-v3"


@dataclass(frozen=True, kw_only=True)
class WrittenPerson:
    """The values of a JSON file, and what is not in it."""

    values: dict[str, Any]
    report: Report = field(default_factory=Report)


def give(content: Content, person_id: str, form: Format, language: Language) -> WrittenPerson:
    """The person, with the fragments it uses, in one language.

    Raises:
        NotFound.
    """
    checked, cast = content.checked, content.cast(language)
    people: dict[str, PersonFile] = {**checked.npcs, **checked.characters}
    file = checked.file_of(person_id)
    if file is None:
        raise NotFound(kind="person", id=person_id)
    person = with_fragments(people[file], checked.fragments)
    if form is Format.TINYTROUPE:
        values = _agent(person, {one: known.name for one, known in cast.everybody.items()}, language)
        left = ["lines"]
    else:
        lore = [one for one in cast.lore if one.people == {person_id} and not (one.maps or one.when)]
        values, left = _card(cast.actor(person_id), lore, form), []
    return WrittenPerson(values=values, report=[*_left_out(file, person, left)])


def _left_out(file: str, person: PersonFile, more: list[str]) -> Report:
    names = ("mood", "voice", "routine", "home", "knows", "needs", "decision", *more)
    keys = [name for name in names if name in person.model_fields_set]
    told = [problem(file, (name,), "exchange.notes.no_key_of_theirs") for name in keys]
    secrets = [i for i, fact in enumerate(person.facts) if fact.secret]
    return told + [problem(file, ("facts", i), "exchange.notes.secret_stays") for i in secrets]


def _agent(person: PersonFile, names: dict[str, str], language: Language) -> dict[str, Any]:
    """As microsoft/TinyTroupe has it in examples/agents."""

    def texts(said: tuple[Text, ...]) -> list[str]:
        return [one.of(language) for one in said]

    work = person.occupation
    facts = [fact for fact in person.facts if not fact.secret]
    lived = [one.event for one in person.experiences]
    traits = person.big_five
    big_five = {name: f"{degree.capitalize()}." for name, degree in traits if name in traits.model_fields_set}
    persona: dict[str, Any] = {
        "name": person.name.of(language),
        "age": person.age,
        **{name: getattr(person, name).of(language) for name in ("gender", "nationality", "residence", "education")},
        "long_term_goals": texts(tuple(one.goal for one in person.goals)),
        "occupation": work and {name: text.of(language) for name, text in work},
        "style": " ".join(texts((*person.tendencies, person.custom_prompt))).strip(),
        "personality": {"traits": [person.personality.of(language)], "big_five": big_five},
        "preferences": {name: texts(said) for name, said in person.preferences},
        "skills": texts(person.skills),
        "beliefs": texts(person.beliefs),
        "behaviors": {"general": texts(person.behaviors)},
        "relationships": [
            {"name": names.get(one.person, one.person), "description": one.description.of(language)}
            for one in person.relationships
        ],
        "other_facts": texts((*facts, *lived)),
    }
    return {"type": "TinyPerson", "persona": {name: value for name, value in persona.items() if value}}


def _card(person: CharacterProfile | NpcProfile, lore: list[Lore], form: Format) -> dict[str, Any]:
    """As the specifications of version 2 and 3 have it; studio/exchange/card.py names them."""
    wishes = (goal.goal for goal in person.goals)
    lines = [*person.facts, *person.identity, *(one.told for one in person.persona), *person.tendencies, *wishes]
    first, *others = [*map(_quoted, person.lines)] or [""]
    data = {
        "name": person.name,
        "description": "\n".join(filter(None, (*lines, person.custom_prompt))),
        "personality": person.personality,
        "scenario": "",
        "first_mes": first,
        "mes_example": "",
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": others,
        "tags": [],
        "creator": "",
        "character_version": "",
        "extensions": {},
    }
    if lore:
        entries = [*_entries(person.name, lore, is_third=form is Format.CARD_V3)]
        data["character_book"] = {"extensions": {}, "entries": entries}
    if form is Format.CARD_V3:
        return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data | {"group_only_greetings": []}}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def _entries(name: str, lore: list[Lore], *, is_third: bool) -> Iterator[dict[str, Any]]:
    """Each is called up by what it is called, else whenever there is talk of the person."""
    for number, one in enumerate(lore):
        heading, parted, _ = one.text.partition(":")
        entry: dict[str, Any] = {
            "keys": [heading.strip() if parted and len(heading) <= LONGEST_HEADING else name],
            "content": one.text,
            "extensions": {},
            "enabled": True,
            "insertion_order": number,
            "constant": one.is_always,
        }
        yield entry | ({"use_regex": False} if is_third else {})


def _quoted(line: str) -> str:
    """As a card shows what is said."""
    return line if any(mark in line for mark in _QUOTES) else f'"{line}"'
