"""Owns the tests of the engine: whole conversations with scripted models, under both clock policies."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from service.conversation.acting import LONGEST_WORDS, CharacterTurn, NpcTurn, OpeningTurn
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.conversation.transcript import SAID_MINUTES, end
from service.errors import ModelRateLimited, ModelRefused, ModelTimeout, ModelUnreachable
from service.llm.chat import Prompt
from service.locales import sentences
from service.settings import LlmSettings
from service.store.events import events_after
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, TurnRow
from service.store.usage import usage_rows
from service.usage import Usage
from tests.conversation.live import Recorded, spoken
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    GOAL,
    HELLO,
    THANKS,
    begin,
    begin_living,
    engaged,
    hold_living,
    limited,
    meet,
    opens,
    pass_minutes,
    place,
    recollection,
    replies,
    rows,
    says,
    talk,
    turns,
)
from tests.scripted_model import Scripted, ScriptedModel
from tests.store.conversations import main
from tests.store.statements import statements
from world.time import MINUTES_PER_DAY

AGAIN = "Hello! I am sorry to bother you. May I ask about your family, Taro?"
AS_AI = "As an AI language model I have no family."


Hold = Callable[..., str]
"""Let Aoi and another talk to the end of it; each answers what is given in turn. The answer is the conversation's
id.
"""


@pytest.fixture
def hold(room: ConversationDependencies, script: ScriptedModel) -> Hold:
    """As a client's talk."""
    return partial(_hold, room, script)


@pytest.fixture(params=["a client's", "the living world's"])
def hold_either(request: pytest.FixtureRequest, room: ConversationDependencies, script: ScriptedModel) -> Hold:
    """Under either clock policy: whoever has begun it, all that is tested with this holds."""
    return partial(_hold if request.param == "a client's" else _hold_living, room, script)


def _hold(room: ConversationDependencies, script: ScriptedModel, *answers: Scripted, **begin: Any) -> str:
    script.enqueue(*answers)
    conversation_id = meet(room, **begin)
    key = ConversationKey(begin.get("world_id", "main"), conversation_id)
    asyncio.run(Engine(room).converse(key))
    return conversation_id


def _hold_living(room: ConversationDependencies, script: ScriptedModel, *answers: Scripted, **begin: Any) -> str:
    script.enqueue(*answers)
    starts = begin_living(room, **begin)
    asyncio.run(hold_living(Engine(room), starts))
    return "c1"


def _written(room: ConversationDependencies, npc_id: str, **of_its_author: Any) -> None:
    """Its author has written that of the NPC."""
    content = room.worlds.content
    casts = {
        language: replace(cast, npcs={**cast.npcs, npc_id: cast.npcs[npc_id].model_copy(update=of_its_author)})
        for language, cast in content.casts.items()
    }
    room.worlds.play(replace(content, casts=casts))


def _texts(room: ConversationDependencies, conversation_id: str) -> list[str]:
    return [turn.text for turn in turns(room, conversation_id)]


def _scene(prompt: Prompt[Any]) -> PromptContext:
    assert isinstance(prompt.given, PromptContext)
    return prompt.given


def test_a_talk_with_a_given_goal_ends_with_the_partners_farewell(
    room: ConversationDependencies, script: ScriptedModel, hold_either: Hold
) -> None:
    conversation_id = hold_either(
        says(HELLO), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL)
    )
    row = talk(room, conversation_id)
    assert _texts(room, conversation_id) == [HELLO, FAMILY, THANKS, FAREWELL]
    assert (row.phase, row.end_reason, row.goal_achieved) == (Phase.CLOSING, EndReason.GOAL_ACHIEVED, True)
    assert [prompt.name for prompt in script.history] == ["speaker"] * 4
    assert (row.goal, row.success_criteria, row.goal_given) == (GOAL.goal, GOAL.success_criteria, True)


