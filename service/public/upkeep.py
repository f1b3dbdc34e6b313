"""Owns what a program does with a store that no service runs on, and what it asks of the models that are configured."""

from service.export.files import export_into, export_to, import_from, span_of, world_name
from service.memory.closing.doctor import ClosedTalk, JudgedClaim
from service.memory.closing.doctor import examine as examine_models
from service.store.keys import Key, Scope, add_key, list_keys, revoke_key
from service.store.tables import MAIN_WORLD
from service.upkeep import adopt, export_memory, import_memory, prune_memory, purge, reembed, with_keys

__all__ = [
    "MAIN_WORLD",
    "ClosedTalk",
    "JudgedClaim",
    "Key",
    "Scope",
    "add_key",
    "adopt",
    "examine_models",
    "export_into",
    "export_memory",
    "export_to",
    "import_from",
    "import_memory",
    "list_keys",
    "prune_memory",
    "purge",
    "reembed",
    "revoke_key",
    "span_of",
    "with_keys",
    "world_name",
]
