"""Owns the tests of service/memory/secrets.py: what an author's secret keeps out of which prompts."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from service.content.load import Content
from service.content.profile import NpcProfile, Secret, TellFrom
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.memory.record import Episode, HeardTurn, Kind, Memory, Recalled
from service.memory.secrets import discretion, discretion_among
from service.people.worlds import WorldRepository
from service.store.tables import AttitudeChangeRow
from tests.conversation.scenes import acts, begin_scene, play, shown
from tests.conversation.talks import begin, pass_minutes, place, replies, says
from tests.memory.answers import closing, memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

LEDGER = "buried the Zanzibar ledger under the old kiln"
TOLD = "I buried the Zanzibar ledger under the old kiln, long ago."


def owner(**tell_from: Any) -> NpcProfile:
    """Somebody with a secret."""
    secret = Secret(fact=LEDGER, tell_from=TellFrom(**tell_from))
    return NpcProfile(id="npc_taro", name="Taro", personality="x", facts=("bakes",), secrets=(secret,))


@pytest.mark.parametrize(
    ("tell_from", "partner", "affinity", "is_open"),
    [
        ({"affinity": 40}, "aoi", 39, False),
        ({"affinity": 40}, "aoi", 40, True),
        ({"person": "mio"}, "aoi", 100, False),
        ({"person": "mio"}, "mio", -100, True),
        ({"person": "mio", "affinity": 40}, "aoi", 40, True),
        ({"affinity": -100}, None, 100, False),
    ],
)
def test_who_may_be_told_is_whom_the_author_names_or_whom_its_owner_likes(
    tell_from: dict[str, Any], partner: str | None, affinity: int, is_open: bool
) -> None:
    judged = discretion(owner(**tell_from), partner, affinity)
    assert (judged.open, judged.kept) == (((LEDGER,), ()) if is_open else ((), (LEDGER,)))


@pytest.mark.parametrize(
    ("text", "lets"),
    [
        (TOLD, False),
        ("Taro told Mio of a ledger from Zanzibar that is buried under a kiln.", False),
        ("Taro said: “BURIED  the Zanzibar ledger under the old kiln”", False),
        ("Taro bakes bread in the old kiln.", True),
        ("Mio likes plums.", True),
    ],
)
def test_what_holds_most_of_a_secrets_words_gives_it_away(text: str, lets: bool) -> None:
    assert discretion(owner(person="mio"), "aoi").lets(text) is lets


@pytest.mark.parametrize(
    ("secret", "given_away", "harmless"),
    [
        (
            "古い窯の下に翡翠の帳面を埋めた",
            "太郎は翡翠の帳面を古い窯の下に隠したという。",
            "太郎は毎朝、窯でパンを焼く。",
        ),
        (
            "hat das Hauptbuch unter dem alten Ofen vergraben",
            "Unter dem alten Ofen hat Taro ein Hauptbuch vergraben.",
            "Taro backt jeden Morgen Brot im Ofen.",
        ),
    ],
)
def test_it_is_so_in_whatever_language_the_secret_is(secret: str, given_away: str, harmless: str) -> None:
    kept = Secret(fact=secret, tell_from=TellFrom(person="mio"))
    judged = discretion(NpcProfile(id="npc_taro", name="Taro", personality="x", secrets=(kept,)), "aoi")
    assert (judged.lets(given_away), judged.lets(harmless)) == (False, True)


def _secretive(room: ConversationDependencies, content: Content, **tell_from: Any) -> ConversationDependencies:
    """The room where Taro has the secret."""
    cast = content.cast("en")
    secret = Secret(fact=LEDGER, tell_from=TellFrom(**tell_from))
    taro = cast.npcs["npc_taro"].model_copy(update={"secrets": (secret,)})
    casts = {**content.casts, "en": replace(cast, npcs={**cast.npcs, "npc_taro": taro})}
    return replace(room, worlds=WorldRepository(replace(content, casts=casts), room.settings.world))


def _talk(room: ConversationDependencies, script: ScriptedModel, character_id: str, answer: str) -> list[str]:
    """A talk with Taro, closed; the answer is what its prompts held, the closing's last."""
    before = len(script.history)
    place(room, character_id)
    script.enqueue(says("What is on your mind?"), replies(answer, leaves=True), says("I see. Goodbye.", leaves=True))
    key = main(begin(room, character_id=character_id))
    asyncio.run(Engine(room).converse(key))
    kept = [memory("Taro buried the Zanzibar ledger under the old kiln", 1, teller="b")]
    told = closing(
        "Taro buried the Zanzibar ledger under the old kiln.", first={"memories": kept}, second={"memories": kept}
    )
    script.enqueue(told)
    asyncio.run(close(room, key))
    pass_minutes(room, 30)
    prompts = script.history[before:]
    return ["\n".join(message.content for message in prompt.messages) for prompt in prompts]


def test_a_secret_enters_only_the_owners_prompt_and_only_where_the_partner_may_be_told(
    room: ConversationDependencies, script: ScriptedModel, village: Content
) -> None:
    kept = _secretive(room, village, person="mio")
    aois = _talk(kept, script, "aoi", "Nothing much, the bread is good today.")
    assert not any("Zanzibar" in text for text in aois)
    hello, taros, *_ = _talk(kept, script, "mio", "Nothing much, it rains.")
    assert "Zanzibar" not in hello
    assert f"Your secret, which you may tell Mio when it fits:\n- {LEDGER}" in taros