def test_the_turns_say_who_spoke_and_what_it_cost(room: ConversationDependencies, hold: Hold) -> None:
    first, second = turns(room, hold(says(HELLO, leaves=True), replies(FAMILY)))
    assert [(t.turn, t.speaker_id, t.speaker_name) for t in (first, second)] == [
        (0, "aoi", "Aoi"),
        (1, "npc_taro", "Taro"),
    ]
    assert (first.emotion, second.emotion) == ("neutral", "happy")
    assert (first.wants_to_end, second.wants_to_end) == (True, False)
    assert first.model == "scripted"
    assert first.calls == 1
    assert min(first.prompt_tokens, first.completion_tokens) > 0
    assert first.duration_ms >= 0


def test_a_character_without_a_goal_sets_one_with_its_opening_turn(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _hold(
        room,
        script,
        opens(HELLO),
        replies(FAMILY),
        says(THANKS, achieved=True, leaves=True),
        replies(FAREWELL),
        goal=None,
    )
    row = talk(room, conversation_id)
    assert [prompt.name for prompt in script.history] == ["speaker"] * 4
    assert (row.goal, row.success_criteria, row.goal_given) == (GOAL.goal, GOAL.success_criteria, False)
    later = _scene(script.history[2])
    assert isinstance(later, PromptContext)
    assert later.goal == GOAL


def test_a_goal_achieved_on_the_first_turn_does_not_count(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _hold(
        room,
        script,
        says(HELLO, achieved=True),
        replies(FAMILY),
        says(THANKS, leaves=True),
        replies(FAREWELL, leaves=True),
    )
    assert talk(room, conversation_id).end_reason == EndReason.WANTS_TO_END
    assert not talk(room, conversation_id).goal_achieved
    assert not any(turn.goal_achieved for turn in turns(room, conversation_id))


@pytest.mark.parametrize("max_turns", [1, 2, 3])
def test_a_talk_stops_at_its_limit(room: ConversationDependencies, hold_either: Hold, max_turns: int) -> None:
    words = [says(HELLO), replies(FAMILY), says("And your wife, how did the two of you meet?")]
    conversation_id = hold_either(*words[:max_turns], max_turns=max_turns)
    assert len(turns(room, conversation_id)) == max_turns
    assert talk(room, conversation_id).end_reason == EndReason.TURN_LIMIT


def test_both_are_free_when_it_has_ended_and_the_log_says_why(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _hold(room, script, says(HELLO, leaves=True), replies("Bye."))
    assert engaged(room) == []
    last = room.database.read_now(lambda s: events_after(s, "main", 0, 100))[-1]
    assert last.kind == "conversation_ended"
    assert last.data["conversation_id"] == conversation_id
    assert last.data["reason"] == "wants_to_end"


def test_a_talk_that_is_over_is_not_taken_up_again(room: ConversationDependencies, hold_either: Hold) -> None:
    conversation_id = hold_either(says(HELLO, leaves=True), replies("Bye."))
    asyncio.run(Engine(room).converse(main(conversation_id)))
    assert len(turns(room, conversation_id)) == 2


def test_a_talk_goes_on_from_the_turns_that_are_there(room: ConversationDependencies, script: ScriptedModel) -> None:
    def dies(prompt: Prompt[Any]) -> BaseModel:
        raise RuntimeError("the process is killed here")

    script.enqueue(says(HELLO), replies(FAMILY), dies)
    conversation_id = meet(room)
    with pytest.raises(RuntimeError, match="killed"):
        asyncio.run(Engine(room).converse(main(conversation_id)))
    script.enqueue(says(THANKS, achieved=True, leaves=True), replies(FAREWELL))
    asyncio.run(Engine(room).converse(main(conversation_id)))
    assert _texts(room, conversation_id) == [HELLO, FAMILY, THANKS, FAREWELL]
    assert [line.text for line in _scene(script.history[3]).lines] == [HELLO, FAMILY]


def test_a_model_that_fails_before_the_first_word_leaves_nothing_to_close(
    room: ConversationDependencies, hold_either: Hold
) -> None:
    conversation_id = hold_either(ModelTimeout(model="m", seconds=60))
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.MODEL_FAILURE)
    assert row.closed_at is not None
    assert turns(room, conversation_id) == []
    assert engaged(room) == []


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (ModelTimeout(model="m", seconds=60), "model-timeout"),
        (ModelRateLimited(model="m", retry_after_seconds=None), "model-rate-limited"),
        (ModelUnreachable(model="m", base_url="http://127.0.0.1:1", reason="refused"), "model-unreachable"),
    ],
)
def test_a_model_failure_never_becomes_dialogue(
    room: ConversationDependencies, hold_either: Hold, error: ModelTimeout, slug: str
) -> None:
    conversation_id = hold_either(says(HELLO), replies(FAMILY), says(THANKS), error)
    row = talk(room, conversation_id)
    assert _texts(room, conversation_id) == [HELLO, FAMILY, THANKS]
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.MODEL_FAILURE)
    assert row.failure == {"type": slug, "role": "npc", "en": error.sentence("en"), "ja": error.sentence("ja")}
    assert row.failure["en"] != row.failure["ja"]


