"""A third language is a file of sentences and folders of prompts, put beside the others: nothing else is touched.

The language xx is English with every sentence in brackets, so that a text that stands in the code shows without them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

from tests.content.village import Village

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long
CODE = {"context", "utterance", "emotion", "ag", "neutral", "happy", "rest", "sleep", "bake", "bakery", "house", "mill"}
"""What is in no language: the frame of a prompt, fields of an answer, what a field may say, and ids (`ag1`: a goal)."""
_WRAPPED = re.compile(r"⟦[^⟦⟧]*⟧")
_WORD = re.compile(r"[A-Za-z]{2,}")


def wrapped(text: Any) -> Any:
    """Every text in brackets, whatever it stands in."""
    if isinstance(text, dict):
        return {key: wrapped(inner) for key, inner in text.items()}
    if isinstance(text, list):
        return [wrapped(inner) for inner in text]
    return f"⟦{text}⟧"


def in_xx(content: Any) -> Any:
    """What an author wrote, with each text in xx too."""
    if isinstance(content, list):
        return [in_xx(inner) for inner in content]
    if not isinstance(content, dict):
        return content
    if content.keys() <= {"en", "ja"}:
        return {**content, "xx": f"⟦{next(iter(content.values()))}⟧"}
    return {key: in_xx(inner) for key, inner in content.items()}


def wrapped_template(source: str) -> str:
    """A prompt with each of its lines of text in brackets, and the words that it chooses from."""
    told, before = [], ""
    for _, kind, text in Environment(autoescape=True).lex(source):
        if kind == "data":
            told.append(
                re.sub(r"\S[^\n]*", lambda found: f"⟦{found[0].rstrip()}⟧" + " " * found[0].endswith(" "), text)
            )
        elif kind == "string" and before not in ("==", "=", "include"):
            told.append(f'"⟦{text[1:-1]}⟧"')
        else:
            told.append(text)
        before = before if kind == "whitespace" else text
    return "".join(told)


def left_over(text: str) -> list[str]:
    """The words that stand in no brackets."""
    while _WRAPPED.search(text):
        text = _WRAPPED.sub(" ", text)
    return _WORD.findall(text)


class Shown(HTMLParser):
    """What a person reads of a page. Code is in no language, and each language is named in its own."""

    READ = ("title", "alt", "aria-label", "placeholder")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag in ("script", "style", "code") or "hreflang" in dict(attrs)
        self.texts += [value for name, value in attrs if name in self.READ and value]

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the service with one file and one folder a prompt more, and a village whose author writes xx too."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("service", "world", "studio", "migrations"):
        shutil.copytree(ROOT / name, tree / name)
    english = yaml.safe_load((tree / "service/locales/en.yaml").read_text("utf-8"))
    text = yaml.safe_dump(wrapped(english), allow_unicode=True, sort_keys=False)
    (tree / "service/locales/xx.yaml").write_text(text, encoding="utf-8")
    for source in list((tree / "service").rglob("prompts/en/*.j2")):
        target = source.parents[1] / "xx" / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(wrapped_template(source.read_text("utf-8")), encoding="utf-8")
    village = Village.with_actions()
    for person, home in (("sora", "door"), ("umi", "yard")):
        profile = {**village.sora, "id": person, "name": {"en": person}, "home": home, "decision": "model"}
        village.people[f"characters/{person}.yaml"] = profile
    for name, written in (("name", "Quiet"), ("personality", "Quiet.")):
        village.people["npcs/hermit.yml"][name] = {"en": written}
    village.needs[1]["name"] = {"en": "Money"}
    village.maps, village.actions = in_xx(village.maps), in_xx(village.actions)
    village.people = {file: in_xx(person) for file, person in village.people.items()}
    village.write(tree / "village")
    return tree


@pytest.fixture(scope="module")
def story(tree: Path) -> dict[str, dict[str, Any]]:
    """What was read of a story in xx, and of commands, by a user whose locale is xx."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "LC_ALL": "xx_XX.UTF-8", "PYTHONUTF8": "1"}
    broken = Village.with_actions()
    broken.baker["mood"] = "cross"
    paths = (tree / "data", tree / "village", broken.write(tree / "broken"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.locales.third_language", *map(str, paths)],
        cwd=tree,
        env=environment,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return told


def test_every_answer_is_in_a_third_language(story: dict[str, dict[str, Any]]) -> None:
    assert all(text for text in story["read"].values())
    assert {name: left_over(text) for name, text in story["read"].items()} == {name: [] for name in story["read"]}


def test_every_page_is_in_a_third_language(story: dict[str, dict[str, Any]]) -> None:
    shown = {
        path: [word for text in Shown(page).texts for word in left_over(text)] for path, page in story["pages"].items()
    }
    assert shown == {path: [] for path in story["pages"]}


def test_every_prompt_is_in_a_third_language(story: dict[str, dict[str, Any]]) -> None:
    assert set(story["prompts"]) == {"speaker", "closing", "verify", "decide", "plan"}
    left = {name: set(left_over(text)) - CODE for name, text in story["prompts"].items()}
    assert left == {name: set() for name in story["prompts"]}


def test_the_command_line_speaks_a_third_language(story: dict[str, dict[str, Any]]) -> None:
    check, export, serve = (story["commands"][name] for name in ("check", "export", "help"))
    assert check["status"] == 1
    assert left_over(check["out"].replace("npcs/baker.yaml: mood: ", "")) == left_over(check["err"]) == []
    assert left_over(export["err"]) == []
    assert "⟦Serve the HTTP API and the pages.⟧" in serve["out"]


def test_who_speaks_without_a_model_speaks_a_third_language(story: dict[str, dict[str, Any]]) -> None:
    told = story["commands"]["demo"]
    assert told["status"] == 0, told["err"][-3000:]
    # A quotation that was cut between two sentences has lost a bracket of them.
    whole = [line for line in told["out"].split("\n") if line.count("⟦") == line.count("⟧")]
    spoken = [line for line in whole if line.startswith(("⟦sora⟧: ", "⟦Hanna⟧: "))]
    assert len(spoken) >= 8
    assert [left_over(line) for line in whole if left_over(line)] == []
