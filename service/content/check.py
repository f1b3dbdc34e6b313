"""The check of a content directory, in two passes: the form of every file, then what the files say of each other."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from service.content.actions import ActionsFile
from service.content.fields import ContentModel, ContentProblem, Text, problem, quote, schema_errors
from service.content.files import (
    ACTIONS_FILE,
    CHARACTERS,
    FRAGMENTS,
    GROUPS,
    LORE,
    MAPS_FILE,
    NPCS,
    PERSON_SUFFIXES,
    PICTURE_TYPES,
    PICTURES,
    PROMPT_SUFFIX,
    PROMPTS,
    SCENES,
    Unreadable,
    bundled_content,
    files_in,
    read_text,
    values_of,
)
from service.content.fragments import FragmentFile, check_fragments, name_of
from service.content.groups import GroupsFile, check_groups
from service.content.lore import LoreFile, groups_of
from service.content.maps import MapsFile
from service.content.persons import CharacterFile, NpcFile, PersonFile, PlayerFile
from service.content.references import (
    check_actions,
    check_connectivity,
    check_game_actions,
    check_homes,
    check_ids,
    check_lore,
    check_maps,
    check_npcs,
    check_people,
    check_plans,
    check_posts,
    check_tags,
)
from service.content.scenes import Scene, check_scenes, named
from service.locales import Language, Listed, languages

W = TypeVar("W", bound=ContentModel)

_FOLDERS: Mapping[str, type[ContentModel]] = {
    NPCS: NpcFile,
    CHARACTERS: CharacterFile,
    FRAGMENTS: FragmentFile,
    LORE: LoreFile,
    SCENES: Scene,
    GROUPS: GroupsFile,
}
"""What is in each folder of a game."""


@dataclass(kw_only=True)
class CheckedContent:
    """What could be read, people by their files in the order of names; all there is if there are no `problems`.

    `own_actions`: it has an actions.json, else the bundled one serves. `partly_read` are the folders of which a file
    could not be read. `players` are made at run time, by what stands for a file.
    `own_prompts`: the game's own prompts by their language, each with its name and source; who knows how prompts are
    made checks what is in them.
    """

    maps: MapsFile | None = None
    actions: ActionsFile | None = None
    own_actions: bool = True
    npcs: dict[str, NpcFile] = field(default_factory=dict)
    characters: dict[str, CharacterFile] = field(default_factory=dict)
    players: dict[str, PlayerFile] = field(default_factory=dict)
    fragments: dict[str, FragmentFile] = field(default_factory=dict)
    partly_read: frozenset[str] = frozenset()
    lore: dict[str, LoreFile] = field(default_factory=dict)
    scenes: dict[str, Scene] = field(default_factory=dict)
    groups: dict[str, GroupsFile] = field(default_factory=dict)
    own_prompts: dict[Language, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    problems: list[ContentProblem] = field(default_factory=list)

    @property
    def everybody(self) -> dict[str, PersonFile]:
        """All people by their files."""
        return {**self.npcs, **self.characters, **self.players}

    @property
    def names(self) -> dict[str, Text]:
        """What those are called for whom a model can find words, by id."""
        return {person.id: person.name for person in (*self.npcs.values(), *self.characters.values())}

    @property
    def nodes(self) -> list[str] | None:
        """Ids of all places; None: the maps could not be read."""
        return None if self.maps is None else [node.id for area in self.maps.maps for node in area.nodes]

    @property
    def known(self) -> dict[str, Collection[str]]:
        """The ids there are of each kind of which all files could be read."""
        found: dict[str, Collection[str]] = {
            "group": groups_of(self.lore),
            "scene": [scene.scene_id for scene in self.scenes.values()],
            "picture": self.pictures,
        }
        if self.maps is not None:
            found["node"], found["map"] = self.nodes or (), [area.id for area in self.maps.maps]
            found["facility"] = [place.id for area in self.maps.maps for place in area.facilities]
        if self.actions is not None:
            found["need"] = [need.id for need in self.actions.needs]
            found["action"] = [action.id for action in self.actions.actions]
        if self.partly_read.isdisjoint((NPCS, CHARACTERS)):
            found["person"] = [person.id for person in self.everybody.values()]
            found["who"] = [*found["person"], "npc", "character"]
        return found | ({"fragment": [*map(name_of, self.fragments)]} if FRAGMENTS not in self.partly_read else {})

    def file_of(self, person_id: str) -> str | None:
        """The file that says who the person is; None: there is none."""
        people: dict[str, PersonFile] = {**self.npcs, **self.characters}
        return next((file for file, person in people.items() if person.id == person_id), None)


_NONE: Mapping[str, str | None] = {}


def newly_wrong(directory: Path, instead: Mapping[str, str | None]) -> list[ContentProblem]:
    """What would be wrong if the files were as in `instead` (see `examine`), and is not now."""
    known = {one.line("en") for one in examine(directory).problems}
    return [one for one in examine(directory, instead).problems if one.line("en") not in known]


def examine(directory: Path, instead: Mapping[str, str | None] = _NONE) -> CheckedContent:
    """Read and check maps.json, actions.json, npcs/, characters/, fragments/, lore/, scenes/, groups/ and prompts/. A
    world can start where no problem is found. Only maps.json must be there, and npcs/ where a map has posts for NPCs.
    `instead`: files as if they held these texts (None: as if they were not there); a picture as if it were there.

    It never raises for what is in the files.
    """
    if not directory.is_dir():
        return CheckedContent(problems=[problem(str(directory), (), "content.no_directory")])
    content = _parsed(directory, instead)
    content.problems += cross_checked(content)
    # maps.json first, then actions.json, then the people; within a file as found
    content.problems.sort(key=lambda found: (found.file != MAPS_FILE, found.file != ACTIONS_FILE, found.file))
    return content


def _parsed(directory: Path, instead: Mapping[str, str | None]) -> CheckedContent:
    """The first pass: every file in its model's form, or what is wrong with it."""
    found: list[ContentProblem] = []
    # A game made before there were actions has none of its own.
    own_actions = os.path.lexists(directory / ACTIONS_FILE)
    maps = parse(MapsFile, directory, MAPS_FILE, found, instead)
    actions = parse(ActionsFile, directory if own_actions else bundled_content(), ACTIONS_FILE, found, instead)

    read = dict[str, dict[str, Any]]()
    partly_read = set[str]()
    for folder, model in _FOLDERS.items():
        before, is_needed = len(found), folder == NPCS and (maps is None or any(area.npcs for area in maps.maps))
        files = _listed(directory, folder, found) if is_needed or os.path.lexists(directory / folder) else []
        told = {one for one in (*files, *instead) if one.startswith(f"{folder}/") and instead.get(one, "") is not None}
        of_form = (file for file in sorted(told) if file.endswith(PERSON_SUFFIXES))
        formed = {file: parse(model, directory, file, found, instead) for file in of_form}
        read[folder] = {file: one for file, one in formed.items() if one is not None}
        if len(found) > before:
            partly_read.add(folder)
    read[SCENES] = {file: named(file, scene) for file, scene in read[SCENES].items()}
    prompts = dict(_own_prompts(directory, found))
    pictures = _listed(directory, PICTURES, found) if os.path.lexists(directory / PICTURES) else []
    return CheckedContent(
        maps=maps,
        actions=actions,
        own_actions=own_actions,
        own_prompts=prompts,
        pictures=tuple(file for file in (*pictures, *instead) if Path(file).suffix.lower() in PICTURE_TYPES),
        partly_read=frozenset(partly_read),
        problems=found,
        **read,
    )


