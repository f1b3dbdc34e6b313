"""Owns the reading of Project Anima's characters: folders with an immutable.yaml and a long_term.yaml. Their memories
become a past that is given, one line each.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from service.content.fields import ContentProblem, Key, ListOf, Words, problem, quote
from service.content.files import files_in, read_values
from service.content.persons import Weight
from service.exchange.draft import Draft, Foreign, ImportRefused, id_of, name_in, parsed, refusing
from world.ids import is_slug

IMMUTABLE, LONG_TERM = "immutable.yaml", "long_term.yaml"
LONGEST_MEMORY = 2_000
"""Letters of a statement of a given past."""
LONGEST_KEY = 200
"""Letters of the name of a talk."""

M = TypeVar("M", bound=Foreign)


class Experience(Foreign):
    """Something the character has lived through."""

    event: Words
    importance: Weight


class Goal(Foreign):
    """Something it wants."""

    goal: Words
    importance: Weight


class Memory(Foreign):
    """Something it remembers, of a scene and of other characters."""

    memory: Words
    scene_id_of_memory: str = ""
    related_character_ids: ListOf[str] = ()


class Immutable(Foreign):
    """immutable.yaml."""

    character_id: Words
    name: Words
    base_personality: Words
    age: int | None = None
    occupation: str = ""


class LongTerm(Foreign):
    """long_term.yaml."""

    character_id: Words
    experiences: ListOf[Experience] = ()
    goals: ListOf[Goal] = ()
    memories: ListOf[Memory] = ()


@dataclass(frozen=True, kw_only=True)
class AnimaPerson:
    """A character: its id here and there, what becomes of its files, and what it remembers; `notes` tells of what its
    long_term.yaml says.
    """

    id: str
    character_id: str
    draft: Draft
    notes: Draft
    memories: tuple[Memory, ...]


def read_anima(directory: Path) -> list[AnimaPerson]:
    """The characters in the folders of the directory, or of its `characters`.

    Raises:
        ImportRefused: there are none, or their files are not in the form; all errors are named.
    """
    root = directory / "characters" if (directory / "characters").is_dir() else directory
    with refusing(str(directory)):
        folders = [Path(name).name for name in files_in(root, ".")]
    found, wrong = list[AnimaPerson](), list[ContentProblem]()
    for folder in (one for one in folders if (root / one / IMMUTABLE).is_file()):
        try:
            found.append(_person(root, folder))
        except ImportRefused as exc:
            wrong += exc.problems
    if not found and not wrong:
        wrong = [problem(str(directory), (), "exchange.no_anima", file=f"*/{IMMUTABLE}")]
    if wrong:
        raise ImportRefused(wrong)
    return found


def past_of(people: Iterable[AnimaPerson]) -> str:
    """What they remember, as lines for `kataribe memory import`; "": nothing."""
    known = list(people)
    ids = {one.character_id: one.id for one in known}
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for one in known for line in _past(one, ids))


def _past(person: AnimaPerson, ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(person.memories):
        key: Key = ("memories", number)
        text = one.memory[:LONGEST_MEMORY]
        if text != one.memory:
            person.notes.note((*key, "memory"), "shortened", count=len(one.memory), most=LONGEST_MEMORY)
        line = {"person": person.id, "id": f"anima-{number + 1}", "statement": text}
        related = list[str]()
        for place, other in enumerate(one.related_character_ids):
            if other not in ids:
                person.notes.note((*key, "related_character_ids", place), "nobody_imported", id=quote(other))
            elif related:
                person.notes.note((*key, "related_character_ids", place), "about_one", id=ids[other])
            else:
                related.append(ids[other])
        if related:
            line["about"] = related[0]
        if one.scene_id_of_memory.strip():
            line["conversation"] = one.scene_id_of_memory.strip()[:LONGEST_KEY]
        yield line


def _person(root: Path, folder: str) -> AnimaPerson:
    """Raises: ImportRefused."""
    file, later = f"{folder}/{IMMUTABLE}", f"{folder}/{LONG_TERM}"
    always = _read(Immutable, root, file)
    grown = _read(LongTerm, root, later) if (root / later).exists() else LongTerm(character_id=always.character_id)
    if grown.character_id != always.character_id:
        ids = {"found": quote(grown.character_id), "expected": quote(always.character_id)}
        raise ImportRefused([problem(later, ("character_id",), "content.mismatch", **ids)])
    name = name_in(file, ("name",), always.name)
    draft, notes = Draft(file=file, name=name), Draft(file=later, name=name)
    draft.values = {
        "name": name,
        "personality": always.base_personality,
        **({} if always.age is None else {"age": always.age}),
        **({"occupation": always.occupation.strip()} if always.occupation.strip() else {}),
        **{
            kind: [one.model_dump(include=set(type(one).model_fields)) for one in entries]
            for kind, entries in (("experiences", grown.experiences), ("goals", grown.goals))
            if entries
        },
    }
    draft.leave_out(always.model_extra, ())
    notes.leave_out(grown.model_extra, ())
    for kind in ("experiences", "goals", "memories"):
        for number, one in enumerate(getattr(grown, kind)):
            notes.leave_out(one.model_extra, (kind, number))
    return AnimaPerson(
        id=folder if is_slug(folder) else id_of(name),
        character_id=always.character_id,
        draft=draft,
        notes=notes,
        memories=grown.memories,
    )


def _read(model: type[M], root: Path, file: str) -> M:
    """Raises: ImportRefused."""
    with refusing(file):
        values = read_values(root / file)
    return parsed(model, file, values)
