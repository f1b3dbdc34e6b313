"""Owns the checks of docker-compose.yml and .env.example: by the Compose schema and by our own rules, without a Docker
engine.
"""

import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pydantic import BaseModel

from service.api.server import Server
from service.app import create_app
from service.settings import Settings
from tests.end_to_end.process import KATARIBE
from tests.memory.graphiti.graphs import empty
from tests.servers.neo4j import Neo4jServer
from tests.servers.postgres import PostgresServer, free_port

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
FILE: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]

LASTING = sorted(set(SERVICES) - {"passwords"})

each_service = pytest.mark.parametrize("name", sorted(SERVICES))
each_lasting = pytest.mark.parametrize("name", LASTING)

SCRIPTS = ROOT / "compose"
FIXED = {"KATARIBE_HOST", "KATARIBE_PORT", "KATARIBE_DATA_DIR", "KATARIBE_OPENAI_API_KEY"}
"""What the image fixes, and what goes by the name that OpenAI gave it."""

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


@each_lasting
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


@each_service
def test_data_lives_in_a_named_volume(name: str) -> None:
    mounted = dict(volume.split(":", 1) for volume in SERVICES[name]["volumes"])
    assert mounted.pop("./compose") == "/opt/compose:ro"
    assert set(mounted) <= set(FILE["volumes"])
    assert len(mounted) == (1 if name == "passwords" else 2)
    assert mounted["passwords"] == "/run/kataribe" + ("" if name == "passwords" else ":ro")


def test_the_service_waits_until_its_databases_are_healthy_and_all_wait_for_the_passwords() -> None:
    depends = SERVICES["kataribe"]["depends_on"]
    assert {other: how["condition"] for other, how in depends.items()} == {
        "passwords": "service_completed_successfully",
        "postgres": "service_healthy",
        "neo4j": "service_healthy",
    }
    for name in LASTING:
        assert SERVICES[name]["depends_on"]["passwords"]["condition"] == "service_completed_successfully"
        assert "/opt/compose/with-passwords.sh" in SERVICES[name]["entrypoint"]
    assert SERVICES["passwords"]["entrypoint"] == ["sh", "/opt/compose/make-passwords.sh"]


def test_three_replicas_stand_behind_a_balancer_that_takes_their_place() -> None:
    yaml.SafeLoader.add_constructor("!reset", lambda *_: None)  # Compose: what the other file says is gone
    more: dict[str, dict[str, Any]] = yaml.safe_load((SCRIPTS / "replicas.yml").read_text("utf-8"))["services"]
    assert more["kataribe"] == {"ports": None, "deploy": {"replicas": 3}}
    balancer, alone = more["balancer"], SERVICES["kataribe"]
    assert balancer["ports"] == alone["ports"]
    assert re.fullmatch(r"haproxy:\d+\.\d+-alpine", balancer["image"])
    for name in ("restart", "read_only", "cap_drop", "security_opt"):
        assert balancer[name] == alone[name]
    assert balancer["entrypoint"][:2] == ["sh", "/opt/compose/with-passwords.sh"]
    assert set(balancer["volumes"]) < set(alone["volumes"])
    told = (SCRIPTS / Path(balancer["command"][-1]).name).read_text("utf-8")
    assert re.search(r"^ +http-check send meth GET uri /readyz .*Bearer \$\{KATARIBE_API_KEY\}", told, re.MULTILINE)
    assert re.search(r"^ +server-template replica 3 kataribe:8010$", told, re.MULTILINE)
    assert re.search(r"^ +bind :8010$", told, re.MULTILINE)


def test_nothing_has_to_be_set_before_the_first_start() -> None:
    assert ":?" not in COMPOSE.read_text(encoding="utf-8")
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_the_memory_is_graphitis_unless_one_variable_says_sql() -> None:
    for name in ("kataribe", "neo4j"):
        assert SERVICES[name]["environment"]["KATARIBE_MEMORY__BACKEND"] == "${KATARIBE_MEMORY__BACKEND:-graphiti}"
    assert "profiles" not in SERVICES["neo4j"]
    assert "/opt/compose/unless-sql.sh" in SERVICES["neo4j"]["entrypoint"]


def test_the_service_runs_without_root_or_a_writable_image() -> None:
    service = SERVICES["kataribe"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])


def test_every_setting_is_passed_on() -> None:
    environment = SERVICES["kataribe"]["environment"]
    assert set(env_names(Settings, "KATARIBE_")) - set(environment) == FIXED
    assert "OPENAI_API_KEY" in environment
    decided = {name for name, value in environment.items() if value is not None}
    assert decided == {
        "KATARIBE_DATABASE_URL",
        "KATARIBE_MEMORY__BACKEND",
        "KATARIBE_MEMORY__NEO4J_URI",
        "KATARIBE_MEMORY__NEO4J_USER",
    }