def test_affinity_opens_a_secret(room: ConversationDependencies, script: ScriptedModel, village: Content) -> None:
    kept = _secretive(room, village, affinity=40)
    assert not any("Zanzibar" in text for text in _talk(kept, script, "aoi", "Nothing much, it rains."))
    fond = AttitudeChangeRow(
        world_id="main", owner_id="npc_taro", other_id="aoi", id="fond", at=0, affinity_delta=40, met=False
    )
    kept.database.write_now(lambda s: s.add(fond))
    _, taros, *_ = _talk(kept, script, "aoi", "Come in, come in.")
    assert LEDGER in taros


def test_where_another_hears_it_who_was_told_is_reminded_of_nothing_that_gives_it_away(
    room: ConversationDependencies, script: ScriptedModel, village: Content
) -> None:
    kept = _secretive(room, village, person="mio")
    _talk(kept, script, "mio", TOLD)
    scene_id = begin_scene(kept, "mio", "npc_taro", "aoi")
    script.enqueue(acts("Good evening, both."), acts("Good evening."), acts("How warm it is."))
    play(kept, scene_id, 3)
    _, taros, aois = map(shown, script.history[-3:])
    assert "Also there: Aoi" in taros
    assert "Zanzibar" not in taros + aois


def test_what_was_told_to_one_is_kept_from_the_next(
    room: ConversationDependencies, script: ScriptedModel, village: Content
) -> None:
    kept = _secretive(room, village, person="mio")
    first = _talk(kept, script, "mio", TOLD)
    assert "Zanzibar" in first[-1], "what was said is remembered"
    aois = _talk(kept, script, "aoi", "Nothing much, the bread is good today.")
    assert not any("Zanzibar" in text for text in aois)
    again = _talk(kept, script, "mio", "As I said.")
    recalled = "As you recall your talk with Mio: Taro buried the Zanzibar ledger"
    assert f"You and Mio have talked once:\n- (1 hour ago) {recalled}" in again[1]
    assert "Zanzibar" in again[0], "and Mio remembers it"


@pytest.mark.parametrize("overheard", [True, False])
def test_who_only_overhears_a_talk_has_not_heard_the_secret_that_was_confided_in_it(
    room: ConversationDependencies, *, overheard: bool
) -> None:
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    told = replace(world.cast, npcs={**world.cast.npcs, "npc_taro": owner(person="mio")})
    heard = HeardTurn(
        conversation_id="c0",
        turn=0,
        speaker_id="npc_taro",
        speaker_name="Taro",
        text=TOLD,
        partner_id="mio",
        at=world.now,
        overheard=overheard,
    )
    nobodys = discretion(world.cast.actor("aoi"), "ren")
    kept = nobodys.known([Recalled(item=heard, score=1.0)], replace(world, cast=told))
    assert len(kept) == (not overheard)


def test_what_was_told_in_confidence_stands_before_who_told_it_and_before_nobody_whom_it_is_kept_from(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    at, talk = world.now, {"conversation_id": "c0", "partner_id": "mio"}
    told: dict[str, Any] = {"text": "Mio is afraid of fog.", "kept_from": ("*",), **talk}
    heard: dict[str, Any] = {"turn": 0, "speaker_id": "mio", "speaker_name": "Mio", "at": at}
    items = (
        Memory(id="m", kind=Kind.FACT, told_by="mio", valid_from=at, known_from=at, **told),
        HeardTurn(**heard, **told),
        Episode(topics=(), at=at, **told),
    )
    taro = world.cast.actor("npc_taro")

    def lets(*there: str, **changes: Any) -> list[bool]:
        keeps = discretion_among(taro, dict.fromkeys(there, 0)) if there else discretion(taro)
        return [bool(keeps.known([Recalled(item=replace(one, **changes), score=1.0)], world)) for one in items]

    assert lets("mio") == 3 * [True]
    assert lets("aoi") == lets("mio", "aoi") == lets() == 3 * [False]
    assert lets("aoi", kept_from=("ren",)) == 3 * [True]
    assert lets("mio", "ren", kept_from=("ren",)) == 3 * [False]
    assert lets(kept_from=("ren",)) == 3 * [False], "nobody knows who sees what is decided"
    confided = replace(items[1], kept_from=("npc_taro",), overheard=True)
    assert isinstance(confided, HeardTurn)
    beside = Recalled(item=replace(confided, turn=1, kept_from=()), score=1.0, beside=confided)
    heard_of_it = discretion(taro, "aoi").known([Recalled(item=confided, score=1.0), beside], world)
    assert heard_of_it == [replace(beside, beside=None)], "who confides lowers its voice, also where another stands by"


def test_a_confidence_comes_back_to_who_told_it_and_to_nobody_else(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    place(room, "mio")
    fog = "I am afraid of the Zanzibar fog. Keep it between us."
    script.enqueue(says(fog), replies("I will.", leaves=True), says("Bye.", leaves=True))
    key = main(begin(room, character_id="mio"))
    asyncio.run(Engine(room).converse(key))
    kept = memory("Mio is afraid of the Zanzibar fog.", 0, teller="a", between="all", importance=9)
    mid = {**kept, "text": "Mio dreads the Zanzibar fog these days.", "lasts": "high"}
    script.enqueue(closing("Mio told of the Zanzibar fog.", second={"memories": [kept, mid]}))
    asyncio.run(close(room, key))
    pass_minutes(room, 30)
    assert not any("Zanzibar" in one for one in _talk(room, script, "aoi", "It rains, and there is fog.")[:-1])
    assert sum("Zanzibar" in one for one in _talk(room, script, "mio", "It rains, and there is fog.")[:-1])
