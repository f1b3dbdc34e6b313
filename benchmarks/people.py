"""Measures the checks of `kataribe test`: seeded defects that are found, and false alarms on clean dialogues; and the
making of people from a demography: calls each, near doubles, and whether a recording makes the same people.

Sixty dialogues are clean: thirty that people wrote (talk_cases/clean.*.yaml) and thirty of the rehearsal, which speaks
in its authors' own words. Half of each, `held`, was looked at by nobody who wrote a check.

The people are made by a server that is no language model: its answers fit, but for some that are nonsense, some that
are nearly somebody else, and one person for whom it never has an answer of use.
"""

import io
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import yaml

from service.content.files import bundled_content, init_content
from service.content.load import Content, load_content
from service.locales import Language
from service.memory.secrets import discretion
from service.own_prompts import game_problems
from service.quality.checks import Exchange, Fault, Standard, faults
from service.settings import Settings
from studio.generate.making import Order, make_dataset
from studio.generate.people.making import FOLDER, people_job
from studio.testing.play import run_tests
from tests.servers.fake_openai import FakeOpenAI
from tests.studio.generate.people.somebody import answer

CASES = Path(__file__).parent / "talk_cases"
_SAID: Mapping[str, Sequence[tuple[str, str]]] = {
    "dev": [
        ("Good morning. What do you do all day?", "おはようございます。一日、何をしているんですか。"),
        ("Whom do you like best here?", "ここでいちばん好きな人は誰ですか。"),
        ("What do you regret?", "後悔していることはありますか。"),
        ("What will you do tomorrow?", "明日は何をしますか。"),
    ],
    "held": [
        ("Hello, is it always so windy here?", "こんにちは。ここはいつもこんなに風が強いんですか。"),
        ("They say you know every story of this place.", "この土地の話なら何でもご存じだそうですね。"),
        ("Have you ever wanted to leave?", "出ていきたいと思ったことはありますか。"),
        ("What would you tell somebody who has just come?", "来たばかりの人に、何と言いますか。"),
    ],
}
_REHEARSED = 15
"""Talks of the rehearsal in each half: with the first NPCs, and with the last people of the cast."""

_ASKED = re.compile(r"person number (\d+) of")
_NEVER, _NONSENSE_EVERY, _DOUBLE_EVERY = 4, 25, 10
"""Who never has an answer of use; every so many-th first answer is nonsense, or somebody else's."""


def run(rehearsed: int = _REHEARSED, made: int = 200) -> dict[str, float]:
    """All figures; the rehearsal holds so many talks in each half, and so many people are made."""
    return {**_checks(rehearsed), **_made(made)}


def _checks(rehearsed: int) -> dict[str, float]:
    content = load_content(bundled_content())
    figures: dict[str, float] = {"clean_dialogues": 0, "false_alarms": 0}
    for half in ("dev", "held"):
        written = _read(f"clean.{half}.yaml")
        alarms = sum(bool(_faults(content, one)) for one in written)
        talks, of_them = _rehearsed(content, half, rehearsed)
        figures[f"false_alarms_{half}"] = alarms + of_them
        figures["clean_dialogues"] += len(written) + talks
        figures["false_alarms"] += alarms + of_them
    seeded = _read("defects.yaml")
    found = sum(one["defect"] in {fault.check for fault in _faults(content, one)} for one in seeded)
    return {**figures, "defects_seeded": len(seeded), "defects_found": found}


def _made(count: int) -> dict[str, float]:
    """Recorded over HTTP and then replayed, each into a village of its own."""
    with tempfile.TemporaryDirectory() as found:
        directory = Path(found)
        with FakeOpenAI(answer=_answer) as server:
            record, whole = _make(directory, "recorded", count, {"base_url": server.base_url, "model": "made-up"})
        _, again = _make(directory, "replayed", count, {"cassette_mode": "replay"})
        errors = len(game_problems(directory / "recorded"))
    planned = sum(abs(row["planned"] - row["wanted"]) for row in record["outcome"])
    return {
        "people_asked": record["asked"],
        "people_made": record["made"],
        "calls_per_person": record["calls_per_person"],
        "near_doubles": record["doubles"],
        "off_plan": planned,
        "check_errors": errors,
        "replay_equal": float(whole == again),
    }


def _answer(body: Mapping[str, Any]) -> str:
    """What the server says: by the number of the person, and whether it is asked again."""
    asked = body["messages"][1]["content"]
    found = _ASKED.search(asked)
    number, again = int(found[1]) if found else 0, "could not be used" in asked
    if number == _NEVER or (number % _NONSENSE_EVERY == 0 and not again):
        return "I would rather talk about the weather."
    return json.dumps(answer(number - 1 if number % _DOUBLE_EVERY == 1 and number > 1 and not again else number))


def _make(directory: Path, name: str, count: int, llm: Mapping[str, str]) -> tuple[dict[str, Any], Mapping[str, bytes]]:
    """What came of it, and all files of the world by their names."""
    world, demography = directory / name, directory / "demography.json"
    init_content(world)
    demography.write_text(json.dumps({"count": count, "work": {"fisher": 0.4, "baker": 0.1, "clerk": 0.5}}), "utf-8")
    settings = Settings(
        _env_file=None,
        content_dir=world,
        world={"language": "en"},
        embedding={"provider": "none"},
        llm={"cassette": directory / "cassette", **llm},
    )
    job = people_job(settings, demography=demography, seed=7)
    job.files.open()
    with redirect_stdout(io.StringIO()):
        make_dataset(settings, job, Order(file=job.files.answers, language="en", plain=True))
    files = {str(file.relative_to(world)): file.read_bytes() for file in sorted(world.rglob("*")) if file.is_file()}
    return json.loads(files[f"{FOLDER}/{job.files.answers.stem}.json"]), files


def _read(name: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = yaml.safe_load((CASES / name).read_text("utf-8"))
    return read


def _faults(content: Content, one: Mapping[str, Any]) -> list[Fault]:
    cast, lines = content.cast(one["language"]), one["lines"]
    speaker = cast.actor(one["npc"])
    standard = Standard(
        speaker=speaker,
        language=one["language"],
        discretion=discretion(speaker, "player", 0),
    )
    return faults([Exchange(*pair) for pair in zip(lines[::2], lines[1::2], strict=True)], standard)


def _rehearsed(content: Content, half: str, count: int) -> tuple[int, int]:
    """How many talks the rehearsal held, and in how many something was found."""
    held = alarms = 0
    for language, people in _people(content, half, count):
        said = [dict(zip(("en", "ja"), both, strict=True)) for both in _SAID[half]]
        tests = [{"npc": person_id, "say": said} for person_id in people]
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "talks.yaml").write_text(yaml.safe_dump({"language": language, "tests": tests}), "utf-8")
            settings = Settings(
                _env_file=None, embedding={"provider": "none"}, llm={"provider": "rehearsal", "cassette": None}
            )
            outcome = run_tests(settings, Path(directory))
        held += len(outcome.tested)
        alarms += sum(not one.passed for one in outcome.tested)
    return held, alarms


def _people(content: Content, half: str, count: int) -> Iterator[tuple[Language, list[str]]]:
    cast = content.cast("en")
    everybody = [*cast.npcs, *cast.characters]
    chosen = everybody if half == "dev" else everybody[::-1]
    yield "en", chosen[: count - count // 2]
    yield "ja", chosen[: count // 2]
