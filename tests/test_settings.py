"""Owns the tests of reading the settings: how a list may be written, and what is told of what cannot be read."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from service.errors import WrongSettings
from service.settings import Limit, LlmSettings, Price, Settings, read_settings


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's settings or .env is read."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", *(f"KATARIBE_{name.upper()}" for name in Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)


def lists_of(model: type[BaseModel], *path: str) -> Iterator[tuple[str, ...]]:
    """Where a model, or one inside it, has a list of texts."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from lists_of(inner, *path, name)
        elif get_origin(inner) is not None and "list[str]" in str(inner):
            yield (*path, name)


LISTS = tuple(lists_of(Settings))


def value_at(settings: Settings, path: tuple[str, ...]) -> Any:
    """The value of one setting."""
    value: Any = settings
    for name in path:
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("path", LISTS, ids="__".join)
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("http://localhost:3000", ["http://localhost:3000"]),
        ("http://a.example, http://b.example,", ["http://a.example", "http://b.example"]),
        ('["http://a.example", "http://b.example"]', ["http://a.example", "http://b.example"]),
        ("[::1], localhost", ["[::1]", "localhost"]),
        ("*", ["*"]),
        ("8010", ["8010"]),
        ("[]", []),
    ],
)
@pytest.mark.parametrize("from_file", [False, True], ids=["environment", "file"])
def test_every_list_is_written_with_commas_or_as_json(
    monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], written: str, read: list[str], *, from_file: bool
) -> None:
    name = "KATARIBE_" + "__".join(path).upper()
    if from_file:
        Path(".env").write_text(f"{name}={written}\n", encoding="utf-8")
    else:
        monkeypatch.setenv(name, written)
    assert value_at(read_settings(), path) == read


def test_there_are_lists_and_an_empty_one_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("cors_origins",) in LISTS
    monkeypatch.setenv("KATARIBE_CORS_ORIGINS", "")
    assert read_settings().cors_origins == []


def test_limits_and_prices_are_written_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KATARIBE_LLM__LIMITS", '[{"scope": "player", "of": "ken", "most": 20000}]')
    monkeypatch.setenv("KATARIBE_LLM__PRICES", '{"gpt-4.1-mini": {"prompt": 0.4, "completion": 1.6}}')
    llm = read_settings().llm
    assert llm.limits == [Limit(scope="player", of="ken", unit="tokens", most=20000, soft=0.8)]
    assert llm.prices == {"gpt-4.1-mini": Price(prompt=0.4, completion=1.6)}


def test_a_group_may_be_written_as_json_and_its_parts_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("KATARIBE_LLM__ATTEMPTS=2\n", encoding="utf-8")
    monkeypatch.setenv("KATARIBE_LLM", json.dumps({"model": "m", "seed": 1, "npc": {"model": "n"}}))
    monkeypatch.setenv("KATARIBE_LLM__SEED", "5")
    llm = read_settings().llm
    assert (llm.model, llm.seed, llm.npc.model, llm.attempts) == ("m", 5, "n", 2)


WRONG = [
    ("KATARIBE_PORT", "abc", "KATARIBE_PORT: expected a whole number", "設定 KATARIBE_PORT: 整数を書いてください"),
    ("KATARIBE_PORT", "70000", "a number of 65535 or less", "65535 以下の数"),
    ("KATARIBE_LLM__MAX_CONCURRENCY", "many", "a whole number", "整数を"),
    ("KATARIBE_LLM__MAX_CONCURRENCY", "0", "a number of 1 or more", "1 以上の数"),
    ("KATARIBE_LLM__TIMEOUT_SECONDS", "0", "a number greater than 0", "0 より大きい数"),
    ("KATARIBE_WORLD__DAY_STARTS_MINUTES", "1440", "a number less than 1440", "1440 より小さい数"),
    ("KATARIBE_LLM__TEMPERATURE", "hot", "a number", "数を"),
    ("KATARIBE_WORLD__LANGUAGE", "fr", "'en' or 'ja'", "'en'、'ja' のどれか"),
    (
        "KATARIBE_LLM__MAX_CONCURENCY",
        "3",
        "did you mean KATARIBE_LLM__MAX_CONCURRENCY?",
        "MAX_CONCURRENCY ではありませんか",
    ),
    ("KATARIBE_MAX_TURN", "3", "did you mean KATARIBE_MAX_TURNS?", "MAX_TURNS ではありませんか"),
    ("KATARIBE_LLM__NPC__SEED", "3", "there is no such setting", "その設定はありません"),
    ("KATARIBE_LLM", '{"api_key": "secret"', "a JSON object", "JSON のオブジェクト"),
    ("KATARIBE_LLM__NPC", "secret", "a JSON object", "JSON のオブジェクト"),
    ("KATARIBE_CORS_ORIGINS", '["http://a.example', "a list, as one,two", "one,two"),
    ("KATARIBE_CORS_ORIGINS", "[1]", "a text", "文字列"),
]


