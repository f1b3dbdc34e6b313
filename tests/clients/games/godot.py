"""Owns the addon of clients/godot as tests run it: on Debian's godot3-server, in the words of Godot 3."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.servers import missing

ADDON = Path(__file__).parents[3] / "clients" / "godot"


def write_game(directory: Path) -> Path:
    """The addon and its example, in that directory."""
    subprocess.run([sys.executable, ADDON / "godot3.py", directory], check=True)
    return directory


def begin(game: Path, script: str, **env: str) -> "subprocess.Popen[bytes]":
    """Run a script of the game in a process of its own; what it says goes to `log` beside the game."""
    server = shutil.which("godot3-server")
    if server is None:
        missing("Godot: apt-get install godot3-server")
    home = game.parent
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            [server, "--path", game, "-s", script],
            env={**os.environ, "HOME": str(home), **env},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


class Godot:
    """A game in Godot."""

    name = "godot"

    def start(self, scenario: Path, url: str, directory: Path) -> "subprocess.Popen[bytes]":
        """It plays in a process of its own, and writes into the directory; what it says goes to `log` there."""
        game = write_game(directory / "game")
        shutil.copy(Path(__file__).with_name("play.gd"), game)
        where = {"SCENARIO": str(scenario), "OUT": str(directory), "SERVICE": url, "WORLD": self.name}
        return begin(game, "play.gd", **where)