def test_who_repeats_itself_is_asked_for_something_else(
    room: ConversationDependencies, script: ScriptedModel, hold: Hold
) -> None:
    conversation_id = hold(says(HELLO), replies(FAMILY, leaves=True), says(AGAIN), says(THANKS))
    assert _texts(room, conversation_id) == [HELLO, FAMILY, THANKS]
    assert [_scene(prompt).nudge for prompt in script.history] == [None, None, None, "repeated"]
    assert turns(room, conversation_id)[2].calls == 2


def test_who_repeats_itself_again_stalls_the_talk(
    room: ConversationDependencies, script: ScriptedModel, hold_either: Hold
) -> None:
    conversation_id = hold_either(says(HELLO), replies(FAMILY), says(AGAIN), says(HELLO))
    row = talk(room, conversation_id)
    assert _texts(room, conversation_id) == [HELLO, FAMILY]
    assert (row.phase, row.end_reason, row.failure) == (Phase.CLOSING, EndReason.STALLED, None)
    assert script.unused == 0


def test_words_of_the_other_may_be_repeated(room: ConversationDependencies, hold: Hold) -> None:
    conversation_id = hold(says(HELLO, leaves=True), replies(HELLO, leaves=True))
    assert _texts(room, conversation_id) == [HELLO, HELLO]


def test_who_steps_out_of_its_role_is_asked_once_more(
    room: ConversationDependencies, script: ScriptedModel, hold: Hold
) -> None:
    conversation_id = hold(says(HELLO, leaves=True), replies(AS_AI), replies(FAMILY))
    assert _texts(room, conversation_id) == [HELLO, FAMILY]
    assert _scene(script.history[2]).nudge == "broke_character"


def refuses() -> ModelRefused:
    return ModelRefused(model="m", reason="I cannot continue with this request.")


NO_WORDS = "bread bread bread bread bread bread bread bread bread"
FOREIGN = "Das Brot ist heute Morgen leider schon ausverkauft, mein Herr."
DEFLECTIONS = sentences("en", "deflections")


@pytest.mark.parametrize(
    ("fault", "nudge"),
    [
        (replies(NO_WORDS), "garbled"),
        (replies("I have two ch\ufffd\ufffdren."), "garbled"),
        (replies("……！！！？？？……"), "garbled"),
        (replies(FOREIGN), "foreign"),
        (replies("家族は妻と子供が二人います。息子と娘です。"), "foreign"),
        (refuses(), "refused"),
    ],
)
def test_what_nobody_of_the_story_says_is_asked_once_more(
    room: ConversationDependencies, script: ScriptedModel, hold: Hold, fault: Scripted, nudge: str
) -> None:
    conversation_id = hold(says(HELLO, leaves=True), fault, replies(FAMILY, leaves=True))
    assert _texts(room, conversation_id) == [HELLO, FAMILY]
    assert _scene(script.history[2]).nudge == nudge