@pytest.mark.parametrize("backend", ["sql", "graphiti"])
def test_the_service_understands_what_the_file_tells_it(
    backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environment: dict[str, str | None] = SERVICES["kataribe"]["environment"]
    for name, value in environment.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("KATARIBE_MEMORY__BACKEND", backend)
    monkeypatch.setenv("KATARIBE_API_KEY", "a-key-of-some-length")  # as with-passwords.sh does

    settings = Settings()

    assert settings.memory.backend == backend
    assert settings.database_url == "postgresql+psycopg://kataribe@postgres:5432/kataribe"
    assert Server(create_app(settings), host="0.0.0.0"), "it may listen as the image does"  # noqa: S104
    known = set(env_names(Settings, "KATARIBE_"))
    assert {name for name in environment if name.startswith("KATARIBE_")} - known == set()


def test_the_example_of_env_names_only_what_is_read() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    named = {found[1] for line in lines if (found := re.match(r"# ([A-Z0-9_]+)=", line))}
    text = COMPOSE.read_text(encoding="utf-8")
    assert {"POSTGRES_PASSWORD", "KATARIBE_MEMORY__BACKEND"} <= named
    assert {name for name in named if name not in text} == set()


def sh(directory: Path, *command: str, **environment: str) -> str:
    """What a command of sh says, with the passwords in that directory and nothing else of this machine's settings."""
    told = subprocess.run(
        ["sh", *command],
        env={"PATH": os.environ["PATH"], "PASSWORDS": str(directory), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return told.stdout


def make(directory: Path, **given: str) -> dict[str, str]:
    """The passwords after make-passwords.sh."""
    sh(directory, str(SCRIPTS / "make-passwords.sh"), **given)
    return {file.name: file.read_text(encoding="utf-8") for file in directory.iterdir()}


def test_passwords_are_made_once(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert set(made) == {"postgres", "neo4j", "key"}
    assert len(set(made.values())) == 3
    assert all(re.fullmatch("[0-9a-f]{48}", password) for password in made.values())
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o444}
    assert make(tmp_path, POSTGRES_PASSWORD="too late") == made


def test_passwords_that_are_given_at_the_first_start_are_taken(tmp_path: Path) -> None:
    given = {"POSTGRES_PASSWORD": "p w$'\"", "NEO4J_PASSWORD": "eight-or-more", "KATARIBE_API_KEY": ""}
    made = make(tmp_path, **given)
    assert (made["postgres"], made["neo4j"]) == ("p w$'\"", "eight-or-more")
    assert re.fullmatch("[0-9a-f]{48}", made["key"])
    told = sh(tmp_path, str(SCRIPTS / "with-passwords.sh"), "sh", "-c", 'printf "%s|%s" "$PGPASSWORD" "$NEO4J_AUTH"')
    assert told == "p w$'\"|neo4j/eight-or-more"


@pytest.mark.parametrize(
    ("environment", "provider"),
    [
        ({}, "rehearsal"),
        ({"KATARIBE_LLM__BASE_URL": "", "OPENAI_API_KEY": ""}, "rehearsal"),
        ({"KATARIBE_LLM__MODEL": "gpt-x"}, "rehearsal"),
        ({"OPENAI_API_KEY": "sk-x"}, ""),
        ({"KATARIBE_LLM__NPC__BASE_URL": "http://host.docker.internal:1/v1"}, ""),
        ({"KATARIBE_LLM__PROVIDER": "auto"}, "auto"),
    ],
)
def test_people_rehearse_until_a_model_is_named(tmp_path: Path, environment: dict[str, str], provider: str) -> None:
    make(tmp_path)
    told = sh(
        tmp_path,
        str(SCRIPTS / "with-passwords.sh"),
        "sh",
        "-c",
        'printf "%s" "${KATARIBE_LLM__PROVIDER:-}"',
        **environment,
    )
    assert told == provider


def test_neo4j_only_waits_where_the_memory_is_kept_in_sql(tmp_path: Path) -> None:
    script = str(SCRIPTS / "unless-sql.sh")
    assert sh(tmp_path, script, "echo", "started", KATARIBE_MEMORY__BACKEND="graphiti") == "started\n"
    with pytest.raises(subprocess.TimeoutExpired) as waiting:
        subprocess.run(
            ["sh", script, "echo", "started"],
            env={"PATH": os.environ["PATH"], "KATARIBE_MEMORY__BACKEND": "sql"},
            capture_output=True,
            timeout=0.5,
        )
    assert not waiting.value.output


@pytest.mark.server
def test_the_service_starts_on_real_databases_with_what_was_made_and_the_page_says_that_they_rehearse(
    tmp_path: Path, postgres_server: PostgresServer, neo4j_server: Neo4jServer
) -> None:
    (tmp_path / "made").mkdir()
    made = make(tmp_path / "made", NEO4J_PASSWORD=neo4j_server.password)
    empty(neo4j_server)
    url = postgres_server.create_login("composed", made["postgres"])
    variables = SERVICES["kataribe"]["environment"]
    environment = {
        **{name: value for name, value in variables.items() if value is not None},
        "KATARIBE_DATABASE_URL": url,
        "KATARIBE_MEMORY__NEO4J_URI": neo4j_server.uri,
        "KATARIBE_MEMORY__BACKEND": "graphiti",
        "PASSWORDS": str(tmp_path / "made"),
        "PATH": os.environ["PATH"],
        "KATARIBE_EMBEDDING__PROVIDER": "none",
    }
    port = free_port()
    command = ["sh", str(SCRIPTS / "with-passwords.sh"), str(KATARIBE), "serve", "--host", "0.0.0.0"]  # noqa: S104
    with (
        subprocess.Popen([*command, "--port", str(port)], cwd=tmp_path, env=environment) as service,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client,
    ):
        try:
            deadline = time.monotonic() + 60
            while not answers(client):
                assert time.monotonic() < deadline
                assert service.poll() is None
                time.sleep(0.1)
            assert client.get("/world").status_code == 401
            shown = {"Authorization": f"Bearer {made['key']}"}
            ready = client.get("/readyz", headers=shown).json()
            checks = {"database": "ok", "memory": "ok", "models": "rehearsal"}
            assert ready == {"status": "ok", "checks": checks, "degraded": []}
            page = client.get("/?lang=en", headers={**shown, "Accept": "text/html"}).raise_for_status().text
            assert "rehearsal" in page
        finally:
            service.terminate()


def answers(client: httpx.Client) -> bool:
    """Whether the service is up."""
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False
