"""Owns the reading of Project Anima's files: scenes, and characters, which are folders with an immutable.yaml and a
long_term.yaml. Their memories become a past that is given, one line each, with their dates.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast

from service.public.errors import BadWorldTime
from service.public.files import (
    CHARACTERS,
    SCENES,
    ContentProblem,
    Key,
    ListOf,
    Scene,
    Weight,
    Words,
    is_slug,
    named,
    problem,
    quote,
    read_values,
)
from service.public.words import iso, parse_time
from studio.exchange.draft import Draft, Foreign, ImportRefused, Notes, id_of, name_in, parsed, refusing

IMMUTABLE, LONG_TERM = "immutable.yaml", "long_term.yaml"
_CAST = "participant_character_ids"
LONGEST_MEMORY = 2_000
"""Letters of a statement of a given past."""
LONGEST_KEY = 200
"""Letters of the name of a talk."""

M = TypeVar("M", bound=Foreign)


class Experience(Foreign):
    """Something the character has lived through."""

    event: Words
    importance: Weight


class AnimaGoal(Foreign):
    """Something it wants."""

    goal: Words
    importance: Weight


class AnimaMemory(Foreign):
    """Something it remembers, of a scene and of other characters."""

    memory: Words
    scene_id_of_memory: str = ""
    related_character_ids: ListOf[str] = ()
    date: Any = None
    """ours: since when it is known, as a world time"""


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
    goals: ListOf[AnimaGoal] = ()
    memories: ListOf[AnimaMemory] = ()


@dataclass(frozen=True, kw_only=True)
class AnimaPerson:
    """A character: its id here and there, what becomes of its files, and what it remembers; `notes` tells of what its
    long_term.yaml says.
    """

    id: str
    character_id: str
    draft: Draft
    notes: Notes
    memories: tuple[AnimaMemory, ...]


@dataclass(frozen=True, kw_only=True)
class Anima:
    """What was read: the characters; and the scenes, by the file that each becomes, with the characters' ids there."""

    people: list[AnimaPerson]
    scenes: dict[str, dict[str, Any]]

    def ours(self, known: Mapping[str, str]) -> tuple[dict[str, dict[str, Any]], str]:
        """With our ids for theirs, also for who is in the content (`known`): the scenes; and what the characters
        remember, as lines for `kataribe memory import` ("": nothing). What has no date has that of its scene, if any.
        """
        ids = {**known, **{one.character_id.casefold(): one.id for one in self.people}}
        dates = {PurePath(file).stem: _date(one.get("time")) for file, one in self.scenes.items()}
        lines = (line for one in self.people for line in _past(one, ids, dates))
        scenes = {
            file: scene | {key: [ids.get(one.casefold(), one) for one in scene[key]] for key in scene if key == _CAST}
            for file, scene in self.scenes.items()
        }
        return scenes, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def read_anima(paths: Sequence[Path]) -> Anima:
    """The characters and scenes of directories (of a project, of characters, of scenes, of one character) and files.

    Raises:
        ImportRefused: there are none, or their files are not in the form; all errors are named.
    """
    found, wrong = Anima(people=[], scenes={}), list[ContentProblem]()
    for one in (one for path in paths for one in _within(path.absolute())):
        try:
            if one.name == IMMUTABLE:
                found.people.append(_person(one.parent.parent, one.parent.name))
            elif one.name != LONG_TERM:
                found.scenes.update([_scene(one)])
        except ImportRefused as exc:
            wrong += exc.problems
    if not (found.people or found.scenes or wrong):
        where = ", ".join(map(str, paths))
        wrong = [problem(where, (), "exchange.no_anima", file=f"*/{IMMUTABLE}, {SCENES}/*.yaml")]
    if wrong:
        raise ImportRefused(wrong)
    return found


def _within(path: Path) -> list[Path]:
    """The files of characters and of scenes in a directory; a file itself."""
    scenes = "*.yaml" if path.name == SCENES else f"{SCENES}/*.yaml"
    patterns = (IMMUTABLE, f"*/{IMMUTABLE}", f"{CHARACTERS}/*/{IMMUTABLE}", scenes)
    return [path] if path.is_file() else [one for pattern in patterns for one in sorted(path.glob(pattern))]


def _scene(path: Path) -> tuple[str, dict[str, Any]]:
    """The file of ours that a scene becomes, and its values. Raises: ImportRefused."""
    with refusing(path.name):
        values = read_values(path)
    if isinstance(values, dict):  # YAML reads what looks like a date as one
        values = {name: one.isoformat() if isinstance(one, date) else one for name, one in values.items()}
    scene = named(path.name, parsed(Scene, path.name, values))
    return f"{SCENES}/{scene.scene_id}.yaml", {"scene_id": scene.scene_id} | cast("dict[str, Any]", values)


def _date(value: object) -> str:
    """The world time that it says; "": none."""
    with suppress(BadWorldTime):
        return iso(parse_time(str(value)))
    return ""


def _past(person: AnimaPerson, ids: Mapping[str, str], dates: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(person.memories):
        key: Key = ("memories", number)
        text = one.memory[:LONGEST_MEMORY]
        if text != one.memory:
            person.notes.note((*key, "memory"), "shortened", count=len(one.memory), most=LONGEST_MEMORY)
        line = {"person": person.id, "id": f"anima-{number + 1}", "statement": text}
        related = list[str]()
        for place, other in enumerate(one.related_character_ids):
            if (ours := ids.get(other.casefold())) is None:
                person.notes.note((*key, "related_character_ids", place), "nobody_imported", id=quote(other))
            elif related:
                person.notes.note((*key, "related_character_ids", place), "about_one", id=ours)
            else:
                related.append(ours)
        if related:
            line["about"] = related[0]
        if scene_id := one.scene_id_of_memory.strip():
            line["conversation"] = scene_id[:LONGEST_KEY]
        if at := _date(one.date) or dates.get(scene_id):
            line["at"] = at
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
    draft, notes = Draft(file=file, name=name), Notes(file=later)
    draft.values = {
        "name": name,
        "aliases": [always.character_id],
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