@pytest.mark.parametrize(
    "second", [refuses, lambda: replies("I am just an AI and cannot say."), lambda: replies(FOREIGN)]
)
def test_whose_model_twice_gives_no_words_of_it_says_a_line_of_its_authors(
    room: ConversationDependencies, hold_either: Hold, second: Callable[[], Scripted]
) -> None:
    ends = (says(THANKS, achieved=True, leaves=True), replies(FAREWELL, leaves=True))
    conversation_id = hold_either(says(HELLO), replies(AS_AI), second(), *ends)
    row, said = talk(room, conversation_id), turns(room, conversation_id)
    assert [turn.text for turn in said[::2]] == [HELLO, THANKS]
    assert said[1].text in DEFLECTIONS
    assert (said[1].model, said[1].calls, row.calls, row.end_reason) == ("author", 0, 5, EndReason.GOAL_ACHIEVED)
    failed = {one.role: one.failures for one in room.database.read_now(lambda s: usage_rows(s, "main"))}
    assert failed["npc"] == 1
    assert AS_AI not in str([rows(room, table) for table in (TurnRow, type(row))])


def test_the_lines_that_an_author_wrote_for_it_come_first(room: ConversationDependencies, hold: Hold) -> None:
    mine = ("Ask me about boats.", "The kettle is on.")
    _written(room, "npc_taro", deflections=mine)
    conversation_id = hold(says(HELLO), refuses(), refuses(), says(THANKS, leaves=True), replies("Bye."))
    assert turns(room, conversation_id)[1].text in mine


def test_a_talk_of_models_one_of_which_refuses_again_ends(room: ConversationDependencies, hold: Hold) -> None:
    conversation_id = hold(says(HELLO), refuses(), refuses(), says(THANKS), refuses(), refuses())
    row = talk(room, conversation_id)
    assert (len(turns(room, conversation_id)), row.end_reason) == (3, EndReason.MODEL_FAILURE)
    assert (row.failure or {})["type"] == "model-refused"


def test_nothing_is_said_where_the_first_words_are_refused(room: ConversationDependencies, hold: Hold) -> None:
    row = talk(room, hold(refuses(), refuses()))
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.MODEL_FAILURE)


def test_who_has_lines_in_another_language_may_speak_it(room: ConversationDependencies, hold: Hold) -> None:
    _written(room, "npc_taro", lines=(FOREIGN,))
    assert _texts(room, hold(says(HELLO, leaves=True), replies(FOREIGN))) == [HELLO, FOREIGN]


def test_an_utterance_that_is_too_long_is_cut_at_a_sentence_and_costs_no_second_call(
    room: ConversationDependencies, script: ScriptedModel, hold: Hold
) -> None:
    long = (
        "I came up that road thirty years ago with one bag, and nobody asked me why. The harbour was full of boats in "
        "those days, and every one of them leaked. So I took a plane and a pot of pitch and went from hull to hull. An "
        "old man paid me in dried squid for the first month. By winter I had a shed, by spring a wife, and she still "
        "says that it was the shed she married. Mind the step, it is loose. My daughter wants to leave us for the "
        "city, and I have no plane for that. She writes her plans on paper bags and hides them under the flour. I have "
        "read two, and I wish that I had not. The boy is no trouble yet; he counts gulls and gives them names. Of all "
        "my boats I kept one, the smallest, for the day when somebody asks me for it."
    )
    conversation_id = hold(says(HELLO, leaves=True), {**replies("x").model_dump(), "utterance": long})
    kept = _texts(room, conversation_id)[1]
    assert long.startswith(kept)
    assert kept.endswith(".")
    assert LONGEST_WORDS * 3 // 4 < len(kept) <= LONGEST_WORDS
    assert (len(script.history), turns(room, conversation_id)[1].calls) == (2, 1)


@pytest.mark.parametrize("blank", ["   ", "\n\t", "　　"])
def test_a_blank_utterance_is_an_empty_answer_and_no_turn(
    room: ConversationDependencies, hold_either: Hold, blank: str
) -> None:
    conversation_id = hold_either(says(HELLO), replies(blank))
    row = talk(room, conversation_id)
    assert _texts(room, conversation_id) == [HELLO]
    assert row.end_reason == EndReason.MODEL_FAILURE
    assert row.failure is not None
    assert row.failure["type"] == "model-empty"
    assert row.calls == 2


