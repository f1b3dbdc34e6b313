"""Owns a person of ours as other programs read one: an agent of TinyTroupe, a Character Card. Secrets stay here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from service.public.errors import existing
from service.public.files import (
    CharacterProfile,
    Content,
    KnownByEntry,
    LoreEntry,
    NpcProfile,
    PersonFile,
    problem,
    with_fragments,
)
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
    file = existing(checked.file_of(person_id), "person", person_id)
    person = with_fragments(people[file], checked.fragments)
    if form is Format.TINYTROUPE:
        values = _agent(person, {one: known.name for one, known in cast.everybody.items()}, language)
        left = ["lines"]
    else:
        own = KnownByEntry(people=(person_id,))
        lore = [one for one in cast.lore if one.known_by == own and not one.when]
        values, left = _card(cast.actor(person_id), lore, form, language), []
    return WrittenPerson(values=values, report=[*_left_out(file, person, left)])


def _left_out(file: str, person: PersonFile, more: list[str]) -> Report:
    names = ("mood", "voice", "routine", "home", "knows", "needs", "decision", *more)
    keys = [name for name in names if name in person.model_fields_set]
    told = [problem(file, (name,), "exchange.notes.no_key_of_theirs") for name in keys]
    secrets = [i for i, fact in enumerate(person.facts) if fact.secret]
    return told + [problem(file, ("facts", i), "exchange.notes.secret_stays") for i in secrets]


def _agent(file: PersonFile, names: dict[str, str], language: Language) -> dict[str, Any]:
    """As microsoft/TinyTroupe has it in examples/agents."""
    person, traits = file.in_language(language), file.big_five
    facts = [fact.of(language) for fact in person.facts if not fact.secret]
    big_five = {name: f"{degree.capitalize()}." for name, degree in traits if name in traits.model_fields_set}
    persona: dict[str, Any] = {
        "name": person.name,
        "age": person.age,
        **{name: getattr(person, name) for name in ("gender", "nationality", "residence", "education")},
        "long_term_goals": [one.goal for one in person.goals],
        "occupation": person.occupation and dict(person.occupation),
        "style": " ".join((*person.tendencies, person.custom_prompt)).strip(),
        "personality": {"traits": [person.personality], "big_five": big_five},
        "preferences": dict(person.preferences),
        "skills": person.skills,
        "beliefs": person.beliefs,
        "behaviors": {"general": person.behaviors},
        "relationships": [
            {"name": names.get(one.person, one.person), "description": one.description} for one in person.relationships
        ],
        "other_facts": [*facts, *(one.event for one in person.experiences)],
    }
    return {"type": "TinyPerson", "persona": {name: value for name, value in persona.items() if value}}


def _card(
    person: CharacterProfile | NpcProfile, lore: list[LoreEntry], form: Format, language: Language
) -> dict[str, Any]:
    """As the specifications of version 2 and 3 have it; studio/exchange/card.py names them."""
    wishes = (goal.goal for goal in person.goals)
    lines = [*person.facts, *person.identity, *(one.told for one in person.persona), *person.tendencies, *wishes]
    # as a card shows what is said
    first, *others = [one if any(mark in one for mark in _QUOTES) else f'"{one}"' for one in person.lines] or [""]
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
        entries = [*_entries(person.name, lore, language, is_third=form is Format.CARD_V3)]
        data["character_book"] = {"extensions": {}, "entries": entries}
    if form is Format.CARD_V3:
        return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data | {"group_only_greetings": []}}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def _entries(name: str, lore: list[LoreEntry], language: Language, *, is_third: bool) -> Iterator[dict[str, Any]]:
    """Each is called up by what it is called, else whenever there is talk of the person."""
    for number, one in enumerate(lore):
        text = one.text.of(language)
        heading, parted, _ = text.partition(":")
        entry: dict[str, Any] = {
            "keys": [heading.strip() if parted and len(heading) <= LONGEST_HEADING else name],
            "content": text,
            "extensions": {},
            "enabled": True,
            "insertion_order": number,
            "constant": one.tell == "always",
        }
        yield entry | ({"use_regex": False} if is_third else {})
