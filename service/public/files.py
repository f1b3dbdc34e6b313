"""Owns what a program that reads or writes game files needs of them: their forms, what is wrong with them in words, and
the people and places that are made of them.
"""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.content.check import CheckedContent, cross_checked, examine, newly_wrong
    from service.content.fields import (
        MARKUP,
        UNWRITTEN,
        ContentModel,
        ContentProblem,
        FlagEntry,
        Key,
        ListOf,
        Moment,
        NonEmpty,
        Problems,
        Slug,
        Text,
        Words,
        clipped,
        problem,
        quote,
        refusal,
        schema_errors,
    )
    from service.content.files import (
        CAST_TESTS,
        CHARACTERS,
        FRAGMENTS,
        LORE,
        MAPS_FILE,
        MOST_BYTES,
        NPCS,
        SCENES,
        ContentUnwritable,
        Unreadable,
        bundled_content,
        files_in,
        init_content,
        read_bytes,
        read_values,
        small_content,
        values_of,
        write_all,
    )
    from service.content.fragments import FragmentFile, with_fragments
    from service.content.groups import AgentEntry, DrawEntry, GroupEntry, GroupsFile, check_groups, name_of
    from service.content.load import Cast, Content, ContentRefused, load_content, read_form
    from service.content.lore import KnownByEntry, LoreEntry, LoreFile
    from service.content.made import LONGEST_NAME
    from service.content.maps import MapsFile
    from service.content.persons import BigFiveEntry, CharacterFile, Degree, NpcFile, PersonFile
    from service.content.profile import CharacterProfile, NpcProfile, PlayerProfile, Profile, Weight
    from service.content.references import check_connectivity, check_maps, check_posts, declared_once, entries, unknown
    from service.content.rewriting import as_yaml
    from service.content.scenes import Scene, SceneParticipant, StagedScene, named
    from service.memory.secrets import discretion
    from service.own_prompts import game_problems, load_game, persona_costs
    from service.wiring import Wiring, chosen_worlds, thrown_away
    from world.actions import TALK, WALK, ActionDef, Catalogue, Refusal, Where
    from world.ids import SLUG_MAX, is_slug
    from world.needs import Needs
    from world.places import Facility, Node, WorldMap
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "CAST_TESTS",
    "CHARACTERS",
    "FRAGMENTS",
    "LONGEST_NAME",
    "LORE",
    "MAPS_FILE",
    "MARKUP",
    "MOST_BYTES",
    "NPCS",
    "SCENES",
    "SLUG_MAX",
    "TALK",
    "UNWRITTEN",
    "WALK",
    "ActionDef",
    "AgentEntry",
    "BigFiveEntry",
    "Cast",
    "Catalogue",
    "CharacterFile",
    "CharacterProfile",
    "CheckedContent",
    "Content",
    "ContentModel",
    "ContentProblem",
    "ContentRefused",
    "ContentUnwritable",
    "Degree",
    "DrawEntry",
    "Facility",
    "FlagEntry",
    "FragmentFile",
    "GroupEntry",
    "GroupsFile",
    "Key",
    "KnownByEntry",
    "ListOf",
    "LoreEntry",
    "LoreFile",
    "MapsFile",
    "Moment",
    "Needs",
    "Node",
    "NonEmpty",
    "NpcFile",
    "NpcProfile",
    "PersonFile",
    "PlayerProfile",
    "Problems",
    "Profile",
    "Refusal",
    "Scene",
    "SceneParticipant",
    "Slug",
    "StagedScene",
    "Text",
    "Unreadable",
    "Weight",
    "Where",
    "Wiring",
    "Words",
    "WorldMap",
    "as_yaml",
    "bundled_content",
    "check_connectivity",
    "check_groups",
    "check_maps",
    "check_posts",
    "chosen_worlds",
    "clipped",
    "cross_checked",
    "declared_once",
    "discretion",
    "entries",
    "examine",
    "files_in",
    "game_problems",
    "init_content",
    "is_slug",
    "load_content",
    "load_game",
    "name_of",
    "named",
    "newly_wrong",
    "persona_costs",
    "problem",
    "quote",
    "read_bytes",
    "read_form",
    "read_values",
    "refusal",
    "schema_errors",
    "small_content",
    "thrown_away",
    "unknown",
    "values_of",
    "with_fragments",
    "write_all",
]