def test_every_turn_is_committed_before_the_next_is_made(room: ConversationDependencies, script: ScriptedModel) -> None:
    seen: list[list[str]] = []

    def looking(answer: CharacterTurn | NpcTurn | OpeningTurn) -> Callable[[Prompt[Any]], BaseModel]:
        def answers(prompt: Prompt[Any]) -> BaseModel:
            seen.append([row["text"] for row in rows(room, TurnRow)])
            return answer

        return answers

    script.enqueue(looking(says(HELLO)), looking(replies(FAMILY, leaves=True)), looking(says(THANKS, leaves=True)))
    asyncio.run(Engine(room).converse(main(meet(room))))
    assert seen == [[], [HELLO], [HELLO, FAMILY]]


def test_a_turn_bears_the_world_time_at_which_it_was_spoken(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    def later(prompt: Prompt[Any]) -> BaseModel:
        pass_minutes(room, 5)
        return replies(FAMILY, leaves=True)

    conversation_id = _hold(room, script, says(HELLO, leaves=True), later)
    row = talk(room, conversation_id)
    assert [turn.at - row.started_at for turn in turns(room, conversation_id)] == [0, 5]
    assert row.ended_at == row.started_at + 5


def test_a_talk_ended_while_the_model_speaks_keeps_what_was_said_and_no_more(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    def ended(prompt: Prompt[Any]) -> BaseModel:
        room.database.write_now(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
        return replies(FAMILY)

    script.enqueue(says(HELLO), ended)
    conversation_id = meet(room)
    asyncio.run(Engine(room).converse(main(conversation_id)))
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.ENDED_BY_CLIENT)
    assert _texts(room, conversation_id) == [HELLO]
    assert talk(room, conversation_id).calls == 2  # what was paid is counted all the same


def test_costs_are_counted_by_world_day_and_role_with_retries_and_failures(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    failing = ModelTimeout(model="m", seconds=60)
    failing.usage = Usage(calls=3, prompt_tokens=77)
    first = _hold(room, script, says(HELLO), replies(AS_AI), replies(FAMILY), failing)
    paid = [prompt for prompt in script.history if prompt.role == "npc"]
    place(room, world_id="other")
    second = _hold(room, script, says(HELLO, leaves=True), replies("Bye."), world_id="other")
    main = {row.role: row for row in room.database.read_now(lambda s: usage_rows(s, "main"))}
    other = {row.role: row for row in room.database.read_now(lambda s: usage_rows(s, "other"))}
    assert {role: (row.calls, row.failures) for role, row in main.items()} == {"character": (4, 1), "npc": (2, 0)}
    assert {role: (row.calls, row.failures) for role, row in other.items()} == {"character": (1, 0), "npc": (1, 0)}
    assert len(paid) == 2
    heard = turns(room, first)
    assert main["npc"].prompt_tokens == heard[1].prompt_tokens
    assert main["character"].prompt_tokens == heard[0].prompt_tokens + 77
    assert talk(room, first).calls == 6
    assert talk(room, second, world_id="other").calls == 2
    assert talk(room, first).prompt_tokens == sum(row.prompt_tokens for row in main.values())


def test_a_day_that_begins_in_a_talk_gets_its_own_count(room: ConversationDependencies, script: ScriptedModel) -> None:
    def tomorrow(prompt: Prompt[Any]) -> BaseModel:
        pass_minutes(room, 24 * 60)
        return says(THANKS, leaves=True)

    _hold(room, script, says(HELLO), replies(FAMILY, leaves=True), tomorrow)
    counted = room.database.read_now(lambda s: usage_rows(s, "main"))
    days = sorted({row.day for row in counted})
    assert [(row.day - days[0], row.role, row.calls) for row in counted] == [
        (0, "character", 1),
        (0, "npc", 1),
        (1, "character", 1),
    ]


def test_listeners_hear_the_words_grow_then_the_turn_then_the_end(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    stream = Recorded()
    room = replace(room, stream=stream)
    script.enqueue(says(HELLO, leaves=True), replies(FAMILY, leaves=True))
    conversation_id = meet(room)
    with stream.followed() as heard:
        asyncio.run(Engine(room).converse(main(conversation_id)))
    first = [words for words in spoken(heard) if words.turn == 0]
    assert len(first) > 3
    assert first[-1].text == HELLO
    assert first[-1].speaker_name == "Aoi"
    assert all(HELLO.startswith(moment.text) for moment in first)
    assert [words.text for words in (first[-1], spoken(heard)[-1])] == [HELLO, FAMILY]
    assert heard[-2:] == ["hushed", "committed"]
    assert talk(room, conversation_id).end_reason == EndReason.WANTS_TO_END


def test_a_budget_that_is_used_up_ends_the_talk_without_a_word_more(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    spent = limited(room, script, max_calls_per_day=3)
    conversation_id = _hold(spent, script, says(HELLO), replies(FAMILY))
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.BUDGET_EXHAUSTED)
    assert _texts(room, conversation_id) == [HELLO, FAMILY]
    assert row.failure is not None
    assert (row.failure["type"], row.failure["role"]) == ("budget-exhausted", "character")
    assert "used up" in row.failure["en"]
    assert "使い切りました" in row.failure["ja"]
    assert len(script.history) == 2, "nobody is asked for a farewell"
    assert engaged(room) == []
    (usage,) = {(row.calls, row.failures) for row in room.database.read_now(lambda s: usage_rows(s, "main"))}
    assert usage == (1, 0), "a call that was not made has not failed"
    script.enqueue(recollection())
    asyncio.run(close(spent, main(conversation_id)))
    assert talk(room, conversation_id).phase == Phase.CLOSED, "the third call was kept for what was said"


def test_a_repair_that_the_budget_has_no_room_for_is_no_dialogue(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _hold(limited(room, script, max_calls_per_day=2), script, says(AS_AI))
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.BUDGET_EXHAUSTED)
    assert (_texts(room, conversation_id), row.calls) == ([], 1)


def test_who_rehearses_knows_what_it_said_to_the_other_today_and_before(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    with_a_model = room
    rehearsing = room.settings.model_copy(update={"llm": LlmSettings(provider="rehearsal")})
    room = replace(room, settings=rehearsing)
    for minutes in (0, 60, MINUTES_PER_DAY, SAID_MINUTES):
        pass_minutes(room, minutes)
        _hold(room, script, says(f"{HELLO} {minutes}", leaves=True), replies(FAREWELL, leaves=True))
    asked = [_scene(prompt) for prompt in script.history]
    first, later = f"{HELLO} 0", f"{HELLO} 60"
    assert [one.said_today for one in asked[0::2]] == [(), (first,), (), ()]
    assert [one.said_before for one in asked[0::2]] == [(), (), (first, later), ()]
    assert [one.said_today for one in asked[1::2]] == [(), (FAREWELL,), (), ()]
    assert not any(first in message.content for message in script.history[-2].messages)
    _hold(with_a_model, script, says(HELLO, leaves=True), replies(FAREWELL, leaves=True))
    assert _scene(script.history[-2]).said_today == (), "with a model it is not read"


def test_a_conversation_of_three_turns_and_its_closing_ask_the_database_for_little(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    """What is needed of both people is read at once, and what is written into a table goes there in one statement."""
    script.enqueue(says(HELLO), replies(FAMILY, leaves=True), says(THANKS, leaves=True), recollection())
    place(room)

    async def run(key: ConversationKey) -> None:
        await Engine(room).converse(key)
        await Engine(room).close(key)

    with statements(room.database.engine) as asked:
        asyncio.run(run(main(begin(room))))
    words = [statement.split(None, 1)[0] for statement in asked]
    assert words.count("SELECT") <= 36
    assert sum(word in ("INSERT", "UPDATE", "DELETE") for word in words) <= 35, (
        "five of them for the log of a replay, one for the end of its job"
    )
