"""Owns the tests of a table over HTTP: a player breaks into a talk, whispers, speaks to one by name, gets up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.conversation.prompt import PromptContext
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.closing.context import ClosingContext
from service.offline.model import OfflineModel
from service.settings import Settings
from tests.api.play import Http, problem, settings_for, until

SECRET = {"en": "The key lies under the blue stone.", "ja": "鍵は青い石の下にある。"}
STONE = {"en": "blue stone", "ja": "青い石"}
KEN = {"person_id": "ken"}


class Overheard(OfflineModel):
    """The rehearsal, which keeps what it was asked; while it `stays` nobody wants to leave."""

    def __init__(self, *, stays: bool = False) -> None:
        super().__init__()
        self.stays = stays
        self.history: list[Prompt[Any]] = []

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """See OfflineModel."""
        self.history.append(prompt)
        answer = await super().complete(prompt, on_text)
        if self.stays and isinstance(prompt.given, PromptContext):
            return replace(answer, value=answer.value.model_copy(update={"wants_to_end": False}))
        return answer

    def asked_of(self, person_id: str) -> str:
        """All that the person's model was sent for turns, and decisions."""
        given = (one for one in self.history if not isinstance(one.given, ClosingContext))
        mine = (one for one in given if not isinstance(one.given, PromptContext) or one.given.speaker.id == person_id)
        return "\n".join(message.content for one in mine for message in one.messages)


def lively(tmp_path: Path, millbrook: Path, language: Language = "en", **world: Any) -> Settings:
    """A village whose people decide, and talk, by the rehearsal."""
    return settings_for(
        tmp_path,
        millbrook,
        llm={"provider": "rehearsal"},
        world={"language": language, "decision": "model", "openings_per_day": 0, **world},
    )


@contextmanager
def village(settings: Settings, model: OfflineModel) -> Iterator[TestClient]:
    """A client of a service of these settings, for which the model answers."""
    app = create_app(settings, models=Models(dict.fromkeys(ROLES, model)))
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


def player(client: Http, person_id: str = "ken", name: str = "Ken") -> None:
    """Somebody who plays."""
    client.put(f"/people/{person_id}", json={"kind": "player", "name": name}).raise_for_status()


def talk_that_goes_on(client: Http) -> dict[str, Any]:
    """A talk of the living world of which something was said, and that is not over."""
    for _ in range(900):
        client.post("/world/tick", json={"ticks": 1}).raise_for_status()
        for one in client.get("/conversations", params={"phase": "running"}).json()["items"]:
            told: dict[str, Any] = client.get(f"/conversations/{one['id']}").json()
            if one["living"] and told["turns"] and not told["goal_achieved"]:
                return told
    raise AssertionError("nobody talks")


def join(client: Http, talk: dict[str, Any], person_id: str = "ken", **headers: str) -> Any:
    """The answer to who sits down."""
    return client.post(f"/conversations/{talk['id']}/join", json={"person_id": person_id}, headers=headers)


def say(client: Http, talk: dict[str, Any], text: str, **more: Any) -> Any:
    """What is answered to who says something, and waits."""
    told = client.post(f"/conversations/{talk['id']}/say?wait=true", json={"text": text, **more})
    assert told.status_code == 200, told.text
    return told.json()


def turn_to(client: Http, talk: dict[str, Any], person_id: str = "ken") -> None:
    """Let the others speak until it is that person's turn."""
    for _ in range(600):
        told = client.get(f"/conversations/{talk['id']}").json()
        if told["awaits"] == person_id:
            return
        assert told["phase"] == "running", told
        time.sleep(0.02)
    raise AssertionError(told)


