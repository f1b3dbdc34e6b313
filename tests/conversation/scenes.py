"""Owns the words and steps the tests of scenes share: what people answer, a scene begun, and played."""

import asyncio
from typing import Any

from service.content.scenes import Scene, SceneParticipant
from service.conversation.dependencies import ConversationDependencies
from service.conversation.directing import AttitudeContext
from service.conversation.engine import Engine
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


def begin_scene(room: ConversationDependencies, *people: str | SceneParticipant, **more: Any) -> str:
    """A scene of these; the answer is its id."""
    cast = tuple(SceneParticipant(id=one) if isinstance(one, str) else one for one in people)
    usual: dict[str, Any] = {"location": "a room without windows", "max_turns": 12, "situation": ""}
    wanted = Scene(id="scene", participants=cast, **usual | more)
    names = room.models.names()
    return room.database.write_now(
        lambda s: begin(s, room.worlds.open(s, "main", lock=True), wanted, names)
    ).conversation_id


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
