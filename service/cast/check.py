"""Owns the check of a content directory: all its files read, all their errors at once, and what they say if there are none."""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from service.cast.actions_check import check_actions
from service.cast.actions_file import ActionsFile
from service.cast.actions_sketch import ACTIONS_FILE, sketch_actions
from service.cast.bundled import bundled_content
from service.cast.doings import check_doings
from service.cast.files import CharacterFile, MapsFile, NpcFile
from service.cast.problem import ContentProblem, problem
from service.cast.reach import check_reach
from service.cast.read import Document, read_document
from service.cast.references import check_references
from service.cast.shape import shape
from service.cast.sketch import MAPS_FILE, sketch_maps, sketch_person

NPCS, CHARACTERS = "npcs", "characters"
PERSON_SUFFIXES = (".yaml", ".yml")
MOST_FILES = 10_000
"""The most that one folder may hold: far more people than any game has."""


@dataclass(frozen=True, kw_only=True)
class CheckedContent:
    """The files' values in the order of their names; `maps` and `actions` are None and people may lack where there are
    `problems`.
    """

    maps: MapsFile | None
    actions: ActionsFile | None
    npcs: tuple[NpcFile, ...]
    characters: tuple[CharacterFile, ...]
    problems: tuple[ContentProblem, ...]


def check_content(directory: Path) -> list[ContentProblem]:
    """Every error in the directory's maps.json, actions.json, npcs/ and characters/; empty if a world can start from it."""
    return list(examine(directory).problems)


def examine(directory: Path) -> CheckedContent:
    """Read and check everything; never raises for what is in the files."""
    if not directory.is_dir():
        missing = problem(".", (), "there is no such directory", "このフォルダはありません")
        return CheckedContent(maps=None, actions=None, npcs=(), characters=(), problems=(missing,))
    maps = read_document(directory, MAPS_FILE)
    # A game made before there were actions has none of its own.
    own_actions = os.path.lexists(directory / ACTIONS_FILE)
    actions = read_document(directory if own_actions else bundled_content(), ACTIONS_FILE)
    npcs, npc_problems = _read_all(directory, NPCS)
    characters, character_problems = _read_all(directory, CHARACTERS)
    maps_file, maps_problems = shape(MapsFile, maps)
    actions_file, actions_problems = shape(ActionsFile, actions)
    npc_files = [shape(NpcFile, document) for document in npcs]
    character_files = [shape(CharacterFile, document) for document in characters]
    found = [*maps.problems, *maps_problems, *actions.problems, *actions_problems, *npc_problems, *character_problems]
    for document, (_, wrong) in zip((*npcs, *characters), (*npc_files, *character_files), strict=True):
        found += [*document.problems, *wrong]
    sketch = sketch_maps(maps)
    people = tuple(map(sketch_person, npcs)), tuple(map(sketch_person, characters))
    found += check_references(sketch, *people, npcs_known=not npc_problems)
    found += check_reach(sketch)
    doable = sketch_actions(actions, own=own_actions)
    found += check_actions(doable, sketch)
    found += check_doings(people[1], doable, sketch)
    return CheckedContent(
        maps=maps_file,
        actions=actions_file,
        npcs=tuple(file for file, _ in npc_files if file),
        characters=tuple(file for file, _ in character_files if file),
        problems=tuple(sorted(dict.fromkeys(found), key=_by_file)),
    )


def _read_all(directory: Path, folder: str) -> tuple[list[Document], list[ContentProblem]]:
    try:
        with os.scandir(directory / folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_FILES + 1)]
    except OSError as exc:
        en, ja = f"cannot be listed: {exc.strerror}; expected a directory", "フォルダとして開けません"
        return [], [problem(f"{folder}/", (), en, f"{ja}({exc.strerror})")]
    if len(names) > MOST_FILES:
        en = f"there are more than {MOST_FILES} files in this folder, the most that is read"
        ja = f"このフォルダのファイルが多すぎます。読み込めるのは {MOST_FILES} 個までです"
        return [], [problem(f"{folder}/", (), en, ja)]
    files = sorted(name for name in names if name.endswith(PERSON_SUFFIXES) and not name.startswith("."))
    return [read_document(directory, f"{folder}/{name}") for name in files], []


def _by_file(found: ContentProblem) -> tuple[bool, bool, str]:
    """maps.json first, then actions.json, then the people; within a file as found."""
    return found.file != MAPS_FILE, found.file != ACTIONS_FILE, found.file