def remembered(client: Http, person_id: str) -> str:
    """All that the person remembers, in words."""
    told = client.get(f"/people/{person_id}/memories", params={"limit": 200}).json()
    return "\n".join(one["line"] for one in told["items"])


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_player_breaks_in_whispers_to_one_and_gets_up(tmp_path: Path, millbrook: Path, language: Language) -> None:
    model = Overheard(stays=True)
    with village(lively(tmp_path, millbrook, language), model) as client:
        player(client)
        talk = talk_that_goes_on(client)
        one, other = talk["character_id"], talk["partner_id"]
        sat = join(client, talk).json()
        assert (sat["awaits"], sat["mode"], sat["living"]) == ("ken", "player", False)
        assert [each["person_id"] for each in sat["people"]] == [one, other, "ken"]
        assert sat["turns"] == talk["turns"], "it goes on from what was said"
        told = client.get("/people/ken/updates?wait=0").json()["items"]
        assert [each["person_id"] for each in told[0]["data"]["people"]] == [one, other, "ken"]

        whispered = say(client, talk, SECRET[language], to=other, loudness="whisper")
        turn, answer = whispered["turn"], whispered["answer"]
        assert (turn["addressed"], turn["heard_by"], turn["loudness"]) == ([other], [other], "whisper")
        assert (answer["speaker_id"], answer["heard_by"], answer["loudness"]) == (other, ["ken"], "whisper")
        turn_to(client, talk)

        name = client.get(f"/people/{one}").json()["name"]
        named = say(client, talk, {"en": f"And you, {name}?", "ja": f"{name}はどう思う?"}[language])
        assert (named["answer"]["speaker_id"], named["turn"]["addressed"]) == (one, [one])
        assert "heard_by" not in named["answer"], "aloud"
        turn_to(client, talk)
        assert STONE[language] not in model.asked_of(one)
        assert STONE[language] in model.asked_of(other)

        before = client.get("/world/people").json()["people"]
        client.post("/world/tick", json={"ticks": 30}).raise_for_status()
        still = {p["id"]: p["position"] for p in client.get("/world/people").json()["people"]}
        assert {p["id"]: p["position"] for p in before if p["id"] in (one, other)} == {
            i: still[i] for i in (one, other)
        }

        model.stays = False
        gone = client.post(f"/conversations/{talk['id']}/leave", json=KEN).json()
        assert [each["person_id"] for each in gone["people"]] == [one, other]
        away = {"mode": "player", "player_id": "ken", "partner_id": "hermit"}
        assert client.post("/conversations/start", json=away).is_success, "it is free"
        over = until(client, talk["id"], "closed")
        later = [each for each in over["turns"] if each["turn"] >= len(gone["turns"])]
        assert {each["speaker_id"] for each in later} <= {one, other}
        assert len(later) <= 4
        heard = client.get(f"/conversations/{talk['id']}/updates?wait=0").json()["items"]
        completed = [each["data"]["turn"] for each in heard if each["kind"] == "utterance.completed"]
        assert max(completed) < len(gone["turns"]), "who has left hears no more"

        assert STONE[language] in remembered(client, other)
        assert STONE[language] in remembered(client, "ken")
        assert STONE[language] not in remembered(client, one)
        assert one not in [each["id"] for each in client.get("/world/people").json()["people"] if each["talking_in"]]
        client.post("/world/tick", json={"ticks": 300}).raise_for_status()


def test_people_beside_are_asked_to_the_table_until_it_is_full(tmp_path: Path, millbrook: Path) -> None:
    with village(lively(tmp_path, millbrook, decision="routine", table=3), Overheard()) as client:
        player(client)
        start = {"mode": "player", "player_id": "ken", "partner_id": "sora"}
        talk = client.post("/conversations/start", json=start).json()
        problem(join(client, talk, "hermit"), 409, "no-way-there")
        assert len(join(client, talk, "umi").json()["people"]) == 3
        full = problem(join(client, talk, "baker"), 409, "table-full")
        assert "Umi" in full["detail"]
        japanese = problem(join(client, talk, "baker", **{"Accept-Language": "ja"}), 409, "table-full")
        assert "席" in japanese["detail"]
        said = say(client, talk, "Who bakes today, Umi?")
        assert said["answer"]["speaker_id"] == "umi"
        assert join(client, talk, "umi").status_code == 200, "who sits there already stays"


