"""Owns the check that the wheel is whole: built here, installed outside the checkout, and used as a user would."""

import os
import subprocess
import sys
import sysconfig
import time
import tomllib
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.servers.postgres import free_port

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL_TARGET = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]

pytestmark = pytest.mark.server  # half a minute of building and installing: CI runs it, `make test` does not


def environment() -> dict[str, str]:
    """The machine's, without what speaks of this checkout or of Kataribe's settings."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KATARIBE_", "PYTHON", "COV_", "OPENAI_")) and name != "VIRTUAL_ENV"
    }


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, in an environment that says nothing of this checkout or of Kataribe's settings."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment() | {"COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def git_files(*paths: str) -> set[str]:
    """The files of the checkout under some paths, new ones included, ignored ones not."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths, cwd=ROOT)
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout without a network."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out, cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    """The paths in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a fresh environment with the wheel in it; its dependencies are those of this environment."""
    home = tmp_path_factory.mktemp("user") / "env"
    venv.create(home)
    (site,) = home.glob("lib/python3*/site-packages")
    # A path in a .pth file is searched last and its own .pth files are not read: the editable checkout stays unseen.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = (ROOT / ".tools/bin/python", "-m", "pip", "--python", home / "bin/python")
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=home)
    return home / "bin"


def test_the_wheel_holds_every_file_of_its_packages(contents: set[str]) -> None:
    packages = git_files(*WHEEL_TARGET["packages"])
    assert {name for name in packages if name.endswith(".j2")}, "prompts are part of the packages"
    assert {"service/py.typed", "studio/py.typed", "world/py.typed"} <= contents, "who imports them reads their types"
    assert packages - contents == set()


def test_the_wheel_carries_the_content_and_the_migrations(contents: set[str]) -> None:
    for source, target in WHEEL_TARGET["force-include"].items():
        expected = {target + name.removeprefix(source) for name in git_files(source)}
        assert expected, f"{source} has no file"
        assert expected - contents == set()
    assert "service/_bundled/maps.json" in contents


def test_the_wheel_carries_its_licence_and_notice(contents: set[str]) -> None:
    info = f"kataribe-{PROJECT['project']['version']}.dist-info"
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= contents


def test_the_wheel_holds_no_leftovers(contents: set[str]) -> None:
    roots = {name.partition("/")[0] for name in contents if ".dist-info/" not in name}
    assert roots == set(WHEEL_TARGET["packages"])
    assert {name for name in contents if "__pycache__" in name or name.endswith((".pyc", ".db", ".env"))} == set()


def test_the_installed_command_comes_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed / "python",
        "-c",
        "import kataribe, service, world; print(kataribe.__file__, service.__file__, world.__file__)",
        cwd=tmp_path,
    )
    assert all(path.startswith(str(installed.parent)) for path in where.split())


def test_the_installed_command_finds_and_checks_its_own_content(installed: Path, tmp_path: Path) -> None:
    run(installed / "kataribe", "check", cwd=tmp_path)


def test_the_installed_service_serves_its_own_village_and_pages(installed: Path, tmp_path: Path) -> None:
    port = free_port()
    command: list[str | Path] = [
        installed / "kataribe",
        "serve",
        "--rehearsal",
        "--port",
        str(port),
        "--data",
        tmp_path / "data",
    ]
    with (
        subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as service,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client,
    ):
        try:
            until_it_answers(client, service)
            assert len(client.get("/npcs").raise_for_status().json()) >= 8
            for page in ("/", "/view/static/world.js"):
                assert client.get(page).status_code == 200, page
        finally:
            service.terminate()


def until_it_answers(client: httpx.Client, service: "subprocess.Popen[bytes]") -> None:
    """Wait for the service to come up."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and service.poll() is None:
        try:
            client.get("/healthz").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the service did not start")
