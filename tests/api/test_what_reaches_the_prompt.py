"""Owns the tests of what of a person's memory stands in the prompt when it speaks, as a client can read it."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.locales import Language
from tests.api.play import settings_for
from tests.api.play import talk as hold
from tests.api.test_player import begin, say
from tests.conversation.talks import replies, says
from tests.memory.answers import closing, memory, plain
from tests.scripted_model import ScriptedModel

LENS = "The lighthouse lens came from Bremen in forty crates of straw."
CAT = "My cat had six kittens under the church organ."
CHATTER = [f"On day {number} it rained and we talked of the weather and the road." for number in range(30)]
ASKS_LENS = "Where did the lighthouse get its lens, and in what crates did it come?"
ASKS_CAT = "And what became of your cat, did she hide beneath the church organ?"
TOLD: dict[Language, tuple[str, str]] = {
    "en": (LENS, ASKS_LENS),
    "ja": (
        "灯台のレンズは藁を詰めた四十の木箱でブレーメンから届いたんだ。",
        "灯台のレンズはどこから、どんな木箱で届いたの?",
    ),
}


def give_past(client: TestClient, *texts: str, person_id: str = "baker", at: str = "2025-04-02T10:00") -> None:
    """The person has heard these from Ken, a year ago or when it is said, in one talk."""
    client.put("/people/ken", json={"kind": "player", "name": "Ken"})
    turns = [{"id": f"{at[:10]} t{number}", "speaker": "ken", "text": text} for number, text in enumerate(texts)]
    past = {"transcripts": [{"conversation": f"past {at[:10]}", "at": at, "turns": turns}]}
    client.post(f"/people/{person_id}/memory", json=past).raise_for_status()


def prompt_of(client: TestClient, conversation_id: str, turn: int) -> str:
    """All that the turn's speaker was sent, as the service tells it."""
    told = client.get(f"/conversations/{conversation_id}/turns/{turn}/prompt").raise_for_status().json()
    return "\n".join(message["content"] for message in told["messages"])


SMALL = 1000
"""A context that leaves little room for a past."""


