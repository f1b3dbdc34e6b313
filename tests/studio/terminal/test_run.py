"""Owns the tests of `kataribe run` as a user runs it: a process, a world, and what it told."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from service.export.files import export_into, import_from
from service.export.story import StorySpan
from service.settings import Settings
from studio.cli import main as cli
from tests.api.play import write_village
from tests.end_to_end.process import KATARIBE, environment, kataribe

WORDS = {
    "en": (
        "Rehearsal: no language model",
        "decides: ",
        "speaks to Hanna",
        "remembers: ",
        "did: ",
        "talked ",
        "deciding",
    ),
    "ja": ("稽古: ", "は決めた: ", "がハンナに話しかけた", "は覚えた: ", "過ごし方: ", "会話 ", "判断: 呼び出し"),
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_village(tmp_path_factory.mktemp("mill") / "game")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to call the command in, in this process; the machine's settings are not its own."""
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    monkeypatch.setenv("KATARIBE_EMBEDDING__PROVIDER", "none")
    return tmp_path


def test_a_day_is_shown_as_it_is_lived_and_summed_up(
    alone: Path, mill: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--days", "1", "--characters", "9", "--content", str(mill), "--language", "en")
    monkeypatch.setattr(sys, "argv", ["kataribe", "run", *options])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    told = capsys.readouterr().out
    for words in WORDS["en"]:
        assert words in told
    assert "\x1b" not in told
    assert "There are 3 characters, not 9" in told
    times = re.findall(r"^(\d\d:\d\d)  ", told, re.M)
    passed = [_since_seven(time) for time in times]
    while passed[-1] == 0:  # the day ends at the hour it began
        passed.pop()
    assert passed == sorted(passed)
    assert list(alone.iterdir()) == []


def _since_seven(clock: str) -> int:
    hour, minute = map(int, clock.split(":"))
    return (hour * 60 + minute - 7 * 60) % 1440


STORY = ("conversations", "participants", "turns", "summaries", "events")


def told_lines(export: bytes) -> list[bytes]:
    """Those of the story: what the world holds beside it changes as it goes on."""
    return [line for line in export.splitlines()[1:] if json.loads(line)["table"] in STORY]


def test_a_run_that_is_stopped_keeps_its_world_and_goes_on_then_travels(tmp_path: Path, mill: Path) -> None:
    command: list[str | Path] = [
        "run",
        "--days",
        "1",
        "--characters",
        "2",
        "--content",
        mill,
        "--data",
        "kept",
        "--language",
        "en",
    ]
    told = stopped_after(tmp_path, command, 12)
    assert "Stopped at Wed 1 Apr" in told
    assert "kataribe run --data kept" in told
    first = told_lines(exported(tmp_path / "kept", "main"))
    rest = kataribe(tmp_path, *command)
    assert rest.returncode == 0, rest.stderr
    assert "to Thu 2 Apr" in rest.stdout
    assert "kataribe serve --data kept" in rest.stdout
    story = exported(tmp_path / "kept", "main")
    (tmp_path / "story.jsonl").write_bytes(story)
    assert first
    assert set(first) <= set(told_lines(story))
    assert b'{"table": "turns"' in story
    import_from(Settings(_env_file=None, data_dir=tmp_path / "kept"), "other", tmp_path / "story.jsonl")
    assert exported(tmp_path / "kept", "other").splitlines()[1:] == story.splitlines()[1:]


@pytest.mark.parametrize(
    ("in_environment", "in_file", "options", "kept"),
    [
        ("kept", "", (), "kept"),
        (None, "KATARIBE_DATA_DIR=kept\n", (), "kept"),
        ("kept", "", ("--data", "other"), "other"),
    ],
    ids=["environment", "file", "option"],
)
def test_the_directory_may_be_named_by_the_environment_or_in_a_file(
    alone: Path,
    mill: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    in_environment: str | None,
    in_file: str,
    options: Sequence[str],
    kept: str,
) -> None:
    if in_environment is not None:
        monkeypatch.setenv("KATARIBE_DATA_DIR", in_environment)
    Path(".env").write_text(in_file, encoding="utf-8")
    command = ("kataribe", "run", "--rehearsal", "--days", "1", "--characters", "0", "--content", str(mill), *options)
    monkeypatch.setattr(sys, "argv", [*command, "--language", "en"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    assert f"kataribe serve --data {kept}" in capsys.readouterr().out
    assert b'"activity_started"' in exported(alone / kept, "main")


def exported(data: Path, world_id: str) -> bytes:
    out = io.BytesIO()
    export_into(Settings(_env_file=None, data_dir=data), world_id, {"en": "", "ja": ""}, StorySpan(), out)
    return out.getvalue()


def stopped_after(directory: Path, command: Sequence[str | Path], lines: int) -> str:
    """What a run tells that is stopped by Ctrl-C after so many lines."""
    # A shell that runs the tests in the background has had Ctrl-C ignored, by whoever is started from there too.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [KATARIBE, *map(str, command)],
            cwd=directory,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    assert "Traceback" not in rest
    return "".join(told) + rest


def test_a_stop_at_once_says_how_to_keep_a_world(tmp_path: Path, mill: Path) -> None:
    told = stopped_after(tmp_path, ["run", "--content", mill, "--plain", "--language", "ja"], 3)
    assert "--data DIR" in told


def test_on_a_terminal_a_panel_shows_what_is_going_on(tmp_path: Path, mill: Path) -> None:
    ours, theirs = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(os.fdopen(ours, "rb", 0), shown), daemon=True)
    reader.start()
    try:
        done = subprocess.run(
            [KATARIBE, "run", "--days", "1", "--characters", "1", "--content", str(mill), "--language", "ja"],
            cwd=tmp_path,
            env=environment(TERM="xterm-256color", COLUMNS="200", LINES="30"),
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=120,
        )
    finally:
        os.close(theirs)
    reader.join(10)
    assert done.returncode == 0, done.stderr.decode()
    told = b"".join(shown).decode()
    assert "1日間の " in told
    assert "呼び出し中 " in told
    assert "\x1b[" in told
    for words in WORDS["ja"]:
        assert words in told


def _read_all(terminal: IO[bytes], shown: list[bytes]) -> None:
    with terminal:
        try:
            while piece := terminal.read(4096):
                shown.append(piece)
        except OSError:
            return  # the other end is closed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "--days", "0"), "--days"),
        (("run", "--language", "fr"), "en or ja"),
        (("run", "--world", "a b"), "--world"),
        (("run", "--content", "/nowhere"), "nowhere"),
        (("export", "--data", "nowhere"), "no world 'main'"),
        (("export", "--day", "2026-04-01", "--from", "2026-04-01"), "--day"),
        (("export", "--day", "soon"), "soon"),
        (("import", "/nowhere.jsonl"), "/nowhere.jsonl"),
        (("import", "--world", "other", "/nowhere.jsonl"), "/nowhere.jsonl"),
        (("import", "story", "/nowhere.jsonl"), "/nowhere.jsonl"),
    ],
)
def test_what_cannot_be_meant_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setattr(sys, "argv", ["kataribe", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert told in capsys.readouterr().err
