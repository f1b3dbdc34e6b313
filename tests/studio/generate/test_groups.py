"""Holds `kataribe generate groups` to chats of two to four in the form that is asked for, and its file to its keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.content.check import examine
from service.content.files import bundled_content
from service.conversation.prompt import PromptContext
from service.errors import ModelBroken
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.settings import Settings
from studio.generate.dataset import PlanRefused
from studio.generate.groups import groups_plan
from studio.generate.making import Order, make_dataset
from tests.content.classroom import classroom
from tests.scripted_model import ScriptedModel

GARDEN = """
language: en
modulator: model
groups:
  - id: garden
    situation: The tap in the garden has run dry.
    location: the allotments behind the station
    agents:
      - {id: mei, name: Mei, profile: A nurse., goal: Share the watering out fairly, plan: Ask everybody first}
      - {id: ren, name: Ren, profile: A retired fitter., goal: Mend the old pump}
      - {id: yui, name: Yui, profile: A student.}
"""
SAID = {
    "Mei": ("Who can come on Monday evening?", "Then Ren has Monday, and I take the rest."),
    "Ren": ("Give me a spanner and we need no list.", "The pump only wants a new washer."),
    "Yui": ("A barrel under the gutter would do.", "Rain is free, in any case."),
}


def written(directory: Path, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    file = directory / "groups.yaml"
    file.write_text(text, "utf-8")
    return file


def settings_of() -> Settings:
    return Settings(_env_file=None, embedding={"provider": "none"}, llm={"max_concurrency": 2})


def make(file: Path, models: Models | None = None) -> list[dict[str, Any]]:
    """What is made of it, beside it."""
    output, settings = file.with_name("out.jsonl"), settings_of()
    assert make_dataset(
        settings, groups_plan(file, settings), Order(file=output, plain=True, language="en"), models=models
    )
    return [json.loads(line) for line in output.read_bytes().splitlines()]


class Gardeners:
    """A model that plays the three; what is said reaches everybody but Yui."""

    def __init__(self) -> None:
        self.asked: list[Prompt[Any]] = []

    def __call__(self, prompt: Prompt[Any]) -> Any:
        self.asked.append(prompt)
        if prompt.name == "modulator":
            names = [one.name for one in prompt.given.others]  # type: ignore[attr-defined] # a ModulatorContext
            reach = {f"person_{n}": 0 if name == "Yui" else 10 for n, name in enumerate(names, 1)}
            return prompt.answer.model_validate({name: {"sees": to, "hears": to} for name, to in reach.items()})
        assert isinstance(prompt.given, PromptContext)
        me, own = prompt.given.speaker, [one for one in prompt.given.lines if one.speaker_id == prompt.given.speaker.id]
        return prompt.answer.model_validate(
            {
                "think": f"{me.name} has a reason.",
                "act": "" if own else "points at the tap",
                "talk": SAID[me.name][len(own)],
                "emotion": "neutral",
                "wants_to_end": False,
                "to": [],
                "loudness": "normal",
                "shifts": [],
            }
        )


def test_a_group_is_a_chat_whose_assistant_turns_have_reasons_and_each_call_is_counted(tmp_path: Path) -> None:
    gardeners = Gardeners()
    script = ScriptedModel(*[gardeners] * 12)
    (line,) = make(written(tmp_path, GARDEN), Models(dict.fromkeys(ROLES, script)))
    assert [*line] == ["id", "language", "group", "situation", "location", "participants", "messages", "meta"]
    assert (line["group"], line["location"]) == ("garden", "the allotments behind the station")
    assert line["participants"][1] == {
        "id": "ren", "name": "Ren", "profile": "A retired fitter.", "goal": "Mend the old pump", "plan": ""
    }  # fmt: skip
    messages = line["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant"] * 3
    assert [one["agent_id"] for one in messages] == ["mei", "ren", "yui"] * 2
    assert [one.get("reasoning") for one in messages[:4]] == [None, "Ren has a reason.", None, "Mei has a reason."]
    assert messages[0]["content"] == "(points at the tap) Who can come on Monday evening?"
    assert messages[3]["content"] == "Then Ren has Monday, and I take the rest."
    assert {name: one["calls"] for name, one in line["meta"]["spent"].items()} == {"modulator": 6, "speaker": 6}

    spoken = [one for one in gardeners.asked if one.name == "speaker"]
    first, last = ("\n".join(message.content for message in spoken[n].messages) for n in (0, 5))
    assert all(text in first for text in ("has run dry", "Share the watering out fairly", "Ask everybody first"))
    assert "reason" not in first
    assert "washer" not in last  # it did not reach Yui


def test_a_group_whose_model_gives_no_answer_to_use_is_left_out_and_says_so(tmp_path: Path) -> None:
    script = ScriptedModel(ModelBroken(model="m", reason="no object"))
    assert make(written(tmp_path, GARDEN), Models(dict.fromkeys(ROLES, script))) == []
    assert json.loads((tmp_path / "out.dropped.jsonl").read_bytes())["reason"] == "model_failure"


def test_groups_are_drawn_from_the_cast_the_same_ones_wherever_a_run_was_stopped(tmp_path: Path) -> None:
    text = "language: en\ndraw: {{count: {count}, size: [2, 3], situations: [The ferry is late.]}}\nrounds: 1\n"
    whole = written(tmp_path / "whole", text.format(count=9))
    parts = written(tmp_path / "parts", text.format(count=2))
    make(parts)
    output = parts.with_name("out.jsonl")
    output.write_bytes(output.read_bytes() + output.read_bytes()[:300])  # as if it had been killed while it wrote
    lines = make(written(tmp_path / "parts", text.format(count=9)))
    assert lines == make(whole)
    assert len({line["id"] for line in lines}) == len(lines) > 1
    assert {len(line["participants"]) for line in lines} == {2, 3}
    assert all(line["meta"]["rehearsal"] for line in lines)
    goals = {one["goal"] for line in lines for one in line["participants"]}
    assert len(goals) > 2


AGENTS = "agents: [{id: aoi}, {id: kohei}]"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rounds: 2", '"groups", "draw" or both'),
        ("groups: [{agents: [{id: aoi}]}]", "groups.yaml: groups[0]: found"),
        ("groups: [{agents: [{id: aoi}, {id: kohe}]}]", 'groups[0].agents[1].id: unknown person "kohe"'),
        ("groups: [{agents: [{id: aoi}, {id: aoi}]}]", "groups[0].agents[1].id"),
        ("groups: [{agents: [{id: aoi}, {id: x, name: Aoi, profile: y}]}]", 'two people are called "Aoi"'),
        (f"groups: [{{id: a, {AGENTS}}}, {{id: a, {AGENTS}}}]", "groups[1].id"),
        (f"groups: [{{location: yu_squar, {AGENTS}}}]", 'groups[0].location: unknown node "yu_squar"'),
        ("draw: {count: 2, size: [3, 2]}", "draw: found"),
        ("draw: {count: 2, size: [2, 5]}", "draw.size[1]: found the number 5; expected 4 or less"),
        ("draw: {count: 2, cast: [aoi, kohei]}", "draw.size[1]: groups of 4 cannot be drawn from 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_told_with_its_key(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        groups_plan(written(tmp_path, text), settings_of())
    assert wrong in refused.value.sentence("en")
    assert "誤り" in refused.value.sentence("ja")


def test_the_check_of_a_game_reads_its_groups(tmp_path: Path) -> None:
    game = classroom(tmp_path)
    (game / "groups").mkdir()
    (game / "groups" / "club.yaml").write_text("groups: [{agents: [{id: chara-a}, {id: chara-x}]}]", "utf-8")
    (found,) = examine(game).problems
    assert found.line("en").startswith('groups/club.yaml: groups[0].agents[1].id: unknown person "chara-x"')
    assert "chara-x" in found.line("ja")
    assert not examine(bundled_content()).problems
