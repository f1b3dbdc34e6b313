"""Measures what the turns of a rehearsed scene ask of a model: tokens of their prompts, and how much of each the
speaker's prompt before it began with already.
"""

import asyncio
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlmodel import Session

from benchmarks.turn import common_prefix
from service.content.files import bundled_content
from service.content.load import load_content
from service.content.scenes import Scene
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.scenes import begin, go_on
from service.llm.chat import Answer, Prompt, T, TextListener, prompt_tokens
from service.locales import Language
from service.offline.model import OfflineModel
from service.store.tables import ConversationKey
from tests.runtime.lives import house

SCENES = 3
TURNS = 16
PEOPLE = ("aoi", "sota", "npc_taro", "npc_harue")
SITUATION: dict[Language, tuple[str, str]] = {
    "en": ("After the evening meal", "They sit at the footbath in the square. Steam rises, and nobody else is about."),
    "ja": ("夕食のあと", "広場の足湯に足をつけている。湯気が立ち、ほかに人影はない。"),
}


@dataclass
class Asked:
    """The rehearsal, and what it was asked to say, by speaker, in order."""

    name = "rehearsal"
    prompts: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    tokens: list[int] = field(default_factory=list)
    model: OfflineModel = field(default_factory=OfflineModel)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """What the rehearsal answers."""
        if prompt.name == "speaker":
            given: Any = prompt.given
            text = "".join(f"{one.role}\n{one.content}\n" for one in prompt.messages)
            self.prompts[prompt.thread, given.speaker.id].append(text)
            self.tokens.append(prompt_tokens(prompt.messages))
        return await self.model.complete(prompt, on_text)

    async def aclose(self) -> None:
        """Nothing to release."""


def run(language: Language, scenes: int = SCENES, **policies: str) -> dict[str, float]:
    """Figures of scenes of four: tokens of a turn's prompt, and the share that the prompt before it began with."""
    asked = asyncio.run(_play(language, scenes, policies))
    return {
        "tokens": statistics.mean(asked.tokens),
        "most_tokens": max(asked.tokens),
        "prefix_share": prefix_share(asked.prompts.values()),
    }


def prefix_share(threads: Iterable[list[str]]) -> float:
    """Of the characters of all prompts but the first, those with which the one before began."""
    pairs = [pair for prompts in threads for pair in pairwise(prompts)]
    return sum(common_prefix(*pair) for pair in pairs) / sum(len(later) for _, later in pairs)


async def _play(language: Language, scenes: int, policies: dict[str, str]) -> Asked:
    content, asked = load_content(bundled_content()), Asked()
    time, situation = SITUATION[language]
    with tempfile.TemporaryDirectory() as directory:
        async with house(content, Path(directory), asked, language=language, daily_snapshots=0) as home:
            for number in range(scenes):
                scene = Scene.model_validate(
                    {
                        "scene_id": f"S{number}",
                        "location": "yu_square",
                        "time": time,
                        "situation": situation,
                        "participants": list(PEOPLE),
                        "max_turns": TURNS,
                        **policies,
                    }
                )
                await _hold(home.room, scene)
    return asked


async def _hold(room: ConversationDependencies, scene: Scene) -> None:
    """It is played to its end, and remembered."""

    def work(session: Session) -> ConversationKey:
        world = room.worlds.open(session, "main", lock=True)
        key = ConversationKey("main", begin(session, world, scene, room.models.names()).conversation_id)
        go_on(session, room.worlds, key)
        return key

    key, engine = await room.database.write(work), Engine(room)
    await engine.converse(key)
    await engine.close(key)
