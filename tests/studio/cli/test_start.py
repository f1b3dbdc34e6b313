"""The command begins without a pause for Python's garbage collector, which works from then on, and imports what it
runs.
"""

import subprocess
import sys

import pytest

from tests.end_to_end.process import environment

PROGRAM = """
import atexit, gc, sys

from studio.cli.start import main

full = gc.get_stats()[2]["collections"]
sys.argv = ["kataribe", *sys.argv[1:]]
atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 20_000, gc.get_stats()[2]["collections"] - full))
atexit.register(lambda: print(*sys.modules))
main()
"""
WORDS = """
import os, sys

import typer.main

import service.app, service.replay, service.export.files  # what takes long, and is in no language

for language in ("en", "ja"):
    if os.fork() == 0:
        os.environ["LANG"] = language
        break
    if os.wait()[1] != 0:
        sys.exit(f"in {language}")
else:
    sys.exit()

from typer.main import get_group

from studio.cli.main import COMMANDS, cli, command_named
from studio.cli.options import commands

shown = {name: command.help for name, command in get_group(cli).commands.items()}
assert shown == {name: command_named(name).help for name in COMMANDS}
assert shown.keys() == get_group(commands).commands.keys()
"""
HEAVY = {"fastapi", "openai", "sqlalchemy", "pydantic_settings", "numpy", "networkx", "rich", "httpx", "yaml"}


def run(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_nothing_is_collected_while_it_is_imported_and_all_is_afterwards() -> None:
    assert run("keys", "--help")[-1] == "True True 0"


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], {"yaml"}),
        (["keys", "--help"], {"yaml", "sqlalchemy", "pydantic_settings", "networkx"}),
    ],
)
def test_a_command_imports_what_it_runs(arguments: list[str], needed: set[str]) -> None:
    assert HEAVY & set(run(*arguments)[-2].split()) == needed


def test_the_help_names_every_command_with_its_own_words_in_both_languages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORDS],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