def test_what_cannot_be_meant_is_refused_in_words(tmp_path: Path, millbrook: Path) -> None:
    with village(lively(tmp_path, millbrook, decision="routine"), Overheard()) as client:
        player(client)
        player(client, "mia", "Mia")
        start = {"mode": "player", "player_id": "ken", "partner_id": "sora"}
        talk = client.post("/conversations/start", json=start).json()
        path = f"/conversations/{talk['id']}"
        join(client, talk, "umi").raise_for_status()

        def whisper(to: str | None, **headers: str) -> Any:
            body = {"text": "Psst.", "loudness": "whisper", **({"to": to} if to else {})}
            return client.post(f"{path}/say", json=body, headers=headers)

        assert "Hanna" in problem(whisper("baker"), 409, "out-of-earshot")["detail"]
        assert "届きません" in problem(whisper("baker", **{"Accept-Language": "ja"}), 409, "out-of-earshot")["detail"]
        problem(whisper("nobody"), 404, "not-found")
        problem(whisper(None), 422, "invalid")
        problem(whisper("ken"), 409, "out-of-earshot")
        problem(join(client, talk, "mia"), 422, "invalid")
        problem(join(client, talk, "nobody"), 404, "not-found")
        problem(client.post(f"{path}/leave", json={"person_id": "baker"}), 422, "invalid")
        assert client.get(path).json()["turns"] == []
        client.post(f"{path}/end?wait=true").raise_for_status()
        over = problem(join(client, talk, "baker"), 409, "wrong-phase")
        assert talk["id"] in over["detail"]


def test_a_talk_that_has_just_ended_cannot_be_broken_into(tmp_path: Path, millbrook: Path) -> None:
    with village(lively(tmp_path, millbrook), Overheard()) as client:
        player(client)
        talk = talk_that_goes_on(client)
        client.post(f"/conversations/{talk['id']}/end").raise_for_status()
        problem(join(client, talk), 409, "wrong-phase")
        client.post("/world/tick", json={"ticks": 60}).raise_for_status()


def test_sitting_down_and_getting_up_are_done_once_for_a_key(tmp_path: Path, millbrook: Path) -> None:
    with village(lively(tmp_path, millbrook), Overheard()) as client:
        player(client)
        talk = talk_that_goes_on(client)
        first = join(client, talk, **{"Idempotency-Key": "sit"}).json()
        assert join(client, talk, **{"Idempotency-Key": "sit"}).json() == first
        key = {"Idempotency-Key": "go"}
        left = client.post(f"/conversations/{talk['id']}/leave", json=KEN, headers=key).json()
        back = join(client, talk)
        assert client.post(f"/conversations/{talk['id']}/leave", json=KEN, headers=key).is_success
        assert [one["person_id"] for one in left["people"]] == [talk["character_id"], talk["partner_id"]]
        people = client.get(f"/conversations/{talk['id']}").json()["people"]
        assert not back.is_success or "ken" in [one["person_id"] for one in people], "it came back, and stays"


def test_a_table_stands_as_it_was_after_a_restart(tmp_path: Path, millbrook: Path) -> None:
    settings = lively(tmp_path, millbrook)
    with village(settings, Overheard()) as client:
        player(client)
        talk = talk_that_goes_on(client)
        sat = join(client, talk).json()
    with village(settings, Overheard()) as client:
        assert client.get(f"/conversations/{talk['id']}").json() == sat
        to = talk["partner_id"]
        assert say(client, talk, "Are you still there?", to=to)["answer"]["speaker_id"] == to
        client.post("/world/tick", json={"ticks": 10}).raise_for_status()
        client.post(f"/conversations/{talk['id']}/end?wait=true").raise_for_status()
        client.post("/world/tick", json={"ticks": 240}).raise_for_status()


def test_a_player_who_says_nothing_has_left_the_table(tmp_path: Path, millbrook: Path) -> None:
    with village(lively(tmp_path, millbrook, silence_world_minutes=30), Overheard()) as client:
        player(client)
        talk = talk_that_goes_on(client)
        join(client, talk).raise_for_status()
        client.post("/world/tick", json={"ticks": 31}).raise_for_status()
        over = until(client, talk["id"], "closed")
        assert [one["person_id"] for one in over["people"]] == [talk["character_id"], talk["partner_id"]]
        told = client.get("/people/ken/updates?wait=0").json()["items"]
        assert [one["data"]["reason"] for one in told if one["kind"] == "conversation.ended"] == ["silence"]
