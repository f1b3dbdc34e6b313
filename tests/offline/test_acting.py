"""Owns the tests of what the offline speaker adds to its words: what it asks of the game, and what it suggests."""

import random
from dataclasses import replace

import pytest

from service.content.actions import GameAction
from service.conversation.prompt import Line, PromptContext
from service.locales import Language
from service.offline.phrases import phrases
from service.offline.speaker import speak
from tests.content.village import GIVE
from tests.offline.talks import PEOPLE


@pytest.mark.parametrize(
    ("language", "heard", "args"),
    [
        ("en", "Would you hand over a bun, the one you carry?", {"item": "bun"}),
        ("en", "Would you hand over something you carry?", {"item": "rye bread"}),
        ("ja", "今持っているものを、1つ渡してくれますか。", {"item": "rye bread"}),
        ("en", "How are your daughters?", None),
        ("ja", "娘さんたちはお元気ですか。", None),
    ],
)
def test_it_does_what_it_is_asked_to_do(language: Language, heard: str, args: dict[str, str] | None) -> None:
    alice, taro = PEOPLE[language]
    actions = (GameAction.model_validate(GIVE).in_language(language),)
    context = PromptContext(
        language=language,
        speaker=taro,
        begins=False,
        partner_id=alice.id,
        partner_name=alice.name,
        place="",
        now="",
        lines=(Line(turn=0, speaker_id=alice.id, speaker_name=alice.name, text=heard),),
        actions=actions,
        can_do=actions,
    )
    act = speak(context, random.Random(7)).model_dump()["action"]
    assert (act and act["args"]) == args
    rests = speak(replace(context, can_do=()), random.Random(7)).model_dump()
    assert rests["action"] is None, "nothing can be done now"
    assert rests["utterance"] == speak(replace(context, actions=()), random.Random(7)).utterance


@pytest.mark.parametrize(
    ("language", "about"),
    [("en", '"The ferry is late"'), ("ja", "「渡し船が遅れている」")],
    ids=["en", "ja"],
)
def test_what_it_suggests_to_a_player_is_what_it_can_answer_and_a_goodbye(language: Language, about: str) -> None:
    alice, taro = PEOPLE[language]
    notices = {"en": "The ferry is late", "ja": "渡し船が遅れている"}
    context = PromptContext(
        language=language,
        speaker=taro,
        begins=False,
        partner_id=alice.id,
        partner_name=alice.name,
        place="",
        now="",
        notices=(notices[language],),
        relations=(("Mina", "…"), (alice.name, "…")),
        lines=(Line(turn=0, speaker_id=alice.id, speaker_name=alice.name, text="…"),),
    )
    answer = speak(replace(context, choices=4), random.Random(7)).model_dump()
    lines = answer["choices"]
    assert len(set(lines)) == 4
    assert any(about in line for line in lines)
    assert any("Mina" in line for line in lines), "whom it knows, but for whom it talks with"
    assert not any(alice.name in line for line in lines)
    assert any(phrases(language).has("work", line) for line in lines)
    heard = replace(context.lines[0], turn=1, text=lines[0])
    later = speak(replace(context, choices=4, lines=(*context.lines, heard)), random.Random(7)).model_dump()
    assert lines[0] not in later["choices"], "nothing is asked twice"
    assert phrases(language).has("farewell", lines[-1])
    assert not set(taro.lines + taro.facts) & set(lines), "the words are the player's"
    assert answer["utterance"] == speak(context, random.Random(7)).utterance
    leaves = speak(replace(context, choices=4, turns_left=1), random.Random(7)).model_dump()
    assert leaves["wants_to_end"]
    assert leaves["choices"] == ()
