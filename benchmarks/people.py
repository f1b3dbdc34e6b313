"""Measures the checks of `kataribe test`: seeded defects that are found, and false alarms on clean dialogues.

Sixty dialogues are clean: thirty that people wrote (talk_cases/clean.*.yaml) and thirty of the rehearsal, which speaks
in its authors' own words. Half of each, `held`, was looked at by nobody who wrote a check.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.locales import Language
from service.memory.secrets import discretion
from service.quality.checks import Exchange, Fault, Standard, faults
from service.settings import Settings
from service.testing.making import Wanted, run_tests

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


def run(rehearsed: int = _REHEARSED) -> dict[str, float]:
    """All figures; the rehearsal holds so many talks in each half."""
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
        names=cast.names,
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
            outcome = run_tests(settings, Wanted(directory=Path(directory)))
        held += len(outcome.tested)
        alarms += sum(not one.passed for one in outcome.tested)
    return held, alarms


def _people(content: Content, half: str, count: int) -> Iterator[tuple[Language, list[str]]]:
    cast = content.cast("en")
    everybody = [*cast.npcs, *cast.characters]
    chosen = everybody if half == "dev" else everybody[::-1]
    yield "en", chosen[: count - count // 2]
    yield "ja", chosen[: count // 2]