def ask(client: TestClient, script: ScriptedModel, *said: str) -> tuple[str, list[str]]:
    """Ken says these to the baker in one talk: its id, and the prompt of each answer."""
    talk = begin(client)
    for number, text in enumerate(said):
        script.enqueue(replies(f"Well, well, {number}."))
        say(client, talk, text)
    return talk, [prompt_of(client, talk, 2 * number + 1) for number in range(len(said))]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_first_question_finds_its_evidence_in_a_long_past(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    told, asked = TOLD[language]
    give_past(client, *CHATTER[:15], told, *CHATTER[15:])
    _, (prompt,) = ask(client, script, asked)
    assert told in prompt


def test_later_questions_of_a_talk_find_theirs_and_the_block_before_is_replaced(
    client: TestClient, script: ScriptedModel
) -> None:
    client.patch("/world", json={"context_tokens": SMALL}).raise_for_status()
    give_past(client, LENS)
    give_past(client, CAT, at="2025-05-02T10:00")
    short = [f"Snow {number}." for number in range(60)]  # in what room the longer ones leave
    give_past(client, *CHATTER, *short, at="2026-03-30T10:00")
    _, (first, second, third) = ask(client, script, ASKS_LENS, ASKS_CAT, ASKS_LENS)
    assert [LENS in one for one in (first, second, third)] == [True, False, True]
    assert [CAT in one for one in (first, second, third)] == [False, True, False]
    assert first.index(LENS) > first.index(ASKS_LENS), "it stands last, before the answer"


def test_a_line_that_does_not_fit_keeps_no_shorter_one_from_the_prompt(
    client: TestClient, script: ScriptedModel
) -> None:
    long = "The lighthouse lens, the lens of the lighthouse, " * 40
    client.patch("/world", json={"context_tokens": SMALL}).raise_for_status()
    give_past(client, long, *CHATTER[:9], LENS, *CHATTER[9:])
    _, (prompt,) = ask(client, script, ASKS_LENS)
    assert LENS in prompt
    assert long.strip() not in prompt


def test_a_short_line_and_a_name_said_again_ask_memory_too(client: TestClient, script: ScriptedModel) -> None:
    give_past(client, *CHATTER[:9], "Jorinde keeps the ferry since Easter.", *CHATTER[9:])
    _, (first, _, third) = ask(client, script, "Jorinde?", "Let us talk of bread and flour and the oven.", "Jorinde!")
    assert all("keeps the ferry" in prompt for prompt in (first, third))


def test_what_stands_beside_the_words_asked_for_counts_though_it_shares_none(
    client: TestClient, script: ScriptedModel
) -> None:
    answer = "Six, in two fingers' width of brandy."
    give_past(client, *CHATTER[:9], "How many prunes does the pudding want?", answer, *CHATTER[9:])
    _, (prompt,) = ask(client, script, "Tell me again, how many prunes went into the pudding?")
    assert answer in prompt


@pytest.mark.parametrize(("tokens", "is_whole"), [(900, False), (3000, True)])
def test_the_context_is_as_large_as_the_setting_says(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, tokens: int, *, is_whole: bool
) -> None:
    settings = settings_for(tmp_path, millbrook, language="en").changed(llm={"context_tokens": tokens})
    texts = [f"Lighthouse lens, crate {number}: straw, straw and more straw from Bremen." for number in range(40)]
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        give_past(client, *texts)
        _, (prompt,) = ask(client, script, ASKS_LENS)
    told = sum(text in prompt for text in texts)
    assert (told == len(texts)) is is_whole
    assert told > 0


@pytest.mark.parametrize("language", ["ja"])
def test_the_last_meeting_is_told_whole(client: TestClient, script: ScriptedModel) -> None:
    told = [f"{number}番目の息子の源太は、{'古い水車小屋の裏の坂道を荷車で' * 9}下りた。" for number in range(4)]
    paragraph = [f"健は言った。{text}"[-190:] for text in told]
    script.enqueue(replies("そうか。"), plain(first={"paragraph": paragraph}, second={"paragraph": paragraph}))
    talk = begin(client)
    say(client, talk, "".join(told))
    client.post(f"/conversations/{talk}/end?wait=true").raise_for_status()
    _, (prompt,) = ask(client, script, "こんにちは、また来ました。")
    assert all(sentence in prompt for sentence in paragraph)


def test_of_what_one_told_of_oneself_that_stands_in_the_prompt_which_bears_on_the_goal(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    told = ["I once kept a goat named Sorrel up on the ridge."]
    told += [f"I was {number} times in the valley of the mill with my uncle and his cart." for number in range(3, 12)]
    settings = settings_for(tmp_path, millbrook, language="en").changed(llm={"context_tokens": 1100})
    goal = {"goal": "Tell of the goat Sorrel", "success_criteria": "Hanna has heard of the goat"}
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        for text in told:
            script.enqueue(says(text, leaves=True), closing(first={"memories": [memory(text, 0)]}))
            hold(client, max_turns=1)
            client.post("/world/tick", json={"ticks": 1}).raise_for_status()
        script.enqueue(says("Good day.", leaves=True), closing())
        hold(client, max_turns=1, **goal)
    prompt = next(one.messages[1].content for one in reversed(script.history) if one.name == "speaker")
    of_itself = prompt.partition("What you have told people so far:\n")[2].split("\n")
    assert "Sorrel" in of_itself[0]


UNKNOWN: dict[Language, tuple[str, str]] = {
    "en": ("Did the lighthouse keeper's wife ever say why she sold her piano?", "When does the new tax on salt begin?"),
    "ja": ("灯台守の奥さんはどうしてピアノを売ったと言っていましたか。", "塩の新しい税はいつから始まりますか。"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_one_shared_word_answers_no_question(client: TestClient, script: ScriptedModel, language: Language) -> None:
    told, asked = TOLD[language]
    give_past(client, *CHATTER, told)

    def is_found(query: str, path: str, **more: str) -> bool:
        params = {"query": query, **more}
        return bool(client.get(f"/people/baker/{path}", params=params).raise_for_status().json()["found"])

    assert is_found(asked, "memory", about="ken")
    assert is_found(asked, "memory/search")
    for question in UNKNOWN[language]:
        assert not is_found(question, "memory", about="ken")
        assert not is_found(question, "memory/search")
