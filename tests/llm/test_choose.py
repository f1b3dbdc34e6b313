"""Owns the tests of which model answers for which role, and with which key."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import SecretStr

from service.errors import Misconfigured, ModelNotConfigured
from service.llm.chat import Role
from service.llm.choose import ROLES, Models, choose_models, find_local_servers
from service.settings import LlmSettings, RoleSettings, Settings
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel
from tests.servers.fake_openai import FakeOpenAI, Reply, failing

REHEARSAL = ScriptedModel(name="rehearsal")


def settings(llm: LlmSettings, openai_api_key: str | None = None) -> Settings:
    key = SecretStr(openai_api_key) if openai_api_key else None
    return Settings(_env_file=None, llm=llm, openai_api_key=key)


def choose(llm: LlmSettings, openai_api_key: str | None = None) -> Models:
    return choose_models(settings(llm, openai_api_key), REHEARSAL)


def said(body: dict[str, Any]) -> str:
    return json.dumps(TURN)


def ask_all(models: Models, *roles: Role) -> None:
    async def run() -> None:
        for role in roles:
            await models.for_role(role).complete(ask(role=role))
        await models.aclose()

    asyncio.run(run())


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_the_rehearsal_answers_for_everybody_when_it_is_chosen() -> None:
    models = choose(LlmSettings(provider="rehearsal"), "sk-key")
    assert set(models.names().values()) == {REHEARSAL.name}
    asyncio.run(models.aclose())


def test_who_needs_no_vendor_loads_none() -> None:
    vendors = "{'openai', 'graphiti_core', 'neo4j'} & sys.modules.keys()"
    program = f"import sys, studio.cli.main; print(sorted({vendors}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]", "every command would start half a second later"


@pytest.mark.parametrize("provider", ["auto", "openai"])
def test_without_key_and_server_every_answer_says_what_to_set(provider: Any) -> None:
    models = choose(LlmSettings(provider=provider))
    with pytest.raises(ModelNotConfigured) as caught:
        ask_all(models, "npc")
    assert caught.value.usage.calls == 0
    assert set(models.names().values()) == {"none"}


def test_roles_with_equal_settings_share_one_model() -> None:
    models = choose(LlmSettings(npc=RoleSettings(model="other")), "sk-key")
    assert models.for_role("character") is models.for_role("closing")
    assert models.for_role("character") is not models.for_role("npc")
    assert models.names() == {
        "character": "openai:gpt-4.1-mini",
        "npc": "openai:other",
        "closing": "openai:gpt-4.1-mini",
        "decision": "openai:gpt-4.1-mini",
        "moderator": "openai:gpt-4.1-mini",
        "modulator": "openai:gpt-4.1-mini",
        "quality": "openai:gpt-4.1-mini",
        "verify": "openai:gpt-4.1-mini",
    }


def test_who_has_named_a_model_for_each_other_role_has_checks_judged_by_the_closings() -> None:
    own = {role: RoleSettings(base_url="http://127.0.0.1:9/v1", model=role) for role in ROLES if role != "quality"}
    models = choose(LlmSettings(**own))
    assert models.names()["quality"] == models.names()["closing"] == "openai:closing"
    assert choose(LlmSettings(**own, quality=RoleSettings(base_url="http://127.0.0.1:9/v1", model="judge"))).names()[
        "quality"
    ] == ("openai:judge")


def test_every_role_asks_its_own_server_in_its_own_way() -> None:
    with FakeOpenAI(answer=said) as common, FakeOpenAI(answer=said) as own:
        npc = RoleSettings(base_url=own.base_url, model="small", temperature=0.1, api_key=SecretStr("own-key"))
        llm = LlmSettings(base_url=common.base_url, api_key=SecretStr("common-key"), temperature=0.9, npc=npc)
        ask_all(choose(llm), *ROLES)
    assert [(b["model"], b["temperature"]) for b in common.requests] == [("fake-model", 0.9)] * (len(ROLES) - 1)
    assert [(b["model"], b["temperature"]) for b in own.requests] == [("small", 0.1)]
    assert {h["authorization"] for h in common.headers} == {"Bearer common-key"}
    assert {h["authorization"] for h in own.headers} == {"Bearer own-key"}


def test_who_sets_the_responses_api_is_asked_by_it_at_once() -> None:
    with FakeOpenAI(answer=said) as server:
        ask_all(choose(LlmSettings(provider="responses", base_url=server.base_url)), "character", "npc")
    assert ["input" in body for body in server.requests] == [True, True]


def test_openais_key_never_reaches_another_server() -> None:
    with FakeOpenAI(answer=said) as server:
        ask_all(choose(LlmSettings(base_url=server.base_url), "sk-openai"), *ROLES)
    assert {h["authorization"] for h in server.headers} == {"Bearer none"}


def test_the_common_key_does_not_follow_a_role_to_a_server_of_its_own() -> None:
    with FakeOpenAI(answer=said) as server:
        llm = LlmSettings(api_key=SecretStr("sk-common"), npc=RoleSettings(base_url=server.base_url))
        ask_all(choose(llm, "sk-openai"), "npc")
    assert {h["authorization"] for h in server.headers} == {"Bearer none"}


def test_a_role_without_server_says_so_while_others_answer() -> None:
    with FakeOpenAI(answer=said) as server:
        models = choose(LlmSettings(npc=RoleSettings(base_url=server.base_url)))
        ask_all(models, "npc")
        with pytest.raises(ModelNotConfigured):
            ask_all(models, "character")


def test_requests_in_flight_are_bounded_for_all_roles_of_a_server() -> None:
    with FakeOpenAI(*[Reply(latency_seconds=0.05)] * 8, answer=said) as server:
        llm = LlmSettings(base_url=server.base_url, model="m", max_concurrency=2, npc=RoleSettings(model="n"))
        models = choose(llm)

        async def crowd() -> None:
            roles: list[Role] = ["npc", "character"] * 4
            await asyncio.gather(*(models.for_role(role).complete(ask(role=role)) for role in roles))
            await models.aclose()

        asyncio.run(crowd())
    assert len(server.requests) == 8
    assert server.most_in_flight == 2


@pytest.mark.parametrize("base_url", ["localhost:11434", "ftp://host/v1", "http://", "http://[", "http://host:port"])
def test_an_address_that_cannot_be_one_is_named(base_url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        choose(LlmSettings(base_url=base_url))
    assert caught.value.facts["setting"] == "KATARIBE_LLM__BASE_URL"


@pytest.mark.parametrize("key", ["ｓｋ－１２３", "sk-1\n23", "sk 123"])
def test_a_key_that_cannot_be_one_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        choose(LlmSettings(npc=RoleSettings(api_key=SecretStr(key))))
    assert caught.value.facts["setting"] == "KATARIBE_LLM__NPC__API_KEY"
    assert key not in str(caught.value.facts)


def test_space_around_a_key_is_not_part_of_it() -> None:
    with FakeOpenAI(answer=said) as server:
        ask_all(choose(LlmSettings(base_url=server.base_url, api_key=SecretStr(" key\n"))), "npc")
    assert server.headers[0]["authorization"] == "Bearer key"


def test_servers_on_this_machine_are_found_and_others_passed_over() -> None:
    with FakeOpenAI() as gone:
        gone_port = gone.port
    with (
        FakeOpenAI(models=("a", "b")) as one,
        FakeOpenAI(models=failing(404)) as other,
        FakeOpenAI(models=Reply(raw=b'["data"]')) as strange,
    ):
        ports = {"Ollama": one.port, "vLLM": other.port, "LM Studio": strange.port, "llama.cpp": gone_port}
        found = asyncio.run(find_local_servers(ports))
    assert [(s.name, s.base_url, s.models) for s in found] == [("Ollama", one.base_url, ("a", "b"))]
