"""Owns the tests of what a character remembers, as a client reads it, and of what sleep and time take away."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.locales import Language
from tests.api.play import (
    EARLY,
    MISSED,
    RYE_TOLD,
    SISTER,
    SISTER_TOLD,
    problem,
    recollection,
    reply,
    say,
    script_short,
    script_sister,
    talk,
    turn,
)
from tests.memory.answers import memory, plain
from tests.scripted_model import ScriptedModel


def memory_of(client: TestClient, who: str = "sora", **query: Any) -> dict[str, Any]:
    """What the character remembers about the baker."""
    answer = client.get(f"/characters/{who}/memory", params={"npc_id": "baker", **query})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def pass_minutes(client: TestClient, minutes: int) -> dict[str, Any]:
    """Move the clock."""
    ticked: dict[str, Any] = client.post("/world/tick", json={"ticks": minutes}).json()
    return ticked


def test_who_has_not_met_remembers_nothing(client: TestClient) -> None:
    assert memory_of(client) == {
        "person_id": "sora",
        "about": "baker",
        "character_id": "sora",
        "npc_id": "baker",
        "now": "2026-04-01T07:00",
        "found": False,
        "relation": {
            "affinity": 0,
            "conversation_count": 0,
            "last_met_at": None,
            "stance": "",
            "power": None,
            "intimacy": None,
            "task_oriented": None,
        },
        "last_meeting": None,
        "facts": [],
        "turns": [],
        "insights": [],
        "mid_term": [],
        "today": [],
        "long_term_available": True,
        "group_id": "main--sora",
        "next": None,
    }


def test_after_a_talk_everything_promised_is_there(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    held = talk(client)
    pass_minutes(client, 90)
    told = memory_of(client)
    assert told["now"] == "2026-04-01T08:30"
    assert told["relation"] == {
        "affinity": 8,
        "conversation_count": 1,
        "last_met_at": "2026-04-01T07:00",
        "stance": "With Hanna you are close.",
        "power": 0,
        "intimacy": 2,
        "task_oriented": 0,
    }
    assert told["last_meeting"] == {
        "conversation_id": held["id"],
        "summary": SISTER["en"]["people"]["a"]["paragraph"][0],
        "topics": ["sister", "rye"],
        "at": "2026-04-01T07:00",
        "elapsed_minutes": 90,
        "ago": "1 hour ago",
        **dict.fromkeys(("partner_id", "npc_id"), "baker"),
        **dict.fromkeys(("partner_name", "npc_name"), "Hanna"),
    }
    address, japanese = "/characters/sora/memory?about=baker", {"Accept-Language": "ja"}
    in_japanese = client.get(address, headers=japanese).json()
    assert in_japanese["last_meeting"]["ago"] == "1時間前"
    assert in_japanese["relation"]["stance"].startswith("Hanna")
    facts = {fact["text"]: fact for fact in told["facts"]}
    assert set(facts) == {SISTER_TOLD, RYE_TOLD}
    sister = facts[SISTER_TOLD]
    assert {key: sister[key] for key in sister if key not in ("id", "score", "parts", "bears")} == {
        "kind": "fact",
        "text": SISTER_TOLD,
        "line": f"(1 hour ago) What Hanna has told you: {SISTER_TOLD}",
        "about": "Lotte",
        "subject_id": None,
        "told_by": "baker",
        "speaker_name": None,
        "via": [],
        "mode": "stated",
        "quote": "",
        "support": "model",
        "source": "conversation",
        "importance": 5,
        "confidence": 0.8,
        "slot": "",
        "level": None,
        "topics": [],
        "overheard": None,
        "partner_id": "baker",
        "conversation_id": held["id"],
        "turns": [1],
        "evidence": [],
        "valid_from": "2026-04-01T07:00",
        "valid_to": None,
        "known_from": "2026-04-01T07:00",
        "known_until": None,
        "replaced_by": None,
        "expires_at": None,
        "ago": "1 hour ago",
        "kept_from": [],
        "given_id": None,
        "given_conversation": None,
        "forgotten_at": None,
    }
    assert [(row["content"], row["importance"], row["expires_at"]) for row in told["mid_term"]] == [
        (f"What Hanna has told you: {MISSED}", "high", "2026-04-04T07:00"),
        (f"What Hanna has told you: {EARLY}", "low", "2026-04-02T00:00"),
    ]
    assert {row["partner_id"] for row in told["mid_term"]} == {"baker"}
    assert {row["ref"].partition(":")[0] for row in told["mid_term"]} == {"memory"}
    assert {prompt.thread for prompt in script.history} == {f"main/{held['id']}"}
    assert [row["content"] for row in held["changes"]["mid_term"]] == [MISSED, EARLY]
    assert told["today"] == [
        {
            "conversation_id": held["id"],
            "partner_id": "baker",
            "partner_name": "Hanna",
            "npc_id": "baker",
            "npc_name": "Hanna",
            "summary": SISTER["en"]["people"]["a"]["paragraph"][0],
            "topics": ["sister", "rye"],
            "elapsed_minutes": 90,
            "ago": "1 hour ago",
            "at": "2026-04-01T07:00",
        }
    ]
    assert told["long_term_available"] is True


BELL: dict[Language, dict[str, str]] = {
    "en": {
        "said": "Good morning. I mend the old harbour bell this week.",
        "fact": "Sora mends the old harbour bell.",
        "about": "the bell",
        "nothing": "snow",
        "authored": "oven",
        "first_met": "for the first time",
    },
    "ja": {
        "said": "おはよう。今週は港の古い鐘を直しているんだ。",
        "fact": "ソラは港の古い鐘を直している。",
        "about": "鐘のこと",
        "nothing": "雪",
        "authored": "窯",
        "first_met": "初対面",
    },
}


def tell_of_the_bell(client: TestClient, script: ScriptedModel, language: Language) -> dict[str, Any]:
    """Sora tells the baker something about itself; the baker keeps it."""
    told = BELL[language]
    say(script, "character", turn(told["said"], ends=True))
    say(script, "npc", reply("Bye."))
    say(script, "closing", plain(second={"memories": [memory(told["fact"], 0, about="a")]}))
    return talk(client)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_an_npc_remembers_what_it_was_told_and_anybody_may_be_asked_about_anything(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    words = BELL[language]
    held = tell_of_the_bell(client, script, language)

    def ask(person_id: str, **query: str) -> dict[str, Any]:
        told: dict[str, Any] = client.get(f"/people/{person_id}/memory", params=query).raise_for_status().json()
        return told

    told = ask("baker", about="sora")
    assert (told["person_id"], told["about"], told["found"]) == ("baker", "sora", True)
    assert [(f["text"], f["told_by"], f["conversation_id"], f["turns"]) for f in told["facts"]] == [
        (words["fact"], "sora", held["id"], [0])
    ]
    assert told["last_meeting"]["conversation_id"] == held["id"]
    assert told["relation"]["conversation_count"] == 1
    asked = ask("baker", query=words["about"])
    assert (asked["about"], asked["relation"], asked["last_meeting"], asked["found"]) == (None, None, None, True)
    assert [fact["text"] for fact in asked["facts"]] == [words["fact"]]
    assert [0] not in [turn["turns"] for turn in asked["turns"]], "the fact tells it"
    nothing = ask("baker", query=words["nothing"])
    assert (nothing["found"], nothing["turns"]) == (False, [])
    nearest = ask("baker", about="sora", query=words["nothing"])
    assert (nearest["found"], len(nearest["facts"])) == (False, 1)
    own = ask("sora", query=words["about"])
    assert (own["found"], own["facts"]) == (True, [])
    said = own["turns"][0]
    assert (said["conversation_id"], said["turns"], said["told_by"]) == (held["id"], [0], "sora")
    assert said["text"] == held["turns"][0]["text"]
    assert (said["speaker_name"], said["valid_from"]) == (held["turns"][0]["speaker_name"], held["turns"][0]["at"])
    assert ask("baker", query=words["authored"])["facts"] == [], "what its author wrote is no memory"
    assert client.get("/npcs/baker").json()["learned_facts"] == []
    older = client.get("/characters/sora/memory", params={"query": words["about"]}).json()
    assert (older["npc_id"], older["found"], older["facts"]) == (None, True, [])
    for unknown in ({"person_id": "nobody"}, {"person_id": "baker", "about": "nobody"}):
        person_id, query = unknown["person_id"], {k: v for k, v in unknown.items() if k == "about"}
        problem(client.get(f"/people/{person_id}/memory", params=query), 404, "not-found")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_an_npc_was_told_stands_in_its_next_prompt(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    words = BELL[language]
    tell_of_the_bell(client, script, language)
    say(script, "character", turn("Once more."), turn("Bye."))
    say(script, "npc", reply("Well.", ends=True))
    say(script, "closing", plain())
    talk(client)
    prompt = next(prompt for prompt in reversed(script.history) if prompt.role == "npc")
    assert words["fact"].rstrip(".。") in prompt.messages[1].content
    assert words["first_met"] not in prompt.messages[1].content


def test_the_npc_keeps_what_it_told_beside_what_its_author_wrote(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    held = talk(client)
    baker = client.get("/npcs/baker").json()
    assert baker["facts"] == ["The oven was built in 1950."]
    assert [(f["kind"], f["text"], f["conversation_id"], f["turns"]) for f in baker["learned_facts"]] == [
        ("self", SISTER_TOLD, held["id"], [1])
    ]
    assert (baker["mood"], baker["conversation_count"], baker["affinity"]) == ("happy", 1, {"sora": 8})
    assert baker["last_conversation_at"] == "2026-04-01T07:00"


@pytest.mark.parametrize(("language", "expected"), [("ja", "2日前"), ("en", "2 days ago")])
def test_two_days_later_it_is_two_days_ago(
    client: TestClient, script: ScriptedModel, language: Language, expected: str
) -> None:
    script_sister(script, language)
    talk(client)
    pass_minutes(client, 2 * 1440)
    told = memory_of(client)
    assert (told["last_meeting"]["ago"], told["last_meeting"]["elapsed_minutes"]) == (expected, 2880)
    assert {fact["ago"] for fact in told["facts"]} == {expected}


@pytest.mark.parametrize("language", ["ja"])
@pytest.mark.parametrize(("query", "first"), [("妹さんはどこへ", "ロッテ"), ("黒パンを買いたい", "黒パン")])
def test_a_japanese_query_puts_the_fact_it_asks_for_first(
    client: TestClient, script: ScriptedModel, query: str, first: str
) -> None:
    script_sister(script, "ja")
    talk(client)
    told = memory_of(client, query=query)
    assert first in told["facts"][0]["text"]
    assert told["facts"][0]["score"] == max(fact["score"] for fact in told["facts"])
    assert len(memory_of(client, query=query, limit=1)["facts"]) == 1


def test_only_who_was_present_remembers(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    talk(client)
    told = memory_of(client, "umi")
    assert told["relation"]["conversation_count"] == 0
    assert (told["facts"], told["mid_term"], told["today"], told["last_meeting"]) == ([], [], [], None)


def test_mid_term_memories_go_when_their_time_is_up(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    talk(client)
    pass_minutes(client, 17 * 60 - 1)
    assert len(memory_of(client)["mid_term"]) == 2
    ticked = pass_minutes(client, 1)
    expired = [event for event in ticked["events"] if event["kind"] == "memory_expired"]
    assert [(event["person_id"], event["data"]["content"]) for event in expired] == [("sora", EARLY)]
    assert [row["importance"] for row in memory_of(client)["mid_term"]] == ["high"]
    pass_minutes(client, 3 * 1440)
    assert memory_of(client)["mid_term"] == []


def test_sleep_clears_the_day_and_nothing_else(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    talk(client)
    script_short(script, "Rye, please!")
    talk(client, character_id="umi")
    before = memory_of(client)
    answer = client.post("/characters/sora/actions", json={"type": "sleep"})
    assert answer.json() == {"type": "sleep", "at": "2026-04-01T07:00", "cleared_conversations": 1}
    assert memory_of(client) == {**before, "today": []}
    assert client.get("/characters/sora").json()["today"] == []
    assert len(memory_of(client, "umi")["today"]) == 1
    again = client.post("/characters/sora/actions", json={"type": "sleep"})
    assert again.json()["cleared_conversations"] == 0


MILL, HARBOUR = "Hanna lives in the old mill.", "Hanna lives in the harbour town now."


def move_hanna(client: TestClient, script: ScriptedModel) -> None:
    """The baker tells where she lives, and a day later that she lives elsewhere, which replaces the first memory."""
    for said, text in (("I live in the old mill.", MILL), ("I live in the harbour town now.", HARBOUR)):
        say(script, "character", turn("Where do you live, Hanna?"))
        say(script, "npc", reply(said, ends=True))
        say(script, "character", turn("I shall visit you there.", ends=True))
        say(script, "closing", recollection(memories=[memory(text, 1, about="b", slot="home")]))
        talk(client)
        pass_minutes(client, 1440)


def test_a_fact_that_changed_is_closed_and_kept_in_the_history(client: TestClient, script: ScriptedModel) -> None:
    move_hanna(client, script)
    (now,) = memory_of(client)["facts"]
    assert (now["text"], now["told_by"], now["slot"]) == (HARBOUR, "baker", "baker/home")
    whole = {fact["text"]: fact for fact in memory_of(client, history=True)["facts"]}
    old = whole[MILL]
    assert old["valid_to"] == old["known_until"] == "2026-04-02T07:00"
    assert now["id"] == f"fact.{old['replaced_by']}"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"npc_id": "a b"}, "query.npc_id"),
        ({"npc_id": "baker", "limit": "0"}, "query.limit"),
        ({"npc_id": "baker", "limit": "many"}, "query.limit"),
        ({"npc_id": "baker", "history": "perhaps"}, "query.history"),
        ({"npc_id": "baker", "query": "x" * 501}, "query.query"),
    ],
)
def test_a_wrong_question_names_the_field(client: TestClient, query: dict[str, str], field: str) -> None:
    told = problem(client.get("/characters/sora/memory", params=query), 422, "invalid")
    assert [error["field"] for error in told["errors"]] == [field]


@pytest.mark.parametrize("at", ["yesterday", "2026-13-01T00:00", "2026-04-01T07:00Z", "0000-01-01T00:00"])
def test_a_moment_that_is_none_is_refused(client: TestClient, at: str) -> None:
    told = problem(client.get("/characters/sora/memory", params={"npc_id": "baker", "at": at}), 422, "invalid")
    assert "query.at" in told["detail"]


@pytest.mark.parametrize(("who", "npc"), [("nobody", "baker"), ("sora", "nobody"), ("baker", "sora")])
def test_the_memory_of_or_about_nobody_is_not_found(client: TestClient, who: str, npc: str) -> None:
    problem(client.get(f"/characters/{who}/memory", params={"npc_id": npc}), 404, "not-found")


OF_HANNA: dict[Language, tuple[str, ...]] = {
    "en": (
        "What do you remember about Hanna?",
        "Hanna",
        "Who is Hanna?",
        "Do you still know Hanna?",
        "Please tell me everything you have heard of Hanna.",
    ),
    "ja": (
        "ハンナについて",
        "ハンナ",
        "ハンナさんのことを覚えていますか?",
        "ハンナって誰?",
        "ハンナについて何か知っていることを教えてください。",
    ),
}
NOT_TOLD: dict[Language, tuple[str, ...]] = {
    "en": ("Does Hanna own a submarine?", "What does Hanna remember about the war?", "What do you know of Umi?"),
    "ja": ("ハンナは潜水艦を買ったの?", "ハンナの戦争の思い出は?", "ウミについて"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_anything_remembered_of_somebody_answers_a_question_that_only_names_it(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    for query in OF_HANNA[language]:
        assert not memory_of(client, query=query)["found"], f"nothing is remembered yet: {query}"
    script_sister(script, language)
    talk(client)
    for query in OF_HANNA[language]:
        told = memory_of(client, query=query)
        assert (told["found"], bool(told["facts"]), bool(told["turns"])) == (True, True, True), query
    for query in NOT_TOLD[language]:
        told = memory_of(client, query=query)
        assert (told["found"], bool(told["facts"]), told["turns"]) == (False, True, []), query
