"""Owns the tests of cassettes: what was recorded is answered again, without a model, in whatever order it is asked."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.conversation.acting import CharacterTurn, NpcTurn
from service.errors import (
    CassetteMiss,
    CassetteUnusable,
    KataribeError,
    Misconfigured,
    ModelBroken,
    ModelRateLimited,
)
from service.llm.cassette import Cassette, Recorded, Voice, open_cassette, request_of
from service.llm.chat import Answer, ChatModel, Message, Prompt
from service.llm.choose import choose_models
from service.locales import Phrase
from service.settings import CassetteMode, LlmSettings, Settings
from tests.llm.prompts import TURN, ask
from tests.scripted_model import Scripted, ScriptedModel
from tests.servers.fake_openai import FakeOpenAI, failing, rate_limited

VOICE = Voice(name="scripted", model="m", temperature=None)


def said(words: str) -> dict[str, Any]:
    return {**TURN, "utterance": words}


def asked(words: str = "Speak.", thread: str = "", **more: Any) -> Prompt[CharacterTurn]:
    system = Message(role="system", content="You are Ren.\nYou sail.")
    return replace(ask(system, Message(role="user", content=words), **more), thread=thread)


def taped(directory: Path, mode: CassetteMode = "auto", *script: Scripted) -> Recorded:
    """A model that plays the script, recorded."""
    return Recorded(ScriptedModel(*script), Cassette(directory, mode), VOICE)


def words_of(model: ChatModel, *prompts: Prompt[CharacterTurn]) -> list[str]:
    async def run() -> list[Answer[CharacterTurn]]:
        return [await model.complete(prompt) for prompt in prompts]

    return [answer.value.utterance for answer in asyncio.run(run())]


def files(directory: Path) -> list[Path]:
    return sorted((directory / "calls").iterdir())


def test_what_was_recorded_is_answered_again_with_its_cost_and_heard_whole(tmp_path: Path) -> None:
    first = asyncio.run(taped(tmp_path / "c", "record", said("Ahoy!")).complete(asked()))
    heard: list[tuple[str, str | None]] = []
    replayed = taped(tmp_path / "c", "replay")
    again = asyncio.run(replayed.complete(asked(), lambda *told: heard.append(told)))
    assert again == first
    assert heard == [("Ahoy!", "happy")]
    assert replayed.name == "scripted"


def test_a_failure_is_replayed_as_it_was_and_asked_again_in_auto(tmp_path: Path) -> None:
    broken = ModelBroken(model="scripted", reason=Phrase("llm.broken_json", reason="no", position=3))
    limited = ModelRateLimited(model="scripted", retry_after_seconds=2.5)

    def failures(model: Recorded) -> list[KataribeError]:
        found: list[KataribeError] = []
        for _ in range(2):
            with pytest.raises((ModelBroken, ModelRateLimited)) as failed:
                asyncio.run(model.complete(asked()))
            found.append(failed.value)
        return found

    failures(taped(tmp_path / "c", "record", broken, limited))
    first, second = failures(taped(tmp_path / "c", "replay"))
    assert first.sentence("ja") == broken.sentence("ja")
    assert (type(second), second.facts) == (ModelRateLimited, limited.facts)
    assert words_of(taped(tmp_path / "c", "auto", said("Ahoy!")), asked()) == ["Ahoy!"]
    assert words_of(taped(tmp_path / "c", "replay"), asked()) == ["Ahoy!"]


def test_auto_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    words_of(taped(tmp_path / "c", "auto", said("one")), asked("1"))
    assert words_of(taped(tmp_path / "c", "auto", said("two")), asked("1"), asked("2")) == ["one", "two"]
    assert words_of(taped(tmp_path / "c", "replay"), asked("2"), asked("1")) == ["two", "one"]


def test_the_same_request_is_answered_to_each_asker_in_its_own_order_whoever_comes_first(tmp_path: Path) -> None:
    recorded = [asked(thread=f"main/{who}") for who in ("a", "b", "a", "b")]
    words_of(taped(tmp_path / "c", "record", *map(said, ("a1", "b1", "a2", "b2"))), *recorded)
    b, a, a2, b2 = (asked(thread=f"main/{who}") for who in ("b", "a", "a", "b"))
    replayed = taped(tmp_path / "c", "replay")
    assert words_of(replayed, b, a, a2, b2) == ["b1", "a1", "a2", "b2"]
    branch = [asked(thread=f"branch/{who}") for who in ("b", "x", "b")]
    assert words_of(replayed, *branch) == ["b1", "a1", "b2"]
    strangers = [asked(thread=f"main/{who}") for who in ("x", "y", "x")]
    assert words_of(taped(tmp_path / "c", "replay"), *strangers) == ["a1", "b1", "a2"]


def test_two_worlds_that_ask_the_same_while_they_are_recorded_are_both_asked(tmp_path: Path) -> None:
    twice = [asked(thread="one/a"), asked(thread="two/a")]
    assert words_of(taped(tmp_path / "c", "record", said("1"), said("2")), *twice) == ["1", "2"]
    assert words_of(taped(tmp_path / "c", "replay"), *reversed(twice)) == ["2", "1"]


def test_who_asks_at_once_is_answered_in_the_order_of_asking_not_of_answering(tmp_path: Path) -> None:
    class Slow:
        name = "scripted"

        async def complete(self, prompt: Prompt[Any], on_text: object = None) -> Answer[Any]:
            number = int(prompt.thread[-1])
            await asyncio.sleep(0.02 * (3 - number))
            return Answer(value=prompt.answer.model_validate(said(str(number))), model=self.name)

        async def aclose(self) -> None: ...

    async def all_at_once(model: ChatModel, askers: str) -> list[str]:
        answers = await asyncio.gather(*(model.complete(asked(thread=f"w/{asker}")) for asker in askers))
        return [answer.value.utterance for answer in answers]

    slow = Recorded(Slow(), Cassette(tmp_path / "c", "record"), VOICE)
    assert asyncio.run(all_at_once(slow, "012")) == ["0", "1", "2"]
    assert asyncio.run(all_at_once(taped(tmp_path / "c", "replay"), "xyz")) == ["0", "1", "2"]


def test_a_world_that_is_brought_back_asks_for_the_first_time_again(tmp_path: Path) -> None:
    model = Recorded(ScriptedModel(said("one")), cassette := Cassette(tmp_path / "c", "auto"), VOICE)
    assert words_of(model, asked(thread="main/a")) == ["one"]
    cassette.rewind("main")
    assert words_of(model, asked(thread="main/a")) == ["one"]
    cassette.rewind("other")
    with pytest.raises(AssertionError, match="no answer left"):  # it is asked for a second time
        words_of(model, asked(thread="main/a"))


@pytest.mark.parametrize(
    ("changed", "finds"),
    [
        (asked("Speak!"), False),
        (replace(asked(), messages=asked().messages[::-1]), False),
        (replace(asked(), messages=(ask().messages[0], asked().messages[1])), False),
        (asked(max_tokens=601), False),
        (replace(asked(), answer=NpcTurn), False),  # type: ignore[arg-type]
        (asked(thread="main/x"), True),
        (asked(language="ja", role="closing"), True),
        (replace(asked(), name="other", given=object()), True),
    ],
)
def test_a_request_is_what_an_answer_depends_on_and_nothing_else(changed: Prompt[Any], finds: bool) -> None:
    assert (request_of(changed, VOICE).key == request_of(asked(), VOICE).key) is finds


@pytest.mark.parametrize("voice", [VOICE.model_copy(update=one) for one in ({"model": "n"}, {"temperature": 0.5})])
def test_another_model_or_temperature_is_another_request(voice: Voice) -> None:
    assert request_of(asked(), voice).key != request_of(asked(), VOICE).key


def test_a_miss_names_the_nearest_recorded_prompt_and_the_difference(tmp_path: Path) -> None:
    words_of(
        taped(tmp_path / "c", "record", TURN, TURN), asked("Say how the sea is.\nBe brief."), asked("What do you eat?")
    )
    with pytest.raises(CassetteMiss) as missed:
        words_of(taped(tmp_path / "c", "replay"), asked("Say how the sky is.\nBe brief."))
    told = missed.value.sentence("en")
    assert "does not hold what is asked now (turn, for character)" in told
    assert "-Say how the sea is.\n+Say how the sky is.\n Be brief." in told
    assert "eat" not in told
    assert "いちばん近い録音との違い" in missed.value.sentence("ja")


def test_a_miss_says_where_the_same_was_asked_less_often_or_nothing_is_recorded(tmp_path: Path) -> None:
    words_of(taped(tmp_path / "c", "record", TURN), asked())
    with pytest.raises(CassetteMiss, match="asked once when it was recorded"):
        words_of(taped(tmp_path / "c", "replay"), asked(), asked())
    Cassette(tmp_path / "empty", "record")
    with pytest.raises(CassetteMiss, match="Nothing is recorded"):
        words_of(taped(tmp_path / "empty", "replay"), asked())


def test_a_call_that_was_not_written_to_its_end_is_passed_over_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words_of(taped(tmp_path / "c", "record", said("one"), said("two")), asked("1"), asked("2"))
    torn = next(file for file in files(tmp_path / "c") if '"one"' in file.read_text(encoding="utf-8"))
    torn.write_bytes(torn.read_bytes()[:-40])
    with caplog.at_level(logging.WARNING):
        model = taped(tmp_path / "c", "auto", said("one again"))
    assert str(torn) in caplog.text
    assert words_of(model, asked("2"), asked("1")) == ["two", "one again"]
    assert words_of(taped(tmp_path / "c", "replay"), asked("1")) == ["one again"]


def test_two_may_record_into_one_directory(tmp_path: Path) -> None:
    one, other = taped(tmp_path / "c", "auto", said("one")), taped(tmp_path / "c", "auto", said("other"))
    assert words_of(one, asked(thread="w/a")) + words_of(other, asked(thread="w/b")) == ["one", "other"]
    both = taped(tmp_path / "c", "replay")
    assert words_of(both, asked(thread="w/b"), asked(thread="w/a")) == ["other", "one"]


def _of(change: Callable[[Any], Any], file: Path) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text(encoding="utf-8"))), indent=1) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("change", "en", "ja"),
    [
        (lambda file: {**file, "version": 2}, "cassette.json: version: found the number 2; expected 1", "version"),
        (lambda file: {**file, "color": 1}, "cassette.json: color is not known here", "color"),
    ],
)
def test_a_cassette_of_another_version_is_refused_by_file_and_key(
    tmp_path: Path, change: Callable[[Any], Any], en: str, ja: str
) -> None:
    Cassette(tmp_path / "c", "record")
    _of(change, tmp_path / "c" / "cassette.json")
    with pytest.raises(CassetteUnusable) as refused:
        Cassette(tmp_path / "c", "auto")
    assert en in refused.value.sentence("en")
    assert ja in refused.value.sentence("ja")


@pytest.mark.parametrize(
    ("change", "en"),
    [
        (lambda call: {**call, "usage": {**call["usage"], "calls": "many"}}, 'usage.calls: found "many"; expected'),
        (lambda call: {**call, "failure": {"slug": "bored", "facts": {}}}, 'failure.slug: found "bored"; expected'),
    ],
)
def test_a_call_that_is_not_as_it_should_be_is_named_by_file_and_key(
    tmp_path: Path, change: Callable[[Any], Any], en: str
) -> None:
    words_of(taped(tmp_path / "c", "record", TURN), asked())
    [file] = files(tmp_path / "c")
    _of(change, file)
    with pytest.raises(CassetteUnusable) as refused:
        Cassette(tmp_path / "c", "replay")
    assert f"{file}: {en}" in refused.value.sentence("en")


def test_an_answer_that_somebody_has_broken_is_named_when_it_is_asked_for(tmp_path: Path) -> None:
    words_of(taped(tmp_path / "c", "record", TURN), asked())
    [file] = files(tmp_path / "c")
    _of(lambda call: {**call, "answer": {**TURN, "emotion": "wild"}}, file)
    with pytest.raises(CassetteUnusable, match='emotion: found "wild"'):
        words_of(taped(tmp_path / "c", "replay"), asked())


@pytest.mark.parametrize("mode", ["auto", "replay", "record"])
def test_a_directory_that_is_no_cassette_is_left_alone(tmp_path: Path, mode: CassetteMode) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(Misconfigured, match="is no cassette"):
        Cassette(tmp_path, mode)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_record_begins_anew_and_never_over_what_is_recorded(tmp_path: Path) -> None:
    words_of(taped(tmp_path / "c", "record", TURN), asked())
    with pytest.raises(Misconfigured, match="holds recorded calls already"):
        Cassette(tmp_path / "c", "record")


def test_a_replay_needs_no_settings_no_server_and_no_patience(tmp_path: Path) -> None:
    prompts = [ask(role="npc"), ask(Message(role="user", content="More."), role="decision")]

    def run(**llm: Any) -> list[Answer[CharacterTurn]]:
        settings = Settings(_env_file=None, llm=LlmSettings(cassette=tmp_path / "c", **llm))
        models = choose_models(settings, ScriptedModel(), cassette=open_cassette(settings.llm))

        async def ask_both() -> list[Answer[CharacterTurn]]:
            answers = [await models.for_role(prompt.role).complete(prompt) for prompt in prompts]
            await models.aclose()
            return answers

        return asyncio.run(ask_both())

    with pytest.raises(Misconfigured, match="no model is set to be asked"):
        run()
    flaky = (rate_limited("0"), failing(500))
    with FakeOpenAI(*flaky, answer=lambda body: json.dumps(said(body["model"]))) as server:
        of_npc = {"model": "npc-model", "temperature": 0.5}
        first = run(base_url=server.base_url, model="m", backoff_seconds=0, npc=of_npc, cassette_mode="record")
    assert [answer.usage.calls for answer in first] == [3, 1]
    for _, file in ((0, one) for one in files(tmp_path / "c") if "rate-limited" in one.read_text(encoding="utf-8")):
        _of(lambda call: _waiting(call, 29.0), file)
    again = run(cassette_mode="replay")
    assert again == first
    assert [answer.value.utterance for answer in run()] == ["npc-model", "m"]


def _waiting(call: dict[str, Any], seconds: float) -> dict[str, Any]:
    call["failure"]["facts"]["retry_after_seconds"] = seconds
    return call
