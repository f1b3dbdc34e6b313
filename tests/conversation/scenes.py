"""Owns the words and steps the tests of scenes share: what people answer, a scene begun, and played."""

import asyncio
from typing import Any

from pydantic.alias_generators import to_camel

from service.content.scenes import Scene, SceneEffect, StagedScene
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.moderator import AttitudeContext
from service.conversation.prompt import PromptContext
from service.conversation.scenes import begin, go_on
from service.llm.chat import Prompt
from service.store.tables import ConversationRow
from tests.conversation.talks import talk
from tests.store.conversations import main

CAST = ("aoi", "npc_taro", "mio", "npc_hamako")
FOLK = (*CAST, "npc_eisaku", "npc_genzo")


def acts(talk: str = "", *, think: str = "", act: str = "", leaves: bool = False, **more: Any) -> dict[str, Any]:
    """What somebody answers in a scene."""
    plain = {"think": think, "act": act, "talk": talk, "emotion": "neutral", "wants_to_end": leaves}
    return {**plain, "shifts": [], **more}


def a_scene(*people: str | dict[str, str], **more: Any) -> Scene:
    """A scene of these, as its file says it."""
    usual: dict[str, Any] = {"scene_id": "scene", "location": "a room without windows"}
    return StagedScene.model_validate({**usual, "participants": people, **more})


def effect(kind: str, person_id: str | None = None, text: str = "", **more: str) -> SceneEffect:
    """What happens to a scene, as its file says it."""
    said: dict[str, Any] = {
        "add_person": {"person": person_id, **more},
        "revelation": {"person": person_id, "content": text},
        "end_scene": True,
    }
    return SceneEffect.model_validate({to_camel(kind): said.get(kind, person_id or text)})


def begin_scene(room: ConversationDependencies, *people: str | dict[str, str], **more: Any) -> str:
    """A scene of these; the answer is its id."""
    wanted = a_scene(*people, **{"max_turns": 12} | more)
    names = room.models.names()
    return room.database.write_now(lambda s: begin(s, room.worlds.open(s, "main", lock=True), wanted, names)).id


def play(room: ConversationDependencies, scene_id: str, turns: int | None = None) -> ConversationRow:
    """Let it go on for so many turns."""
    room.database.write_now(lambda s: go_on(s, room.worlds, main(scene_id), turns))
    asyncio.run(Engine(room).converse(main(scene_id)))
    return talk(room, scene_id)


def speaker_of(prompt: Prompt[Any]) -> str:
    """Who was asked."""
    assert isinstance(prompt.given, PromptContext | AttitudeContext)
    return prompt.given.speaker.id


def shown(prompt: Prompt[Any]) -> str:
    """All that a speaker was shown."""
    return "\n".join(message.content for message in prompt.messages)
