"""Owns what each operation asks of a key: its scope, and how the operation names the player for whom a key is. One that
does not stand here keeps the service from starting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends
from starlette.requests import HTTPConnection

from service.errors import KeyRefused
from service.locales import Phrase
from service.store.keys import SCOPES, Key, Scope
from service.store.session import Database
from service.store.tables import MAIN_WORLD, ParticipantRow


@dataclass(frozen=True, slots=True)
class Access:
    """What is asked of a key.

    `player` says how the request names the player, of a key that is for one: in its path, its query, its body (the
    operation itself looks there), by a conversation in which it takes part; or that the operation tells nothing of
    anybody. None: the operation is not for such keys. `worlds`: the operation is of the world that is named, of none,
    or of several, and then not for a key that is for one.
    """

    scope: Scope
    player: Literal["path", "query", "body", "conversation", "of nobody"] | None = None
    worlds: Literal["one", "none", "several"] = "one"


ACCESS: Mapping[str, Access] = {
    **dict.fromkeys(("start_conversation", "join_conversation", "complete_chat"), Access(Scope.PLAY, "body")),
    **dict.fromkeys(
        (
            *("read_conversation", "end_conversation", "stream_conversation", "interrupt_conversation"),
            *(
                "leave_conversation",
                "say_in_conversation",
                "choose_in_conversation",
                "report_playback",
                "say_what_became_of_action",
            ),
            *("stream_client_events", "read_client_events", "send_client_events"),
        ),
        Access(Scope.PLAY, "conversation"),
    ),
    **dict.fromkeys(
        (
            *("stream_client_events_of_person", "read_client_events_of_person", "send_client_events_of_person"),
            *("read_person", "place_person_of_world", "read_commitments"),
        ),
        Access(Scope.PLAY, "path"),
    ),
    "list_conversations": Access(Scope.PLAY, "query"),
    **dict.fromkeys(
        ("read_world", "read_map", "read_people", "list_models", "read_model", "picture"),
        Access(Scope.PLAY, "of nobody"),
    ),
    **dict.fromkeys(("readyz", "docs_page", "static_file"), Access(Scope.PLAY, "of nobody", "none")),
    **dict.fromkeys(
        (
            *("take_over_speaker", "hand_back_speaker", "settle_commitment"),
            *("change_world", "set_clock", "stop_world", "tick", "read_events", "tell_observation"),
            *("read_flags", "put_flags", "put_person_of_world", "read_actions", "act", "write_as_person"),
            *("list_npcs", "list_characters", "read_npc", "read_character"),
        ),
        Access(Scope.PLAY),
    ),
    **dict.fromkeys(
        (
            *("close_conversation", "read_prompt", "why_said", "why_happened", "read_commands", "read_quality"),
            *("begin_scene", "list_scenes", "read_scene_of_world", "speak_turns", "intervene_in_scene", "end_scene"),
            *("rewind_scene", "list_proposals", "judge_proposal", "read_scene_log", "read_scene_report"),
            *("keep_world", "list_snapshots", "delete_snapshot", "restore_world", "read_usage"),
            *("change_character", "change_npc", "remove_person_of_world", "ask_many", "summarise_memory"),
            *("read_person_memory", "read_memory", "forget", "read_memory_graph", "give_past", "search_memory"),
            *("read_memory_audit", "list_memories", "read_memory_item", "change_memory_item", "delete_memory_item"),
            *("world_page", "content_errors", "conversation_page", "scene_page", "surveys_page", "person_page"),
            *("graph_page", "plain_page", "content_page", "part_page"),
        ),
        Access(Scope.AUTHOR),
    ),
    "mcp": Access(Scope.AUTHOR, worlds="none"),  # each tool asks an operation, with the same key
    **dict.fromkeys(
        (
            *("list_worlds", "compare_worlds", "branch_world", "read_budget"),
            *("read_content", "change_content", "import_content"),  # of all worlds
        ),
        Access(Scope.AUTHOR, worlds="several"),
    ),
    "delete_world": Access(Scope.ADMIN),
    **dict.fromkeys(("list_work", "change_work", "metrics"), Access(Scope.ADMIN, worlds="several")),
}
"""By the name of the route. What needs no key (`key.OPEN`) does not stand here."""


async def require(access: Access, key: Key, request: HTTPConnection) -> None:
    """Raises: KeyRefused: the key is not for this."""
    require_scope(key, access.scope)
    named = {*request.headers.getlist("x-world-id"), *request.query_params.getlist("world_id")} or {MAIN_WORLD}
    is_its_world = access.worlds == "none" or (access.worlds == "one" and named == {key.world_id})
    if key.world_id is not None and not is_its_world:
        raise KeyRefused(key=key.name, reason=Phrase("answers.key_refused.world", id=key.world_id))
    player_id, params = key.player_id, request.path_params
    if player_id is None or access.player in ("body", "of nobody"):
        return
    if access.player == "conversation":
        seats = [(world_id, params["conversation_id"], player_id) for world_id in named]
        database: Database = request.app.state.keys.database
        is_its_own = await database.read(lambda s: all(s.get(ParticipantRow, seat) for seat in seats))
    else:
        told = {"path": [params.get("person_id")], "query": request.query_params.getlist("person_id")}
        is_its_own = told.get(access.player or "") == [player_id]
    require_player(key, player_id if is_its_own else None)


def require_scope(key: Key, scope: Scope) -> None:
    """Raises: KeyRefused: the key has less than that scope."""
    if SCOPES.index(key.scope) < SCOPES.index(scope):
        raise KeyRefused(key=key.name, reason=Phrase("answers.key_refused.scope", has=key.scope, needs=scope))


def require_player(key: Key, player_id: str | None) -> None:
    """Raises: KeyRefused: the key is for another player than that."""
    if key.player_id not in (None, player_id):
        raise KeyRefused(key=key.name, reason=Phrase("answers.key_refused.player", id=key.player_id))


def _asking(request: HTTPConnection) -> Key:
    key: Key = request.scope["key"]
    return key


Asking = Annotated[Key, Depends(_asking)]
"""Whose key the request shows: of operations that look into what it asks for."""
