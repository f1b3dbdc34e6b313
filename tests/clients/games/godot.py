"""Owns the addon of clients/godot as tests run it: on Debian's godot3-server, in the words of Godot 3."""

import json
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


def find_server() -> str:
    """The path of Godot's headless server; without one the test ends."""
    return shutil.which("godot3-server") or missing("Godot: apt-get install godot3-server")


def begin(game: Path, script: str, **env: str) -> "subprocess.Popen[bytes]":
    """Run a script of the game in a process of its own; what it says goes to `log` beside the game."""
    server = find_server()
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

    name = world = "godot"

    def __init__(self) -> None:
        find_server()

    def start(self, scenario: Path, url: str, directory: Path) -> "subprocess.Popen[bytes]":
        """It plays in a process of its own, and writes into the directory; what it says goes to `log` there."""
        game = write_game(directory / "game")
        shutil.copy(Path(__file__).with_name("play.gd"), game)
        where = {"SCENARIO": str(scenario), "OUT": str(directory), "SERVICE": url, "WORLD": self.world}
        return begin(game, "play.gd", **where)


class GodotBeside(Godot):
    """A second player's seat: it hears by a stream what the player of another game hears, and does nothing."""

    name = "beside"

    def __init__(self, world: str) -> None:
        super().__init__()
        self.world = world

    def start(self, scenario: Path, url: str, directory: Path) -> "subprocess.Popen[bytes]":
        """Of the scenario it plays what is waited for."""
        played = json.loads(scenario.read_text(encoding="utf-8"))
        heard = [step for step in played["steps"] if step["do"] in ("wait", "killed")]
        own = directory / "scenario.json"
        own.write_text(json.dumps(played | {"game": dict.fromkeys(played["game"]), "steps": heard}), encoding="utf-8")
        return super().start(own, url, directory)
