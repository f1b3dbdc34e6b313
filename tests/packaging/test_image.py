"""Owns the checks of the Dockerfile, .dockerignore and the locks: read as text, for no Docker engine is needed to see
these.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]


class Instruction(NamedTuple):
    """One instruction of a Dockerfile: its word and everything after it."""

    word: str
    rest: str


def instructions() -> list[Instruction]:
    """The Dockerfile without comments and line ends."""
    lines = [
        line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def final_stage() -> list[Instruction]:
    """What makes the image that runs."""
    every = instructions()
    start = max(number for number, each in enumerate(every) if each.word == "FROM")
    return every[start:]


def last(word: str) -> str:
    """What the final stage says last about something."""
    return [each.rest for each in final_stage() if each.word == word][-1]


def pins(lock: str) -> set[str]:
    """The `name==version` (with its marker) of every package in a lock."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return {line.removesuffix(" \\") for line in text.splitlines() if re.match(r"[a-z0-9]", line)}


def test_the_image_runs_as_a_fixed_user_that_is_not_root() -> None:
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", last("USER"))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert compose["services"]["kataribe"]["user"] == last("USER")


def test_the_image_serves_on_every_address_of_its_container() -> None:
    assert json.loads(last("ENTRYPOINT")) == ["kataribe"]
    assert json.loads(last("CMD")) == ["serve", "--host", "0.0.0.0"]  # noqa: S104  inside the container only
    assert last("EXPOSE") == "8010"


def test_the_image_says_whether_it_is_well_without_a_tool_of_its_own() -> None:
    command = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    assert "/healthz" in command[2]
    compile(command[2], "healthcheck", "exec")


def test_the_image_starts_from_a_named_version_of_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {each.rest.partition(" ")[0] for each in instructions() if each.word == "FROM"}
    assert len(found) == 1
    version = re.fullmatch(r"python:(3\.\d+)-slim", found.pop())
    assert version
    assert f"Programming Language :: Python :: {version[1]}" in project["classifiers"]


def test_everything_installed_is_known_by_its_hash() -> None:
    commands = [part for each in instructions() if each.word == "RUN" for part in each.rest.split("&&")]
    installs = [command for command in commands if "pip install" in command]
    assert installs
    for command in installs:
        assert "--require-hashes" in command or "--no-index" in command, command


@pytest.mark.parametrize("lock", ["requirements-runtime.lock", "requirements-build.lock"])
def test_the_image_holds_the_versions_that_the_tests_ran_with(lock: str) -> None:
    assert pins(lock)
    tested = {pin.partition(" ")[0] for pin in pins("requirements.lock")}
    assert {pin for pin in pins(lock) if pin.partition(" ")[0] not in tested} == set()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-runtime.lock", "requirements-build.lock"])
def test_a_lock_names_no_host(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


def test_the_runtime_lock_has_everything_the_project_depends_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[^A-Za-z0-9-]", dependency)[0] for dependency in project["dependencies"]}
    assert wanted - {pin.partition("==")[0] for pin in pins("requirements-runtime.lock")} == set()


def test_the_build_sees_what_the_wheel_needs_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {*wheel["packages"], *wheel["force-include"], "requirements-build.lock", "requirements-runtime.lock"}
    assert rules[0] == "*"
    assert needed - allowed == set()
    assert allowed & {".env", ".git", "kataribe-data", "tests", ".venv"} == set()
