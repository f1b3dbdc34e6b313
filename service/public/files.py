"""Owns what a program that reads or writes game files needs of them: their forms, what is wrong with them in words, and
the people and places that are made of them.
"""

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
    Slug,
    Text,
    Words,
    clipped,
    problem,
    quote,
    refusal,
)
from service.content.files import CHARACTERS, MAPS_FILE, NPCS, Unreadable, files_in, read_values
from service.content.groups import AgentEntry, DrawEntry, GroupEntry, GroupsFile, check_groups, name_of
from service.content.load import Cast, Content, ContentRefused, read_form
from service.content.persons import BigFiveEntry, Degree, PersonFile
from service.content.profile import CharacterProfile, NpcProfile, PlayerProfile, Profile
from service.content.references import declared_once, unknown
from service.content.scenes import SceneParticipant, StagedScene
from service.memory.secrets import discretion
from service.own_prompts import load_game
from service.wiring import chosen_worlds
from world.actions import ActionDef, Catalogue, Where
from world.ids import SLUG_MAX
from world.needs import Needs
from world.places import Facility, Node, WorldMap

__all__ = [
    "CHARACTERS",
    "MAPS_FILE",
    "MARKUP",
    "NPCS",
    "SLUG_MAX",
    "UNWRITTEN",
    "ActionDef",
    "AgentEntry",
    "BigFiveEntry",
    "Cast",
    "Catalogue",
    "CharacterProfile",
    "Content",
    "ContentModel",
    "ContentProblem",
    "ContentRefused",
    "Degree",
    "DrawEntry",
    "Facility",
    "FlagEntry",
    "GroupEntry",
    "GroupsFile",
    "Key",
    "ListOf",
    "Moment",
    "Needs",
    "Node",
    "NonEmpty",
    "NpcProfile",
    "PersonFile",
    "PlayerProfile",
    "Profile",
    "SceneParticipant",
    "Slug",
    "StagedScene",
    "Text",
    "Unreadable",
    "Where",
    "Words",
    "WorldMap",
    "check_groups",
    "chosen_worlds",
    "clipped",
    "declared_once",
    "discretion",
    "files_in",
    "load_game",
    "name_of",
    "problem",
    "quote",
    "read_form",
    "read_values",
    "refusal",
    "unknown",
]
