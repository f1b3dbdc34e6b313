"""Holds the making of people: as planned, no two alike, woven in at the end and not before, gone on with after a stop;
one who cannot be made costs that one alone.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from service.content.files import init_content
from service.content.load import load_content
from service.errors import ModelBroken, ModelUnreachable
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.own_prompts import game_problems
from service.settings import Settings
from studio.generate.dataset import GenerationStopped
from studio.generate.making import Order, make_dataset
from studio.generate.people.asking import MadePerson, PersonContext
from studio.generate.people.making import PeopleJob, people_job
from tests.scripted_model import ScriptedModel
from tests.servers.fake_openai import FakeOpenAI
from tests.studio.generate.people.somebody import answer, somebody, wished

AWAY = ModelUnreachable(model="scripted", base_url="http://localhost", reason="refused")
BROKEN = ModelBroken(model="scripted", reason="no object")
Answer = Callable[[PersonContext], MadePerson]


def by_number(context: PersonContext) -> MadePerson:
    return somebody(context.number - 1)


def with_faults(context: PersonContext) -> MadePerson:
    """The fourth answers nonsense, always; the sixth is the second at first; the eighth is the third, always."""
    number = context.number - 1
    if number == 3:
        raise BROKEN
    if number == 5 and context.attempt == 0:
        return somebody(1)
    return somebody(2) if number == 7 else somebody(number)


@pytest.fixture
def game(tmp_path: Path) -> Path:
    init_content(tmp_path / "game")
    return tmp_path / "game"


def settings_of(game: Path, **llm: Any) -> Settings:
    return Settings(
        _env_file=None,
        content_dir=game,
        embedding={"provider": "none"},
        world={"language": "en"},
        llm={"max_concurrency": 4, **llm},
    )


def make(
    game: Path, answers: Answer | None, wanted: dict[str, Any], **llm: Any
) -> tuple[PeopleJob, list[PersonContext]]:
    """Make them by that script, or by what the settings name; answers what was asked."""
    settings = settings_of(game, **llm)
    job = people_job(settings, **wanted)
    job.files.open()
    script = ScriptedModel()
    if answers is not None:
        script.enqueue(*[lambda prompt: answers(_told(prompt))] * 1000)
    models = None if answers is None else Models(dict.fromkeys(ROLES, script))
    assert make_dataset(settings, job, Order(file=job.files.answers, language="en", plain=True), models=models)
    return job, [_told(one) for one in script.history]


def _told(prompt: Prompt[Any]) -> PersonContext:
    assert isinstance(prompt.given, PersonContext)
    return prompt.given


def demography(game: Path, **values: Any) -> dict[str, Any]:
    """A dozen people of two sexes."""
    file = game.parent / "demography.json"
    whole = {"count": 12, "seed": 3, "sex": {"woman": 0.75, "man": 0.25}, "age": {"20-59": 1}, **values}
    file.write_text(json.dumps(whole), "utf-8")
    return {"demography": file}


def _record(values: dict[str, Any]) -> SimpleNamespace | dict[Any, Any]:
    """The record by its names; people by their numbers."""
    if "goes" in values:
        return SimpleNamespace(**values)
    return {int(key) if key.isdigit() else key: value for key, value in values.items()}


def record_of(game: Path) -> Any:
    (file,) = (one for one in (game / "people").glob("*.json") if one.name.count(".") == 1)
    return json.loads(file.read_bytes(), object_hook=_record)


def files_of(game: Path) -> Mapping[str, bytes]:
    """All files of the world, but for what is written of the making."""
    files = (one for one in sorted(game.rglob("*")) if one.is_file() and "people" not in one.relative_to(game).parts)
    return {str(one.relative_to(game)): one.read_bytes() for one in files}


def test_people_come_as_planned_and_the_world_is_untouched_until_the_end(game: Path) -> None:
    before, seen = files_of(game), set[bool]()

    def look(context: PersonContext) -> MadePerson:
        seen.add(files_of(game) == before)
        assert next((game / "people").glob("*.plan.json")).exists()
        return by_number(context)

    job, asked = make(game, look, demography(game))
    assert seen == {True}
    assert (job.made, len(asked)) == (12, 12)
    record = record_of(game)
    assert (record.made, record.doubles, record.dropped, record.calls_per_person) == (12, 0, [], 1.0)
    by_sex = {
        row["value"]: (row["wanted"], row["planned"], row["made"])
        for row in record.outcome
        if row["attribute"] == "sex"
    }
    assert by_sex == {"woman": (9, 9, 9), "man": (3, 3, 3)}
    assert game_problems(game) == []
    cast = load_content(game).cast("en")
    assert {cast.actor(one).name for one in record.people.values()} == {somebody(n).name for n in range(12)}
    assert {name: text for name, text in files_of(game).items() if name in before and name != "maps.json"} == {
        name: text for name, text in before.items() if name != "maps.json"
    }


def test_doubles_are_made_again_and_nonsense_costs_that_person_alone(
    game: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, asked = make(game, with_faults, demography(game))
    record = record_of(game)
    assert job.made == 10
    assert [(one["number"], one["reason"], one["like"]) for one in record.dropped] == [
        (3, "model_failure", ""),
        (7, "same_name", "Cleo"),
    ]
    assert (record.doubles, record.calls) == (4, 12 + 1 + 1 + 2)
    wrong = {(one.number - 1, one.attempt): one.wrong for one in asked if one.attempt}
    assert wrong[5, 1] == ("it had the name of Bram; choose another name",)
    assert wrong[3, 1] == ("it was not the JSON that was asked for",)
    assert sorted(wrong) == [(3, 1), (5, 1), (7, 1), (7, 2)]
    told = capsys.readouterr().out
    assert "not made: person 4 of the plan (the model gave no answer to use)" in told
    assert "not made: person 8 of the plan (called as Cleo is)" in told
    assert "10 of 12 people made" in told
    assert game_problems(game) == []


def test_a_run_that_stops_goes_on_and_makes_the_same_people(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    init_content(whole)
    init_content(parts)
    make(whole, with_faults, demography(whole))
    before = files_of(parts)
    for calls in (5, 9):
        left = iter(range(calls))

        def stopping(context: PersonContext, left: Any = left) -> MadePerson:
            if next(left, None) is None:
                raise AWAY
            return with_faults(context)

        with pytest.raises(GenerationStopped):
            make(parts, stopping, demography(parts))
        assert files_of(parts) == before
    _, asked = make(parts, with_faults, demography(parts))
    assert 0 < len(asked) < 8
    assert files_of(parts) == files_of(whole)
    assert record_of(parts) == record_of(whole)


def test_the_same_command_makes_those_who_are_missing_and_nobody_twice(
    game: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(game, with_faults, demography(game))
    first, ids = files_of(game), record_of(game).people
    _, asked = make(game, by_number, demography(game))
    assert sorted((one.number - 1, one.attempt) for one in asked) == [(3, 3), (7, 3)]
    record = record_of(game)
    assert (record.made, record.goes, record.calls) == (12, 2, 18)
    assert {number: record.people[number] for number in ids} == ids
    people = {name: text for name, text in first.items() if name != "maps.json"}
    assert {name: files_of(game)[name] for name in people} == people
    assert game_problems(game) == []
    done = files_of(game)
    _, asked = make(game, by_number, demography(game))
    assert (asked, files_of(game)) == ([], done)
    assert "Nobody is new" in capsys.readouterr().out


def test_who_is_made_while_another_command_waits_is_not_made_by_it_again(game: Path) -> None:
    settings = settings_of(game)
    waiting = people_job(settings, **demography(game, count=3))
    make(game, by_number, demography(game, count=3))
    before, nobody = files_of(game), ScriptedModel()
    order = Order(file=waiting.files.answers, language="en", plain=True)
    assert make_dataset(settings, waiting, order, models=Models(dict.fromkeys(ROLES, nobody)))
    assert (nobody.history, files_of(game), waiting.made) == ([], before, 3)


def test_who_was_made_and_is_gone_comes_back_without_a_call(game: Path) -> None:
    make(game, by_number, demography(game, npcs=0))
    gone = game / "characters" / f"{record_of(game).people[11]}.yaml"
    whole = yaml.safe_load(gone.read_text("utf-8"))
    for file in (game / "characters").iterdir():
        there = yaml.safe_load(file.read_text("utf-8"))
        if whole["id"] in [*there.get("knows", []), *(one["person"] for one in there.get("relationships", []))]:
            there["knows"] = [one for one in there.get("knows", []) if one != whole["id"]]
            there["relationships"] = [one for one in there.get("relationships", []) if one["person"] != whole["id"]]
            file.write_text(yaml.safe_dump(there, allow_unicode=True), "utf-8")
    gone.unlink()
    _, asked = make(game, by_number, demography(game, npcs=0))
    assert asked == []
    assert yaml.safe_load(gone.read_text("utf-8"))["facts"] == whole["facts"]


def test_where_nobody_can_be_made_the_world_stays_as_it_is(game: Path) -> None:
    def broken(context: PersonContext) -> MadePerson:
        raise BROKEN

    before = files_of(game)
    job, asked = make(game, broken, demography(game))
    assert (job.made, len(asked), files_of(game)) == (0, 24, before)
    assert len(record_of(game).dropped) == 12


def test_what_is_wished_is_told_to_the_model_and_its_answer_stands_in_the_file(game: Path) -> None:
    def pilot(context: PersonContext) -> MadePerson:
        return wished(0, age=63)

    job, (asked,) = make(game, pilot, {"wish": "a ferry <b>pilot</b> who is afraid of fog"})
    assert asked.wish == "a ferry pilot who is afraid of fog"
    (person_id,) = record_of(game).people.values()
    text = (game / "characters" / f"{person_id}.yaml").read_text("utf-8")
    assert text.startswith(f"# Made by kataribe people make, run {job.files.answers.stem}. Wish: a ferry pilot who is")
    found = yaml.safe_load(text)
    assert (found["age"], found["gender"], found["occupation"]) == (63, "woman", {"title": "ferry pilot"})
    assert "bigFive" not in found, "chance would contradict the wish"
    assert all(block.get("action") != "work" for block in found["routine"]), "no listed place was named"


def test_the_person_of_a_wish_works_where_its_answer_says(game: Path) -> None:
    place = next(one for one in load_content(game).cast("en").world_map.facilities.values() if "work" in one.tags)
    make(game, lambda context: wished(0, work="clerk", workplace=place.name.upper()), {"wish": "a clerk"})
    (person_id,) = record_of(game).people.values()
    found = yaml.safe_load((game / "characters" / f"{person_id}.yaml").read_text("utf-8"))
    assert found["occupation"] == {"title": "clerk", "organization": place.name}
    assert place.id in [block.get("facility") for block in found["routine"]]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"lines": ["Hello, friend of mine."] * 6}, "repeats"),
        ({"lines": ["As an AI language model, I have no name.", *answer(1)["lines"]]}, "out_of_character"),
        ({"lines": [f"これは{one}番目の台詞です。今日はいい天気ですね。" for one in "一二三四五六"]}, "language"),
        ({"personality": "無口で頑固な人。" * 20}, "language"),
    ],
    ids=["repeats", "a_model", "other_language", "personality_in_another_language"],
)
def test_an_answer_that_no_person_could_have_given_is_of_no_use(game: Path, fault: Any, reason: str) -> None:
    def faulty(context: PersonContext) -> MadePerson:
        return MadePerson.model_validate(answer(context.number - 1) | (fault if context.number == 2 else {}))

    make(game, faulty, demography(game, count=2))
    assert [(one["number"], one["reason"]) for one in record_of(game).dropped] == [(1, reason)]


def test_a_rehearsal_makes_people_of_parts_and_says_so(game: Path) -> None:
    job, _ = make(game, None, {"wish": "an owl keeper who never sleeps", "count": 20}, provider="rehearsal")
    record = record_of(game)
    assert (job.made, record.doubles, record.rehearsal) == (20, 0, True)
    assert game_problems(game) == []
    cast = load_content(game).cast("en")
    for person_id in record.people.values():
        folder = "npcs" if person_id in cast.npcs else "characters"
        text = (game / folder / f"{person_id}.yaml").read_text("utf-8")
        assert text.startswith("# Rehearsal: ")
        assert cast.actor(person_id).personality.startswith("An owl keeper who never sleeps.")
        assert any("an owl keeper who never sleeps" in line for line in cast.actor(person_id).lines)


def test_people_are_made_again_from_a_recording_byte_for_byte(tmp_path: Path) -> None:
    def told(body: dict[str, Any]) -> str:
        number = int(body["messages"][1]["content"].split("person number ")[1].split(" of ")[0])
        again = "could not be used" in body["messages"][1]["content"]
        if number == 3:
            return "I would rather not."
        return json.dumps(answer(0 if number == 2 and not again else number))

    made = []
    for name, mode in (("recorded", "record"), ("replayed", "replay")):
        init_content(tmp_path / name / "game")
        game = tmp_path / name / "game"
        taped = {"cassette": tmp_path / "cassette", "cassette_mode": mode}
        with FakeOpenAI(answer=told) as server:
            llm = taped if mode == "replay" else {**taped, "base_url": server.base_url, "model": "m"}
            make(game, None, demography(game, count=4), **llm)
            assert (len(server.requests) > 4) is (mode == "record")
        made.append((files_of(game), record_of(game), next((game / "people").glob("*[0-9a-f].jsonl")).read_bytes()))
    assert made[0] == made[1]
    assert [one["number"] for one in made[0][1].dropped] == [2]
