"""Owns the tests of whose memory it is: of several people with one name each is known by its id."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.locales import Language
from tests.api.play import reply
from tests.memory.answers import closing, memory
from tests.scripted_model import ScriptedModel

NAME = {"en": "Sam", "ja": "サム"}
WANTED = {"en": "I am wanted for the stolen harbour bell.", "ja": "港の鐘を盗んで追われている。"}
FACT = {"en": "Sam is wanted for the stolen harbour bell.", "ja": "サムは港の鐘を盗んで追われている。"}
WORD = {"en": "harbour bell", "ja": "港の鐘"}
OWES = "Sam owes the miller forty coins."
ASKS = {"en": "What do you know of the stolen harbour bell?", "ja": "港の鐘を盗んだ話を知っていますか。"}


def make(client: TestClient, language: Language, *ids: str) -> None:
    """Players of one name."""
    for one in ids:
        made = client.put(f"/people/{one}", json={"kind": "player", "name": NAME[language]})
        assert made.status_code == 201, made.text


def talk(client: TestClient, script: ScriptedModel, who: str, said: str, closing: Any, partner: str = "baker") -> str:
    """The player says one thing to the baker, and the talk is closed; the answer is all that the baker was shown."""
    before = len(script.history)
    script.enqueue(reply("I see."), role="npc")
    script.enqueue(closing, role="closing")
    start = {"mode": "player", "player_id": who, "partner_id": partner}
    path = f"/conversations/{client.post('/conversations/start', json=start).json()['id']}"
    assert client.post(f"{path}/say?wait=true", json={"text": said}).status_code == 200
    assert client.post(f"{path}/end?wait=true").json()["phase"] == "closed"
    client.post("/world/tick", json={"ticks": 30})
    return "\n".join(m.content for prompt in script.history[before:] for m in prompt.messages if m.role != "assistant")


def told_of_wanted(language: Language) -> Any:
    """What the baker takes away from who tells that he is wanted."""
    wanted = {"en": "He is wanted for the stolen harbour bell.", "ja": "港の鐘を盗んで追われている。"}[language]
    kept = [memory(FACT[language], 0, about="a"), memory(wanted, 0, about="a", lasts="high")]
    return closing(wanted, second={"memories": kept})


def remembered(client: TestClient, who: str, about: str, **query: str) -> dict[str, Any]:
    """What that one remembers of the other."""
    found: dict[str, Any] = client.get(f"/people/{who}/memory", params={"about": about, **query}).json()
    return found


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_one_tells_in_confidence_reaches_no_prompt_before_another_of_the_same_name(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    make(client, language, "sam_one", "sam_two")
    talk(client, script, "sam_one", WANTED[language], told_of_wanted(language))
    script.enqueue({"text": "-"})
    letter = {"kind": "letter", "to": "sam_two", "about": ASKS[language]}
    assert client.post("/people/baker/write", json=letter).status_code == 200
    assert WORD[language] not in str(script.history[-1].messages).replace(ASKS[language], "")
    asked = talk(client, script, "sam_two", ASKS[language], closing())
    assert WORD[language] not in asked.replace(ASKS[language], "")
    again = talk(client, script, "sam_one", ASKS[language], closing())
    assert WORD[language] in again.replace(ASKS[language], ""), "who told it is known by it"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_memory_about_a_person_is_of_that_id_and_of_no_other_of_the_name(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    make(client, language, "sam_one", "sam_two")
    talk(client, script, "sam_one", WANTED[language], told_of_wanted(language))
    one, two = (remembered(client, "baker", about) for about in ("sam_one", "sam_two"))
    assert (one["found"], len(one["facts"])) == (True, 1)
    assert (two["found"], two["facts"], two["turns"], two["last_meeting"]) == (False, [], [], None)
    listed, found = "/people/baker/memories", "/people/baker/memory/search"
    assert client.get(listed, params={"about": "sam_one"}).json()["total"] > 1
    assert client.get(listed, params={"about": "sam_two"}).json()["total"] == 0
    asked = {"query": ASKS[language]}
    assert client.get(found, params={**asked, "about": "sam_one"}).json()["found"]
    assert client.get(found, params={**asked, "about": "sam_two"}).json()["hits"] == []


def test_a_given_statement_is_about_the_id_it_names_and_what_a_third_one_says_of_a_shared_name_about_nobody(
    client: TestClient, script: ScriptedModel
) -> None:
    make(client, "en", "sam_one", "sam_two")
    past = {"statements": [{"id": "s", "statement": FACT["en"], "about": "sam_one"}]}
    assert client.post("/people/baker/memory", json=past).status_code == 200
    client.put("/people/mia", json={"kind": "player", "name": "Mia"})
    talk(
        client,
        script,
        "mia",
        OWES,
        closing(OWES, second={"memories": [memory(OWES, 0, about="Sam")]}),
    )
    told = {one: [fact["text"] for fact in remembered(client, "baker", one)["facts"]] for one in ("sam_one", "sam_two")}
    assert told == {"sam_one": [FACT["en"]], "sam_two": []}
    assert "forty coins" not in talk(client, script, "sam_two", "Good day.", closing())
    assert "forty coins" in talk(client, script, "mia", "Good day.", closing())


def test_a_name_of_its_own_still_says_who_is_meant(client: TestClient, script: ScriptedModel) -> None:
    make(client, "en", "sam_one")
    client.put("/people/mia", json={"kind": "player", "name": "Mia"})
    talk(client, script, "mia", OWES, closing(second={"memories": [memory(OWES, 0, about="Sam")]}))
    make(client, "en", "sam_two")
    assert len(remembered(client, "baker", "sam_one")["facts"]) == 1, "only one was called so when it was said"
    assert remembered(client, "baker", "sam_two")["facts"] == []
