"""Owns the way from a content directory to a cast: names resolved to one language, one map of all maps, people by id."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service.cast.actions_file import ActionsFile
from service.cast.bundled import bundled_content
from service.cast.check import examine
from service.cast.files import CharacterFile, MapsFile, NpcFile, PersonFile, Text
from service.cast.problem import ContentProblem
from service.cast.profile import CharacterProfile, LifeGoal, NpcProfile, Profile, RoutineBlock
from service.errors import ContentErrors, NotFound
from world.actions import Catalogue, read_catalogue
from world.places import ALWAYS_OPEN, Edge, Facility, Node, WorldMap, index_nodes
from world.time import Language, WorldTime

__all__ = ["Cast", "Content", "ContentRefused", "bundled_content", "load_content"]


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everybody and every place of a world, in one language."""

    world_name: str
    world_map: WorldMap
    catalogue: Catalogue
    npcs: Mapping[str, NpcProfile]
    characters: Mapping[str, CharacterProfile]

    def person(self, person_id: str) -> NpcProfile | CharacterProfile:
        """Raises: NotFound."""
        found = self.npcs.get(person_id) or self.characters.get(person_id)
        if found is None:
            raise NotFound(kind="person", id=person_id)
        return found

    def npc(self, npc_id: str) -> NpcProfile:
        """Raises: NotFound."""
        try:
            return self.npcs[npc_id]
        except KeyError:
            raise NotFound(kind="npc", id=npc_id) from None

    def character(self, character_id: str) -> CharacterProfile:
        """Raises: NotFound."""
        try:
            return self.characters[character_id]
        except KeyError:
            raise NotFound(kind="character", id=character_id) from None


@dataclass(frozen=True, kw_only=True)
class Content:
    """Checked content. `start` is the world time at which a new world begins."""

    directory: Path
    default_language: Language
    start: WorldTime
    casts: Mapping[Language, Cast]

    def name(self, language: Language) -> str:
        """The world's name."""
        return self.casts[language].world_name

    def cast(self, language: Language) -> Cast:
        """The same object each time it is asked for the same language."""
        return self.casts[language]


class ContentRefused(ContentErrors):
    """The content's errors, one a line in the language asked for; `problems` are the same as values."""

    def __init__(self, directory: Path, problems: tuple[ContentProblem, ...]) -> None:
        self.problems = problems
        super().__init__(count=len(problems), directory=str(directory), errors=self._lines("en"))

    def sentence(self, language: Language) -> str:
        """All errors with file and key path."""
        return self.text[language].format(**{**self.facts, "errors": self._lines(language)})

    def _lines(self, language: Language) -> str:
        return "\n".join(problem.line(language) for problem in self.problems)


def load_content(directory: Path) -> Content:
    """Read and check the content files.

    Raises:
        ContentErrors: the files have errors; it names all of them.
    """
    checked = examine(directory)
    if checked.problems or checked.maps is None or checked.actions is None:
        raise ContentRefused(directory, checked.problems)
    maps, actions, npcs, characters = checked.maps, checked.actions, checked.npcs, checked.characters
    languages: tuple[Language, ...] = ("en", "ja")
    return Content(
        directory=directory,
        default_language=maps.language,
        start=maps.start_time,
        casts={language: _cast(maps, actions, npcs, characters, language) for language in languages},
    )


def _cast(
    maps: MapsFile,
    actions: ActionsFile,
    npcs: tuple[NpcFile, ...],
    characters: tuple[CharacterFile, ...],
    language: Language,
) -> Cast:
    return Cast(
        world_name=maps.name.of(language),
        world_map=_world_map(maps, language),
        catalogue=read_catalogue(actions.plain(), language),
        npcs={npc.id: _npc(npc, language) for npc in npcs},
        characters={character.id: _character(character, language) for character in characters},
    )


def _world_map(maps: MapsFile, language: Language) -> WorldMap:
    nodes = [
        Node(id=node.id, map_id=area.id, x=node.x, y=node.y, name=node.name.of(language))
        for area in maps.maps
        for node in area.nodes
    ]
    ways = [way for area in maps.maps for way in (*area.edges, *area.exits)]
    facilities = [
        Facility(
            id=place.id,
            map_id=area.id,
            name=place.name.of(language),
            node_ids=tuple(dict.fromkeys(place.nodes)),
            tags=frozenset(place.tags),
            hours=place.hours or ALWAYS_OPEN,
        )
        for area in maps.maps
        for place in area.facilities
    ]
    return WorldMap(
        nodes=index_nodes(nodes),
        edges=tuple(Edge(a=way.start, b=way.goal, minutes=way.minutes) for way in ways),
        facilities={facility.id: facility for facility in facilities},
        posts={post.npc_id: post.spawn_node_id for area in maps.maps for post in area.npcs},
        map_names={area.id: area.name.of(language) for area in maps.maps},
    )


def _texts(texts: tuple[Text, ...], language: Language) -> tuple[str, ...]:
    return tuple(text.of(language) for text in texts)


def _profile(person: PersonFile, language: Language) -> Profile:
    return Profile(
        id=person.id,
        name=person.name.of(language),
        personality=person.personality.of(language),
        tendencies=_texts(person.tendencies, language),
        custom_prompt=person.custom_prompt.of(language),
        facts=_texts(person.facts, language),
        lines=_texts(person.lines, language),
    )


def _npc(npc: NpcFile, language: Language) -> NpcProfile:
    return NpcProfile(**dict(_profile(npc, language)) | {"mood": npc.mood})


def _character(character: CharacterFile, language: Language) -> CharacterProfile:
    return CharacterProfile(
        **dict(_profile(character, language)),
        home=character.home,
        knows=character.knows,
        goals=tuple(LifeGoal(goal=wish.goal.of(language), importance=wish.importance) for wish in character.goals),
        routine=tuple(
            RoutineBlock(
                starts=block.starts,
                activity=block.activity.of(language),
                facility_id=block.facility,
                action_id=block.action,
            )
            for block in character.routine
        ),
        needs=character.needs,
        decision=character.decision,
    )
