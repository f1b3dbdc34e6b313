"""Owns the tests of lore in talks: who knows it has it in mind, or is reminded of it, and nobody else ever is."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.fields import Text
from service.content.load import Content
from service.content.lore import KnownByEntry, LoreEntry
from service.conversation.context_selection import LORE_TOKENS
from service.llm.chat import estimate_tokens
from service.llm.choose import ROLES, Models
from service.locales import Language, languages
from tests.api.play import LINES, recollection, reply, settings_for, write_village
from tests.api.test_game import remembers, seen
from tests.api.test_player import begin, say
from tests.runtime.lives import house
from tests.runtime.parrot import MUTE, Parrot
from tests.scripted_model import ScriptedModel

MILL = {"en": "The mill wheel was carved from a ship's mast.", "ja": "水車の輪は帆柱から彫られた。"}
WELL = {"en": "The well on the square is dry since the quake.", "ja": "広場の井戸は地震から涸れている。"}
ASKS = {"en": "Tell me about the old mill wheel, please?", "ja": "あの古い水車の輪のことを教えてください。"}


def _entry(name: str, text: dict[str, str], **more: object) -> dict[str, object]:
    return {"id": name, "text": text, "knownBy": {"groups": ["millers"]}, **more}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_who_is_of_the_group_knows_it_while_the_flag_holds_and_others_do_not(
    tmp_path: Path, script: ScriptedModel, language: Language
) -> None:
    long = _entry("long", {"en": "Far too long. " * 40}, tell="always")
    well = _entry("well", WELL, tell="always", when={"quake": True})
    content = write_village(tmp_path / "content")
    (content / "lore").mkdir()
    lore = {"groups": {"millers": ["baker", "rin"]}, "entries": [well, _entry("mill", MILL), long]}
    (content / "lore" / "all.yaml").write_text(yaml.safe_dump(lore, allow_unicode=True), encoding="utf-8")
    settings = settings_for(tmp_path, content, language=language)
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:

        def asked(partner_id: str) -> tuple[str, list[tuple[str, str]]]:
            """What its prompt held, and the lore that is told to have stood in it, when it is asked about the mill."""
            script.enqueue(reply(LINES[language][1]), role="npc")
            script.enqueue(recollection("They talked."), role="closing")
            talk = begin(client, partner_id)
            say(client, talk, ASKS[language])
            why = client.get(f"/conversations/{talk}/turns/1/why", params={"lang": language}).json()
            client.post(f"/conversations/{talk}/end").raise_for_status()
            told = [(one["id"], one["text"]) for one in why["memories"] + why["reminded"] if one["kind"] == "lore"]
            assert all(any(text in words for words in why["words"]) for _, text in told)
            spoken = [prompt for prompt in script.history if prompt.role == "npc"]
            return "\n".join(message.content for message in spoken[-1].messages), told

        prompt, told = asked("baker")
        assert (WELL[language] in prompt, MILL[language] in prompt) == (False, True)
        assert told == [("mill", MILL[language])]
        client.put("/world/flags", json={"flags": {"quake": True}})
        prompt, told = asked("baker")
        assert all(one[language] in prompt for one in (WELL, MILL))
        assert {*told} == {("well", WELL[language]), ("mill", MILL[language])}
        assert "Far too long" not in prompt
        assert estimate_tokens(WELL[language]) <= LORE_TOKENS
        prompt, told = asked("hermit")
        assert (WELL[language] in prompt, MILL[language] in prompt, told) == (False, False, [])
        assert seen(client, seen_by=["millers", "umi"]) == ["baker", "rin", "umi"]
        assert len(remembers(client, "rin")) == 1


@pytest.mark.parametrize("language", languages())
def test_a_parrot_hears_no_lore_of_others(village: Content, tmp_path: Path, language: Language) -> None:
    """Those who know it never speak of it, so that whoever else has it in a prompt was given it."""
    marks = {"always": "zanzibar", "recalled": "quetzal", "later": "cordelia"}
    lore = tuple(
        LoreEntry(
            id=name,
            text=Text(f"Shione {mark} Taro Hamako Aoi Nagi 太郎 浜子 葵"),
            knownBy=KnownByEntry(people=tuple(MUTE)) if name != "later" else None,
            when={"later": True} if name == "later" else {},
            tell="recalled" if name == "recalled" else "always",
        )
        for name, mark in marks.items()
    )
    casts = {one: replace(cast, lore=lore) for one, cast in village.casts.items()}

    async def work() -> list[tuple[str, str]]:
        parrot = Parrot()
        content = replace(village, casts=casts)
        async with house(content, tmp_path, parrot, language=language, decision="model", table=2) as home:
            await home.live(20)
        return [(one.by, mark) for one in parrot.asked for mark in marks.values() if mark in one.text.casefold()]

    found = asyncio.run(work())
    assert {person_id for person_id, _ in found} <= set(MUTE)
    assert marks["always"] in (said := {mark for _, mark in found})
    assert marks["later"] not in said
