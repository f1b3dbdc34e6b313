"""The way of a memory, held once in a language for which nothing was written: from a closing to what is forgotten."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.locales import languages
from service.memory.closing.verify import Verdicts, VerifyContext
from tests.api.play import reply, say, settings_for, talk, turn
from tests.api.test_commitments import commitments, told
from tests.api.test_memories import hits, listed, search
from tests.memory.answers import memory, plain, promise
from tests.scripted_model import ScriptedModel

ROOMS = [Path(__file__).parents[2] / top for top in ("service", "studio")]
SHOP, LOFT = "Der blaue Krug steht im Laden.", "Der blaue Krug steht auf dem Dachboden."
SISTER, WITCH = "Hannas Schwester Lotte ist in die Hafenstadt gezogen.", "Lotte ist eine Hexe."
TIRED, LETTER = "Hanna ist heute müde.", "Hanna einen Brief für Lotte bringen"
FIRST, SECOND = (
    "Hanna erzählte Sora, dass Lotte in die Hafenstadt gezogen ist.",
    "Hanna sagte Sora, dass sie den blauen Krug umgestellt hat.",
)
MORE = "Sora fragte nach dem Krug."


IN_GERMAN = {
    "characters/sora.yaml": "Neugierig und freundlich; hilft gern in der Küche.",
    "npcs/baker.yaml": "Herzlich und laut; kennt alle Leute im Dorf.",
}
"""How their author describes the two: no other language is known of them."""


@pytest.fixture
def client(tmp_path: Path, millbrook: Path, script: ScriptedModel) -> Iterator[TestClient]:
    """A client of a service in English whose closings are held against their turns."""
    village = tmp_path / "village"
    shutil.copytree(millbrook, village)
    for file, personality in IN_GERMAN.items():
        person = yaml.safe_load((village / file).read_text("utf-8"))
        said = {"personality": personality, "tendencies": [], "facts": []}
        (village / file).write_text(yaml.safe_dump({**person, **said}, allow_unicode=True), encoding="utf-8")
    settings = settings_for(tmp_path, village, memory={"verify": True})
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as http:
        yield http


def finds(prompt: Prompt[Any]) -> Verdicts:
    """A model that contradicts that anybody is a witch, and supports all else."""
    assert isinstance(prompt.given, VerifyContext)
    found = {True: "contradicted", False: "supported"}
    verdicts = [{"n": one.number, "finding": found[one.text == WITCH]} for one in prompt.given.claims]
    return Verdicts.model_validate({"verdicts": verdicts})


def talk_in_german(client: TestClient, script: ScriptedModel) -> None:
    """The first talk: of a sister, of a jug, and of a letter that is promised for tomorrow at six in the evening."""
    say(script, "character", turn("Guten Morgen, Hanna. Wie geht es deiner Schwester?"))
    say(
        script,
        "npc",
        reply("Lotte ist in die Hafenstadt gezogen, die Hexe! Ich bin müde. Der Krug steht jetzt im Laden."),
    )
    say(script, "character", turn("Morgen Abend um sechs bringe ich dir einen Brief für sie.", ends=True))
    say(script, "npc", reply("Bye."))
    told_her = [
        memory(SISTER, 1, about="Lotte", teller="b", importance=7),
        memory(WITCH, 1, about="Lotte", teller="b"),
        memory(SHOP, 1, about="der blaue Krug", teller="b", slot="Ort"),
        memory(TIRED, 1, about="b", teller="b", lasts="low"),
    ]
    letter = promise(LETTER, 2, by="a", to="b", place="the bakery", day="2026-04-02", time="18:00")
    say(script, "closing", plain(FIRST, topics=("Schwester",), first={"memories": told_her}, promises=[letter]))
    script.enqueue(finds, role="verify")
    talk(client, goal="Nach der Schwester fragen", success_criteria="Hanna erzählt von Lotte")


def talk_again(client: TestClient, script: ScriptedModel) -> list[str]:
    """The second talk, in which the jug has been moved. Answers what the character's model was sent."""
    before = len(script.history)
    say(script, "character", turn("Steht der blaue Krug noch im Laden?"))
    say(script, "npc", reply("Nein, er steht jetzt auf dem Dachboden."))
    say(script, "character", turn("Danke, bis später.", ends=True))
    say(script, "npc", reply("Bye."))
    script.enqueue(moved, role="closing")
    script.enqueue(finds, role="verify")
    talk(client, goal="Nach dem blauen Krug im Laden fragen", success_criteria="Hanna sagt, wo er steht")
    return [str(one.messages) for one in script.history[before:] if one.role == "character"]


