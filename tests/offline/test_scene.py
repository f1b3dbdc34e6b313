"""Owns the tests of a rehearsed scene: whole, in both languages, with nothing said, thought or done twice."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from sqlmodel import Session

from service.content.load import Content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.scenes import begin as begin_scene
from service.conversation.scenes import go_on
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.offline.model import OfflineModel
from service.offline.phrases import keys
from service.people.worlds import WorldRepository
from service.store.phase import Modulator, TurnPolicy
from service.store.tables import TurnRow
from tests.conversation.scenes import a_scene
from tests.conversation.talks import turns
from tests.store.conversations import main

CAST = ("aoi", "npc_taro", "mio", "npc_hamako")


def rehearse(
    room: ConversationDependencies, village: Content, language: Language, policy: TurnPolicy, modulator: Modulator
) -> list[TurnRow]:
    """The turns of a rehearsed scene of four."""
    worlds = WorldRepository(village, room.settings.world.model_copy(update={"language": language}))
    deps = replace(room, models=Models(dict.fromkeys(ROLES, OfflineModel(seed=14))), worlds=worlds)
    goal = {"en": "to hear who took the bell rope", "ja": "鐘の綱を持ち去ったのは誰かを聞き出すこと"}[language]
    cast = ({"id": one, "goal": goal} if one == "mio" else one for one in CAST)
    wanted = a_scene(*cast, location="the cellar", max_turns=16, turn_policy=policy.value, modulator=modulator.value)

    def begin(session: Session) -> str:
        scene = begin_scene(session, worlds.open(session, "main", lock=True), wanted, deps.models.names())
        return go_on(session, worlds, main(scene.conversation_id)).id

    scene_id = deps.database.write_now(begin)
    asyncio.run(Engine(deps).converse(main(scene_id)))
    return turns(room, scene_id)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_rehearsed_scene_has_thoughts_acts_and_words_none_of_them_twice(
    room: ConversationDependencies, village: Content, language: Language
) -> None:
    said = rehearse(room, village, language, TurnPolicy.ADDRESSED, Modulator.PLACE)
    assert len(said) >= 10
    assert {turn.speaker_id for turn in said} == set(CAST)
    words = Counter(key for turn in said for key in keys([turn.text]))
    thoughts, acts = (
        Counter((turn.speaker_id, key) for turn in said for key in keys([getattr(turn, part)]))
        for part in ("think", "act")
    )
    assert [max(told.values()) for told in (words, thoughts, acts)] == [1, 1, 1]
    assert min(len(thoughts), len(acts)) >= len(said) * 3 // 4
    assert any(turn.addressed for turn in said)
