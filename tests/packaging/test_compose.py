"""Owns the checks of docker-compose.yml and .env.example: by the Compose schema and by our own rules, without a Docker
engine.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from service.api.server import Server
from service.app import create_app
from service.settings import EmbeddingSettings, LlmSettings, Settings

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
FILE: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]

each_service = pytest.mark.parametrize("name", sorted(SERVICES))

# ${NAME}, ${NAME:-} (empty) and ${NAME:?why} carry no secret; ${NAME:-something} would.
WITHOUT_A_DEFAULT = re.compile(r"\$\{[A-Z0-9_]+(:-|:\?[^{}]+)?\}")


def secrets(environment: dict[str, str | None]) -> dict[str, str | None]:
    """Those of a service's variables that hold a secret."""
    return {name: value for name, value in environment.items() if re.search("PASSWORD|KEY|SECRET|TOKEN", name)}


def env_names(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """The variables that fill a model, nested ones included."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from env_names(inner, f"{prefix}{name.upper()}__")
        else:
            yield prefix + name.upper()


def test_the_file_follows_the_compose_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@each_service
def test_a_service_is_watched_and_restarted(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@each_service
def test_a_service_cannot_gain_privileges(name: str) -> None:
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in SERVICES[name]


@each_service
def test_no_port_is_published_beyond_this_machine(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert port.startswith("127.0.0.1:"), port
    assert SERVICES[name].get("network_mode") != "host"


@each_service
def test_an_image_is_pinned_to_its_major_version(name: str) -> None:
    image = SERVICES[name].get("image")
    if image is None:
        assert SERVICES[name]["build"] == "."
    else:
        assert re.fullmatch(r"[a-z0-9/-]+:\d+(\.\d+)*(-[a-z]+)?", image), image


@each_service
def test_no_secret_is_written_down(name: str) -> None:
    environment = SERVICES[name]["environment"]
    for variable, value in secrets(environment).items():
        assert value is None or WITHOUT_A_DEFAULT.fullmatch(value), variable
    for value in environment.values():
        assert not re.search(r"://[^/@:\s]*:[^@\s]+@", value or ""), "a password in a URL"


def test_a_missing_password_stops_the_start_and_says_so() -> None:
    asked = "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD in .env}"
    assert SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"] == asked
    assert SERVICES["kataribe"]["environment"]["PGPASSWORD"] == asked
    assert (
        SERVICES["kataribe"]["environment"]["KATARIBE_API_KEY"] == "${KATARIBE_API_KEY:?set KATARIBE_API_KEY in .env}"
    )
    neo4j = SERVICES["neo4j"]["environment"]["NEO4J_AUTH"]
    assert neo4j == "neo4j/${COMPOSE_PROFILES:+${NEO4J_PASSWORD:?set NEO4J_PASSWORD in .env}}"


@each_service
def test_data_lives_in_a_named_volume(name: str) -> None:
    volumes = [volume.partition(":")[0] for volume in SERVICES[name]["volumes"]]
    assert volumes
    assert set(volumes) <= set(FILE["volumes"])


def test_the_service_waits_until_its_databases_are_healthy() -> None:
    depends = SERVICES["kataribe"]["depends_on"]
    assert {other: how["condition"] for other, how in depends.items()} == {
        "postgres": "service_healthy",
        "neo4j": "service_healthy",
    }
    assert depends["neo4j"]["required"] is False, "without the profile there is no Neo4j to wait for"


def test_the_profile_starts_neo4j_and_switches_the_memory_to_it() -> None:
    assert SERVICES["neo4j"]["profiles"] == ["graphiti"]
    assert SERVICES["kataribe"]["environment"]["KATARIBE_MEMORY__BACKEND"] == "${COMPOSE_PROFILES:-sql}"


def test_the_service_runs_without_root_or_a_writable_image() -> None:
    service = SERVICES["kataribe"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])


def test_every_setting_of_the_models_is_passed_on() -> None:
    wanted = {*env_names(LlmSettings, "KATARIBE_LLM__"), *env_names(EmbeddingSettings, "KATARIBE_EMBEDDING__")}
    environment = SERVICES["kataribe"]["environment"]
    assert wanted - set(environment) == set()
    assert {name: environment[name] for name in wanted if environment[name] is not None} == {}


@pytest.mark.parametrize("backend", ["sql", "graphiti"])
def test_the_service_understands_what_the_file_tells_it(
    backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environment: dict[str, str | None] = SERVICES["kataribe"]["environment"]
    for name, value in environment.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, "a-password" if value.startswith("${") else value)
    monkeypatch.setenv("KATARIBE_MEMORY__BACKEND", backend)

    settings = Settings()

    assert settings.memory.backend == backend
    assert settings.database_url == "postgresql+psycopg://kataribe@postgres:5432/kataribe"
    assert Server(create_app(settings), host="0.0.0.0"), "it may listen as the image does"  # noqa: S104
    known = set(env_names(Settings, "KATARIBE_"))
    assert {name for name in environment if name.startswith("KATARIBE_")} - known == set()


def test_the_example_of_env_holds_no_secret_and_names_only_what_is_read() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        "POSTGRES_PASSWORD=",
        "KATARIBE_API_KEY=",
    ]
    named = {found[1] for line in lines if (found := re.match(r"# ([A-Z0-9_]+)=", line))}
    text = COMPOSE.read_text(encoding="utf-8")
    assert {name for name in named if name not in text} == set()
