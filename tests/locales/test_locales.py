"""Holds the files of sentences: every language says the same, and the code asks for all of it and for nothing else."""

import ast
import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

import service
import studio
from service import locales
from service.content.profile import PersonKind
from service.errors import KataribeError, NotFound
from service.locales import Phrase, language_accepted, language_named, languages, room, sentence

ROOMS = [Path(top.__path__[0]) for top in (service, studio)]
NEVER_RAISED = {"conflict", "model-error"}
"""Errors that only others are made of."""


def read(language: str) -> dict[str, Any]:
    """All sentences of a language."""
    return dict(locales._read(language))


def facts_of(text: Any) -> set[str]:
    """The facts that a sentence, its forms or a list need together."""
    parts = text.values() if isinstance(text, dict) else [text] if isinstance(text, str) else text
    return {name for part in parts for _, name, _, _ in Formatter().parse(part) if name is not None}


@cache
def constants() -> tuple[frozenset[str], frozenset[str]]:
    """Every text in the code, and every beginning of one that is put together."""
    whole, begun = set(), set()
    for file in (file for top in ROOMS for file in top.rglob("*.py")):
        parts = set()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                parts.add(id(node.values[0]))
                begun.add(str(node.values[0].value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "room":
                parts.add(id(node.args[1]))
                begun.add(f"{ast.literal_eval(node.args[1])}.")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                whole.add(node.value)
    return frozenset(whole), frozenset(begun)


def test_every_language_has_the_same_sentences() -> None:
    assert {language: set(read(language)) ^ set(read("en")) for language in languages()} == {"en": set(), "ja": set()}


def test_no_sentence_is_empty() -> None:
    assert [(language, key) for language in languages() for key, text in read(language).items() if not text] == []


@pytest.mark.parametrize("language", languages())
def test_a_sentence_needs_the_same_facts_in_every_language(language: str) -> None:
    english = read("en")
    assert [key for key, text in read(language).items() if facts_of(text) != facts_of(english[key])] == []


def test_every_key_in_the_code_is_a_sentence() -> None:
    keys, rooms = set(read("en")), {key.split(".")[0] for key in read("en")}
    looks_like_a_key = re.compile(rf"({'|'.join(rooms)})(\.[a-z][a-z0-9_-]*)+\.?")
    named, begun = (set(filter(looks_like_a_key.fullmatch, found)) for found in constants())
    assert named - keys == set()
    assert {text for text in begun if not any(key.startswith(text) for key in keys)} == set()


def test_no_sentence_is_left_over() -> None:
    whole, begun = constants()
    rooms = tuple(text for text in begun if "." in text)
    assert [key for key in read("en") if key not in whole and not key.startswith(rooms)] == []


def test_every_error_has_a_sentence_and_every_sentence_an_error() -> None:
    for package in (service, studio):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    found = [KataribeError]
    for error in found:
        found += error.__subclasses__()
    slugs = {error.slug for error in found if error.__module__.startswith(("service.", "studio."))}
    assert slugs - NEVER_RAISED == set(room("en", "errors"))


def test_a_missing_fact_or_sentence_is_an_error() -> None:
    with pytest.raises(KeyError, match="host"):
        sentence("en", "errors.host-not-allowed")
    with pytest.raises(KeyError, match="no-such"):
        sentence("en", "errors.no-such")


def test_a_phrase_is_said_in_the_language_of_the_sentence_around_it() -> None:
    inner = Phrase("errors.stopping")
    assert sentence("ja", "errors.invalid", field="f", reason=inner).startswith("f: サービスが停止中です")
    assert str(inner).startswith("The service is stopping")


@pytest.mark.parametrize(
    ("tag", "language"),
    [("ja", "ja"), ("ja-JP", "ja"), ("ja_JP.UTF-8", "ja"), ("EN", "en"), ("C.UTF-8", None), ("", None), (None, None)],
)
def test_a_tag_names_a_language_that_has_a_file(tag: str | None, language: str | None) -> None:
    assert language_named(tag) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("ja,en;q=0.5", "ja"),
        ("en;q=0.5, ja", "ja"),
        ("fr-FR,fr;q=0.9,ja;q=0.8,en;q=0.7", "ja"),
        ("ja;q=0, en;q=0.1", "en"),
        ("*", None),
        ("ja;q=x", "ja"),
        ("", None),
        (None, None),
    ],
)
def test_a_header_asks_for_the_first_language_that_has_a_file(header: str | None, language: str | None) -> None:
    assert language_accepted(header) == language


def _kinds_of(call: ast.Call) -> list[ast.expr]:
    """Where the call says that something is not found: what kind of thing."""
    assert isinstance(call.func, ast.Name)
    if call.func.id == "existing":
        return call.args[1:2]
    named = [given.value for given in call.keywords if given.arg == "kind"]
    return named if call.func.id in ("NotFound", "NoSuchWorld") else []


def test_everything_that_is_not_found_has_a_word_for_its_kind_in_every_language() -> None:
    kinds = {"person", *get_args(PersonKind)} | {  # whom content/load.py does not find
        kind.value
        for top in ROOMS
        for file in top.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        for kind in _kinds_of(call)
        if isinstance(kind, ast.Constant)
    }
    assert kinds == set(room("en", "kinds")) == set(room("ja", "kinds"))
    assert NotFound(kind="person", id="nobody").sentence("ja") == "この世界に人物 'nobody' は見つかりません。"
    assert str(NotFound(kind="npc", id="nobody")) == "There is no NPC 'nobody' in this world."
    meant = NotFound(kind="npc", id="npc_tarou", among=("npc_taro", "npc_ume"))
    assert meant.sentence("en") == "There is no NPC 'npc_tarou' in this world (did you mean \"npc_taro\"?)."
    assert meant.sentence("ja").endswith('見つかりません("npc_taro" ではありませんか?)。')


def test_no_sentence_leaves_the_plural_to_its_reader() -> None:
    whole = {key: text if isinstance(text, str) else " ".join(text) for key, text in read("en").items()}
    assert [key for key, text in whole.items() if "(s)" in text] == []


FACTS = (
    "affinity",
    "ago",
    "summary",
    "directory",
    "errors",
    "world_id",
    "place",
    "file",
    "world",
    "character",
    "label",
)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("demo.relation", ("met once,", "met twice,", "met 3 times,")),
        ("errors.content-errors", ("An error in", "2 errors in", "3 errors in")),
        ("errors.world-in-use", ("A conversation of world", "2 conversations of world", "3 conversations of world")),
        ("demo.night", ("1 conversation of the day is", "2 conversations of the day are")),
        ("counts.days", ("1 day", "2 days")),
        ("counts.people", ("1 person", "2 people")),
        ("cli.errors", (": 1 error", ": 2 errors", ": 3 errors")),
        ("cli.exported", (": 1 line", ": 2 lines", ": 3 lines")),
        ("cli.adopted", (": 1 group taken", ": 2 groups taken", ": 3 groups taken")),
        ("cli.purged", (": 1 group removed", ": 2 groups removed", ": 3 groups removed")),
        ("decision.talked_today", ("once", "twice", "3 times")),
    ],
)
def test_one_is_no_plural_in_english(key: str, said: tuple[str, ...]) -> None:
    for count, expected in enumerate(said, 1):
        told = sentence("en", key, count=count, **dict.fromkeys(FACTS, "x"))
        assert expected in told