@pytest.mark.parametrize(("name", "value", "en", "ja"), WRONG)
@pytest.mark.parametrize("from_file", [False, True], ids=["environment", "file"])
def test_what_cannot_be_read_is_one_sentence_with_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, en: str, ja: str, *, from_file: bool
) -> None:
    monkeypatch.delenv("KATARIBE_LLM__AWAY_SECONDS", raising=False)
    if from_file:
        Path(".env").write_text(f"{name}={value}\n", encoding="utf-8")
    else:
        monkeypatch.setenv(name, value)
    with pytest.raises(WrongSettings) as caught:
        read_settings()
    english, japanese = caught.value.sentence("en"), caught.value.sentence("ja")
    assert english.startswith(f"{name}: ")
    assert en in english
    assert japanese.startswith(f"設定 {name}: ")
    assert ja in japanese
    assert "\n" not in english + japanese
    assert "secret" not in english + japanese


def test_each_wrong_setting_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KATARIBE_PORT", "abc")
    monkeypatch.setenv("KATARIBE_LLM", '{"seed": "x", "model": 3}')
    with pytest.raises(WrongSettings) as caught:
        read_settings()
    told = caught.value.sentence("en").splitlines()
    assert sorted(line.split(":")[0] for line in told) == ["KATARIBE_LLM__MODEL", "KATARIBE_LLM__SEED", "KATARIBE_PORT"]


def test_a_kind_of_error_without_words_of_its_own_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KATARIBE_PORT", "9" * 5000)
    with pytest.raises(WrongSettings) as caught:
        read_settings()
    assert caught.value.sentence("en").startswith("KATARIBE_PORT: Unable to parse")
    assert caught.value.sentence("ja").startswith("設定 KATARIBE_PORT: この値は使えません(")


def test_a_file_that_is_no_text_is_named() -> None:
    Path(".env").write_bytes(b"KATARIBE_PORT=\xff\n")
    with pytest.raises(WrongSettings) as caught:
        read_settings()
    assert caught.value.sentence("en") == ".env: the file cannot be read as text in UTF-8"
    assert re.match("設定 .env: ", caught.value.sentence("ja"))


def test_a_setting_given_in_code_needs_no_file() -> None:
    Path(".env").write_text("KATARIBE_LLM__SEED=5\n", encoding="utf-8")
    assert Settings(_env_file=None, llm=LlmSettings(attempts=1)).llm.seed == LlmSettings().seed


@pytest.mark.parametrize("name", ["sql", "sqlite"])
def test_the_memorys_former_name_is_taken_for_todays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("KATARIBE_MEMORY__BACKEND", name)
    assert read_settings().memory.backend == "sql"


@pytest.mark.parametrize(
    ("text", "share"),
    [("off", 0), ("all", 1), ("5%", 0.05), ("sample 5 %", 0.05), ("Sample 12.5%", 0.125), ("0.2", 0.2), ("0", 0)],
)
def test_a_share_is_written_as_people_write_it(monkeypatch: pytest.MonkeyPatch, text: str, share: float) -> None:
    monkeypatch.setenv("KATARIBE_QUALITY__SHARE", text)
    monkeypatch.setenv("KATARIBE_QUALITY__NPC", "all")
    quality = read_settings().quality
    assert (quality.of("character"), quality.of("decision"), quality.of("npc")) == (share, share, 1)


@pytest.mark.parametrize("text", ["half", "5 percent", "-5%", "", "150%", "1.5"])
def test_what_is_no_share_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KATARIBE_QUALITY__SHARE", text)
    with pytest.raises(WrongSettings) as caught:
        read_settings()
    assert "KATARIBE_QUALITY__SHARE" in caught.value.sentence("en")


def test_nothing_is_checked_unless_somebody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not read_settings().quality.is_on
    monkeypatch.setenv("KATARIBE_QUALITY__DECISION", "5%")
    assert read_settings().quality.is_on


def test_settings_do_not_change_and_what_is_changed_are_others() -> None:
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        settings.world.table = 3  # type: ignore[misc]
    changed = settings.changed(port=1, world={"table": 3})
    assert (changed.port, changed.world.table, settings.port, settings.world.table) == (1, 3, 8010, 4)
