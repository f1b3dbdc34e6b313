"""Owns what a program that reads or writes game files needs of them: their forms, what is wrong with them in words, and
the people and places that are made of them.
"""

from service.content.check import CheckedContent, cross_checked, examine
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
    CHARACTERS,
    FRAGMENTS,
    LORE,
    MAPS_FILE,
    MOST_BYTES,
    NPCS,
    SCENES,
    ContentUnwritable,
    Unreadable,
    files_in,
    read_bytes,
    read_values,
    values_of,
)
from service.content.fragments import FragmentFile, with_fragments
from service.content.groups import AgentEntry, DrawEntry, GroupEntry, GroupsFile, check_groups, name_of
from service.content.load import Cast, Content, ContentRefused, read_form
from service.content.lore import Lore, LoreFile
from service.content.made import LONGEST_NAME
from service.content.maps import MapsFile
from service.content.persons import BigFiveEntry, CharacterFile, Degree, NpcFile, PersonFile, Weight
from service.content.profile import CharacterProfile, NpcProfile, PlayerProfile, Profile
from service.content.references import check_connectivity, check_maps, check_posts, declared_once, entries, unknown
from service.content.scenes import Scene, SceneParticipant, StagedScene, named
from service.memory.secrets import discretion
from service.own_prompts import load_game
from service.wiring import chosen_worlds
from world.actions import ActionDef, Catalogue, Where
from world.ids import SLUG_MAX, is_slug
from world.needs import Needs
from world.places import Facility, Node, WorldMap

__all__ = [
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
    "UNWRITTEN",
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
    "ListOf",
    "Lore",
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
    "Scene",
    "SceneParticipant",
    "Slug",
    "StagedScene",
    "Text",
    "Unreadable",
    "Weight",
    "Where",
    "Words",
    "WorldMap",
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
    "is_slug",
    "load_game",
    "name_of",
    "named",
    "problem",
    "quote",
    "read_bytes",
    "read_form",
    "read_values",
    "refusal",
    "schema_errors",
    "unknown",
    "values_of",
    "with_fragments",
]
