"""The way from a content directory to a cast: texts in one language, one map of all maps, people by id."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from service.content.actions import GameAction, catalogue
from service.content.check import CheckedContent, examine, parse
from service.content.fields import ContentModel, ContentProblem, Problems
from service.content.fragments import Fragments, with_fragments
from service.content.lore import LoreEntry, groups_of
from service.content.maps import world_map
from service.content.profile import CharacterProfile, NpcProfile, PersonKind, PlayerProfile
from service.content.scenes import Scene
from service.errors import ContentErrors, existing
from service.locales import Language, languages
from world.actions import Catalogue
from world.places import WorldMap
from world.time import WorldTime

F = TypeVar("F", bound=ContentModel)
P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everybody and every place of a world, in one language. `own_prompts`: the game's own, each with its name and
    source. `players` come and go at run time: content has none. `removed` are the names of those who have gone.
    `game_actions` are what people may ask of the game.
    `groups` are ids of people, by the name of their group. `scenes` are by their ids. `fragments`
    are what people who are made at run time may use.
    """

    world_name: str
    world_map: WorldMap
    catalogue: Catalogue
    npcs: Mapping[str, NpcProfile]
    characters: Mapping[str, CharacterProfile]
    players: Mapping[str, PlayerProfile] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    own_prompts: tuple[tuple[str, str], ...] = ()
    game_actions: Mapping[str, GameAction] = field(default_factory=dict)
    lore: tuple[LoreEntry, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fragments: Fragments = field(default_factory=dict)
    scenes: Mapping[str, Scene] = field(default_factory=dict)

    def person(self, person_id: str) -> NpcProfile | CharacterProfile | PlayerProfile:
        """Raises: NotFound."""
        return _found(self.everybody, "person", person_id)

    def actor(self, person_id: str) -> NpcProfile | CharacterProfile:
        """Somebody for whom a model can find words. Raises: NotFound."""
        return self.npcs[person_id] if person_id in self.npcs else self.character(person_id)

    def find(self, person_id: str) -> NpcProfile | CharacterProfile | PlayerProfile | None:
        """The person; None: there is none of that id."""
        return self.everybody.get(person_id)

    @cached_property
    def everybody(self) -> Mapping[str, NpcProfile | CharacterProfile | PlayerProfile]:
        """All people by their ids."""
        return {**self.npcs, **self.characters, **self.players}

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """The node at which each begins who walks: characters, and NPCs that may leave their node."""
        return {**{one.id: one.home for one in self.characters.values()}, **self.world_map.bases}

    @cached_property
    def names(self) -> frozenset[str]:
        """What people are called."""
        return frozenset(person.name for person in self.everybody.values())

    @cached_property
    def bearers(self) -> Mapping[str, set[str]]:
        """By each name, in one width and case, the ids of those who are called so, or were and have gone."""
        found = defaultdict[str, set[str]](set)
        for person_id, name in {**self.removed, **{one.id: one.name for one in self.everybody.values()}}.items():
            found[" ".join(unicodedata.normalize("NFKC", name).casefold().split())].add(person_id)
        return dict(found)

    @cached_property
    def namesakes(self) -> Mapping[str, set[str]]:
        """Of those who share their name the ids of the others who are called so, or were and have gone."""
        return {one: ids - {one} for ids in self.bearers.values() if len(ids) > 1 for one in ids}

    def are_acquainted(self, one: str, other: str) -> bool:
        """Whether the two were on terms with each other before the story began: what one author's file says holds both
        ways.
        """
        known = (self.characters[id].knows for id in (one, other) if id in self.characters)
        return any(other in knows or one in knows for knows in known)

    def npc(self, npc_id: str) -> NpcProfile:
        """Raises: NotFound."""
        return _found(self.npcs, "npc", npc_id)

    def player(self, player_id: str) -> PlayerProfile:
        """Raises: NotFound."""
        return _found(self.players, "player", player_id)

    def character(self, character_id: str) -> CharacterProfile:
        """Raises: NotFound."""
        return _found(self.characters, "character", character_id)


def _found(people: Mapping[str, P], kind: PersonKind | Literal["person"], person_id: str) -> P:
    return existing(people.get(person_id), kind, person_id, among=people)


@dataclass(frozen=True, kw_only=True)
class Content:
    """Checked content. `start` is the world time at which a new world begins."""

    directory: Path
    default_language: Language
    start: WorldTime
    casts: Mapping[Language, Cast]
    checked: CheckedContent = field(default_factory=CheckedContent)
    """What the files say, in all languages."""

    def cast(self, language: Language) -> Cast:
        """The same object each time it is asked for the same language."""
        return self.casts[language]


class ContentRefused(ContentErrors, slug="content-errors"):
    """The content's errors, one a line in the language asked for; `problems` are the same as values."""

    def __init__(self, directory: Path, problems: list[ContentProblem]) -> None:
        self.problems = problems
        super().__init__(count=len(problems), directory=str(directory), errors=Problems(problems))


def read_form(
    model: type[F], path: Path, check: Callable[[F], Iterable[ContentProblem]], *, refused: type[ContentRefused]
) -> F:
    """One file in its form, checked.

    Raises:
        ContentRefused: of that class; it names everything that is wrong.
    """
    wrong = list[ContentProblem]()
    file: F | None = parse(model, path.parent, path.name, wrong)
    wrong += check(file) if file is not None else ()
    if file is None or wrong:
        raise refused(path.parent, wrong)
    return file


def load_content(directory: Path) -> Content:
    """Read and check the content files.

    Raises:
        ContentErrors: the files have errors; it names all of them.
    """
    checked = examine(directory)
    maps, actions = checked.maps, checked.actions
    if checked.problems or maps is None or actions is None:
        raise ContentRefused(directory, checked.problems)
    npcs = [with_fragments(npc, checked.fragments) for npc in checked.npcs.values()]
    characters = [with_fragments(person, checked.fragments) for person in checked.characters.values()]
    return Content(
        directory=directory,
        default_language=maps.language,
        start=maps.start_time,
        checked=checked,
        casts={
            language: Cast(
                world_name=maps.name.of(language),
                world_map=world_map(maps, language, {npc.id for npc in npcs if npc.may_leave}),
                catalogue=catalogue(actions, language),
                npcs={npc.id: NpcProfile(**npc.told(language)) for npc in npcs},
                characters={person.id: CharacterProfile(**person.told(language)) for person in characters},
                own_prompts=checked.own_prompts.get(language, ()),
                game_actions={one.id: one.in_language(language) for one in actions.game_actions if checked.own_actions},
                lore=tuple(entry for file in checked.lore.values() for entry in file.entries),
                groups=groups_of(checked.lore),
                fragments=checked.fragments,
                scenes={scene.scene_id: scene for scene in checked.scenes.values()},
            )
            for language in languages()
        },
    )
