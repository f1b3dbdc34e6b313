"""Owns the Luanti server that plays the scenario: Debian's minetest-server, headless, with a game of nothing."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.servers import missing
from tests.servers.postgres import free_port

REPOSITORY = Path(__file__).parents[3]
DEMO = REPOSITORY / "clients" / "luanti" / "kataribe_demo"
MODS = [DEMO.with_name("kataribe"), DEMO, Path(__file__).parent / "mods" / "scenario"]
_WORLD = {"backend": "dummy", "player_backend": "dummy", "auth_backend": "sqlite3", "mod_storage_backend": "sqlite3"}


def find_server() -> str:
    """The path of the server, Debian's place and name first; without one the test ends."""
    debian = shutil.which("minetestserver", path="/usr/games")
    found = debian or shutil.which("minetestserver") or shutil.which("luantiserver")
    return found or missing("Luanti's server: apt-get install minetest-server")


class Luanti:
    """A client of the play."""

    name = world = "luanti"

    def __init__(self) -> None:
        self._server = find_server()

    def start(self, scenario: Path, url: str, directory: Path) -> "subprocess.Popen[bytes]":
        """The directory is that of its world too, and its home."""
        game = directory / ".minetest" / "games" / "nothing"
        (game / "mods").mkdir(parents=True)
        (game / "game.conf").write_text("title = Nothing\n", encoding="utf-8")
        for mod in MODS:
            shutil.copytree(mod, directory / "worldmods" / mod.name)
        shutil.copy(scenario, directory / "scenario.json")
        _write(directory / "world.mt", {**_WORLD, **{f"load_mod_{mod.name}": "true" for mod in MODS}})
        # A step each 50 ms: the play walks, and takes an answer, at the next one.
        _write(
            directory / "minetest.conf",
            {
                "secure.http_mods": "kataribe",
                "kataribe.url": url,
                "kataribe.world": self.world,
                "dedicated_server_step": "0.05",
                "bind_address": "127.0.0.1",
            },
        )
        command = [self._server, "--world", str(directory), "--gameid", "nothing", "--port", str(free_port())]
        with (directory / "log").open("wb") as log:
            return subprocess.Popen(
                [*command, "--config", str(directory / "minetest.conf"), "--logfile", ""],
                cwd=directory,
                env={**os.environ, "HOME": str(directory), "NO_PROXY": "*", "no_proxy": "*"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


def _write(file: Path, values: dict[str, str]) -> None:
    file.write_text("".join(f"{name} = {value}\n" for name, value in values.items()), encoding="utf-8")