def moved(prompt: Prompt[Any]) -> Any:
    """The closing that says by its ref that the jug is not in the shop any more."""
    (ref,) = re.findall(rf"\[(am\d+)\][^\n]*{re.escape(SHOP[:-1])}", prompt.messages[-1].content)
    kept = memory(LOFT, 1, about="der blaue Krug", teller="b", slot="Ort", replaces=ref)
    return prompt.answer.model_validate(plain(SECOND, first={"memories": [kept], "paragraph": [SECOND, MORE]}))


def test_what_was_told_is_remembered_verified_and_found_again(client: TestClient, script: ScriptedModel) -> None:
    talk_in_german(client, script)
    kept = {one["text"]: one for one in listed(client, kinds=["fact", "mid_term"])}
    assert kept.keys() == {SISTER, SHOP, TIRED}, "what the turns contradict is not remembered"
    assert {(one["support"], one["told_by"]) for one in kept.values()} == {("verified", "baker")}
    assert hits(client, "Wo wohnt die Schwester Lotte?", kinds="fact")[0] == SISTER
    assert hits(client, "Wo steht der blaue Krug?", kinds="fact")[0] == SHOP
    mind = client.get("/people/sora/memory", params={"about": "baker"}).json()["mid_term"]
    assert any(TIRED in one["content"] for one in mind)


def test_it_is_told_in_the_next_talk_with_its_teller(client: TestClient, script: ScriptedModel) -> None:
    talk_in_german(client, script)
    first, *_ = talk_again(client, script)
    assert "What Hanna has told you" in first
    for text in (FIRST, SHOP[:-1], SISTER[:-1], LETTER, TIRED[:-1]):
        assert text in first, text
    assert WITCH[:-1] not in first


def test_what_is_so_no_longer_ends_and_is_history(client: TestClient, script: ScriptedModel) -> None:
    talk_in_german(client, script)
    client.post("/world/tick", json={"ticks": 60}).raise_for_status()
    talk_again(client, script)
    assert hits(client, "Wo steht der blaue Krug?", kinds="fact")[0] == LOFT
    assert SHOP not in hits(client, "Wo steht der blaue Krug?", kinds="fact")
    before = search(client, "Wo steht der blaue Krug?", kinds="fact", as_of="2026-04-01T07:30")["hits"]
    assert SHOP in [one["text"] for one in before]
    assert LOFT not in [one["text"] for one in before]


def test_a_promise_has_its_day_and_hour_and_comes_due(client: TestClient, script: ScriptedModel) -> None:
    talk_in_german(client, script)
    (made,) = commitments(client, "sora")
    assert (made["what"], made["due_at"], made["has_hour"]) == (LETTER, "2026-04-02T18:00", True)
    assert (made["node_id"], made["moves"]) == ("door", True)
    client.post("/world/tick", json={"ticks": 1440}).raise_for_status()
    client.post("/world/tick", json={"ticks": 720}).raise_for_status()
    (due,) = told(client, "commitment_due")
    (kept,) = told(client, "commitment_kept")
    assert (due["at"], kept["data"]["what"]) == ("2026-04-02T18:00", LETTER)


def test_the_service_knows_no_word_of_it() -> None:
    """Neither its code nor its prompts and sentences hold one of the words that no German text lacks."""
    words = re.compile(r"\b(und|nicht|ich|ist|der|das|wir|heute|morgen|gestern|german|deutsch)\b", re.IGNORECASE)
    assert "de" not in languages()
    files = [file for top in ROOMS for end in ("py", "j2", "yaml") for file in top.rglob(f"*.{end}")]
    assert files
    assert [str(file) for file in files if words.search(file.read_text("utf-8"))] == []