def parse(
    model: type[W], directory: Path, file: str, found: list[ContentProblem], instead: Mapping[str, str | None] = _NONE
) -> W | None:
    """What the file says, in its model's form; None: it has none, and what is wrong with it is added to `found`.
    `instead`: see `examine`.
    """
    try:
        told = instead.get(file)
        text = read_text(directory / file) if told is None else told
        formed: W = _formed(model, text, Path(file).suffix)
        return formed
    except Unreadable as exc:
        found.append(ContentProblem(file=file, key_path="", said=exc.reason))
    except ValidationError as exc:
        found += schema_errors(model, file, exc)
    return None


@lru_cache(maxsize=512)
def _formed(model: type[W], text: str, suffix: str) -> W:
    """The same object for the same text: of a game that is read anew, only what was changed is parsed."""
    return model.model_validate(values_of(text, suffix))


def _own_prompts(
    directory: Path, found: list[ContentProblem]
) -> Iterator[tuple[Language, tuple[tuple[str, str], ...]]]:
    """What is in prompts/, which a game need not have, by language."""
    folders = _listed(directory, PROMPTS, found) if os.path.lexists(directory / PROMPTS) else []
    for folder in folders:
        language = Path(folder).name
        if language not in languages():
            known = Listed(map(quote, languages()), last="common.or")
            found.append(problem(f"{folder}/", (), "prompts.no_language", id=quote(language), known=known))
            continue
        sources = []
        for file in _listed(directory, folder, found):
            if not file.endswith(PROMPT_SUFFIX):
                found.append(problem(file, (), "prompts.other_suffix", suffix=PROMPT_SUFFIX))
                continue
            try:
                sources.append((Path(file).name.removesuffix(PROMPT_SUFFIX), read_text(directory / file)))
            except Unreadable as exc:
                found.append(ContentProblem(file=file, key_path="", said=exc.reason))
        yield language, tuple(sources)


def _listed(directory: Path, folder: str, found: list[ContentProblem]) -> list[str]:
    try:
        return files_in(directory, folder)
    except Unreadable as exc:
        found.append(ContentProblem(file=f"{folder}/", key_path="", said=exc.reason))
        return []


def cross_checked(content: CheckedContent) -> Iterator[ContentProblem]:
    """The second pass: ids, who can get where, what can be done; of the files that could be read."""
    maps, actions, npcs, characters = content.maps, content.actions, content.npcs, content.characters
    everybody = content.everybody
    own_actions = {ACTIONS_FILE: actions} if actions is not None and content.own_actions else {}
    yield from check_people(everybody)
    own_maps = {MAPS_FILE: maps} if maps is not None else {}
    files = {**own_maps, **everybody, **content.fragments, **content.lore, **content.scenes, **own_actions}
    yield from check_ids(files, content.known)
    if maps is not None:
        wrong = [*check_maps(maps), *check_posts(maps)]
        yield from wrong or check_connectivity(maps)
        yield from check_homes(characters, maps)
        if NPCS not in content.partly_read:
            yield from check_npcs(npcs, characters, maps)
    if content.partly_read.isdisjoint((NPCS, CHARACTERS)):
        yield from check_lore(content.lore)
        yield from check_scenes(content.scenes, content.nodes)
        for file, groups in content.groups.items():
            yield from check_groups(file, groups, content.names, content.nodes)
    if FRAGMENTS not in content.partly_read:
        yield from check_fragments(everybody, content.fragments)
    if actions is not None:
        if content.own_actions:
            yield from check_actions(actions)
            yield from check_tags(actions, maps) if maps is not None else ()
            yield from check_game_actions(actions)
        yield from check_plans(characters, actions, maps)
