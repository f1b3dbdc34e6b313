"""What an author wrote of a person comes into its prompts: who it is always, the rest when the moment asks for it."""

from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.profile import NpcProfile, PersonaLine
from service.conversation.context_selection import PERSONA_TOKENS, persona_told
from service.conversation.dependencies import ConversationDependencies
from service.llm.chat import estimate_tokens
from service.llm.choose import ROLES, Models
from service.locales import Language
from tests.api.play import LINES, recollection, reply, settings_for, until, write_village
from tests.api.test_player import begin, say
from tests.scripted_model import ScriptedModel

BAKER = {
    "age": 41,
    "occupation": {
        "title": {"en": "baker", "ja": "パン職人"},
        "organization": {"en": "the mill bakery", "ja": "水車パン店"},
        "description": {"en": "Carries flour sacks up the ladder.", "ja": "粉袋を梯子で担ぎ上げる。"},
    },
    "residence": {"en": "the loft", "ja": "窯の上の屋根裏"},
    "bigFive": {"extraversion": "high", "openness": "medium"},
    "skills": [{"en": "mending mill wheels", "ja": "水車の輪の修理"}],
    "preferences": {"dislikes": [{"en": "carnival masks", "ja": "祭りの仮面"}]},
    "relationships": [{"person": "sora", "description": {"en": "her apprentice", "ja": "弟子"}}],
    "experiences": [{"event": {"en": "Lost a brother in the flood.", "ja": "洪水で兄を亡くした。"}, "importance": 9}],
    "goals": [
        {"goal": {"en": "Open a second shop.", "ja": "二軒目を開く。"}, "importance": 8},
        {"goal": {"en": "Taste a pineapple.", "ja": "パイナップルを食べる。"}, "importance": 2},
    ],
}
WHO = {
    "en": "- is 41 years old; occupation: baker (the mill bakery); lives in the loft; high extraversion\n",
    "ja": "- 41歳である、職業はパン職人(水車パン店)、窯の上の屋根裏に住んでいる、外向性が高い\n",
}
ASKS = {"en": "Can the old mill wheels be mended?", "ja": "古い水車の輪は修理できますか?"}
SKILL = {"en": "You are good at: mending mill wheels", "ja": "得意なこと: 水車の輪の修理"}
MORE = {
    "en": ("carnival", "flour sacks", "pineapple", "flood"),
    "ja": ("仮面", "粉袋", "パイナップル", "洪水"),
}
WISH = {"en": "What you want of life: Open a second shop.", "ja": "人生の望み: 二軒目を開く。"}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_who_a_person_is_stands_in_its_prompt_and_of_the_rest_what_the_talk_turns_to(
    tmp_path: Path, script: ScriptedModel, language: Language
) -> None:
    content = write_village(tmp_path / "content")
    file = content / "npcs" / "baker.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text("utf-8")), **BAKER}), encoding="utf-8")
    settings = settings_for(tmp_path, content, language=language)
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        script.enqueue(reply(LINES[language][1]), role="npc")
        script.enqueue(recollection("They talked."), role="closing")
        talk = begin(client)
        say(client, talk, ASKS[language])
        client.post(f"/conversations/{talk}/end").raise_for_status()
        until(client, talk, "closed")
        mika = client.put("/people/mika", json={"kind": "player", "name": "Mika", "age": 41}).json()
        baker = client.get("/npcs/baker").json()
        asked, closing = ("\n".join(one.content for one in prompt.messages) for prompt in script.history)
    system, _, said = asked.partition("\n<context>\n")
    assert WHO[language] in system
    assert WISH[language] in system
    assert SKILL[language] in asked
    assert all(word in said for word in MORE[language]), "the whole persona is told where it fits"
    told = WHO[language].strip("- \n").split("; " if language == "en" else "、")
    assert all(one in closing for one in told)
    assert (mika["identity"], baker["identity"]) == (told[:1], told)
    assert SKILL[language] in [line["told"] for line in baker["persona"]]
    assert [goal["importance"] for goal in baker["goals"]] == ["high", "low"]


def test_what_another_is_to_a_person_is_told_in_its_presence_and_what_matters_comes_to_mind_sooner(
    room: ConversationDependencies,
) -> None:
    world = room.database.read_now(lambda session: room.worlds.open(session, "main"))
    lines = (
        PersonaLine(text="his brother's friend", told="…", person="npc_hamako"),
        PersonaLine(text="likes eels", told="eels"),
        PersonaLine(text="was lost in the fog on an eel boat", told="fog", weight=9),
        PersonaLine(text="once saw an eel", told="saw", weight=1),
        PersonaLine(text="reads", told="reads"),
    )
    taro = NpcProfile(id="npc_taro", name="Taro", personality="", persona=lines)
    assert persona_told(world, taro, "eels", ["npc_hamako"])[1:] == ("fog", "eels", "reads", "saw")
    assert persona_told(world, taro, "eels", ["npc_hamako"])[0].endswith("his brother's friend")
    assert persona_told(world, taro, "eels", ["aoi"]) == ("fog", "eels", "reads", "saw")
    assert persona_told(world, taro, "", ["aoi"]) == ("fog", "eels", "reads", "saw")
    asked = "Does Hamako like eels?"
    assert persona_told(world, taro, asked, ["aoi"])[0].endswith("his brother's friend"), (
        "who is spoken of is told of too"
    )
    much = taro.model_copy(update={"persona": tuple(PersonaLine(text="eels", told=f"eels {i}") for i in range(99))})
    assert sum(map(estimate_tokens, persona_told(world, much, "eels", ["aoi"]))) <= PERSONA_TOKENS
