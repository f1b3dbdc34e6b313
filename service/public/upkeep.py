"""Owns what a program does with a store that no service runs on, and what it asks of the models that are configured."""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.checkup import check_up
    from service.export.backup import back_up, restore_backup
    from service.export.files import export_into, export_to, import_from, span_of, store_place, world_name
    from service.memory.closing.doctor import ClosedTalk, JudgedClaim
    from service.memory.closing.doctor import examine as examine_models
    from service.people.person import is_of_another_game
    from service.store.keys import Key, Scope, add_key, list_keys, revoke_key, with_keys
    from service.upkeep import adopt, export_memory, import_memory, prune_memory, purge, reembed
    from world.ids import MAIN_WORLD
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "MAIN_WORLD",
    "ClosedTalk",
    "JudgedClaim",
    "Key",
    "Scope",
    "add_key",
    "adopt",
    "back_up",
    "check_up",
    "examine_models",
    "export_into",
    "export_memory",
    "export_to",
    "import_from",
    "import_memory",
    "is_of_another_game",
    "list_keys",
    "prune_memory",
    "purge",
    "reembed",
    "restore_backup",
    "revoke_key",
    "span_of",
    "store_place",
    "with_keys",
    "world_name",
]
