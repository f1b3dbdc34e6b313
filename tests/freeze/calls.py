"""Owns the calls that README promises to a game, and what a client sees of their answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.settings import Settings
from tests.freeze.script import Script
from tests.freeze.shape import shape_of


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request, as README writes it. `name`: what the record calls it."""

    name: str
    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None


_GOALS: Mapping[Language, tuple[str, str]] = {
    "en": ("Hear how he is", "He told one piece of news"),
    "ja": ("最近の様子を聞きたい", "近況を1つ以上聞けたら達成"),
}
_QUERY: Mapping[Language, str] = {"en": "family", "ja": "家族"}


def promised(language: Language) -> tuple[Call, ...]:
    """README's calls in its order."""
    goal, criteria = _GOALS[language]
    pair = {"character_id": "aoi", "npc_id": "npc_taro"}
    act = "/characters/aoi/actions"
    start = {**pair, "goal": goal, "success_criteria": criteria}
    memory = {"npc_id": "npc_taro", "query": _QUERY[language]}
    return (
        Call(name="move", method="POST", path=act, body={"type": "move", "npc_id": "npc_taro"}),
        Call(name="tick", method="POST", path="/world/tick", body={"ticks": 10}),
        Call(name="start", method="POST", path="/conversations/start", query={"wait": "true"}, body=start),
        Call(name="memory", method="GET", path="/characters/aoi/memory", query=memory),
        Call(name="sleep", method="POST", path=act, body={"type": "sleep"}),
    )


def answered(language: Language, directory: Path) -> dict[str, Any]:
    """Status and shape of each answer, one call after the other, from the village as it begins."""
    settings = Settings(
        _env_file=None,
        data_dir=directory,
        allowed_hosts=["testserver"],
        embedding={"provider": "none"},
        memory={"verify": False},  # nobody changes its mind: the script says nothing that is not so
        world={"language": language, "decision": "routine"},
    )
    found = {}
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, Script())))) as client:
        for call in promised(language):
            answer = client.request(call.method, call.path, params=call.query, json=call.body)
            found[call.name] = {"status": answer.status_code, "answer": shape_of(answer.json())}
    return found
