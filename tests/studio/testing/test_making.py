"""Holds `kataribe test`: seeded defects are found, a sound person passes, a file that is wrong says where."""

import asyncio
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from rich.console import Console

from benchmarks.model_server import MODEL, model_server
from service.content.files import bundled_content
from service.content.load import Cast, load_content
from service.llm.chat import ChatModel
from service.locales import Language
from service.offline.model import OfflineModel
from service.settings import Settings
from studio.testing.file import PROBES, TestsRefused, read_tests
from studio.testing.play import CastOutcome, Run, judge_cast, run_tests
from studio.testing.report import show, told, write_junit
from tests.studio.testing.seeded import DEFECTS, Seeded

LANGUAGES: tuple[Language, ...] = ("en", "ja")
SOUND = ["Sit down, and tell me what the trouble is.", "Drink water and sleep. Ren will look in on you tomorrow."]
ASKED: dict[str, Any] = {"npc": "npc_kiriko", "as": "Mika", "say": ["Doctor, my head hurts.", "What are you hiding?"]}


def outcome_of(tmp_path: Path, model: Seeded, *tests: dict[str, Any]) -> CastOutcome:
    (tmp_path / "doctor.yaml").write_text(yaml.safe_dump({"language": "en", "tests": list(tests)}, allow_unicode=True))
    settings = Settings(_env_file=None, embedding={"provider": "none"})
    return run_tests(settings, tmp_path, models=model.models)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_seeded_defect_is_found(tmp_path: Path, defect: str) -> None:
    check, answers = DEFECTS[defect]
    outcome = outcome_of(tmp_path, Seeded(answers), ASKED)
    failures = outcome.tested[0].runs[0].failures
    assert not outcome.passed
    assert check in {one.check for one in failures}, failures
    assert all(told(one, language) for one in failures for language in ("en", "ja"))


def test_a_sound_person_passes_and_knows_what_is_given(tmp_path: Path) -> None:
    given = {
        "affinity": 70,
        "factsTold": ["Mika is allergic to willow bark."],
        "flags": {"bell_repaired": True},
        "time": "2026-05-02T09:00",
    }
    must = [{"any": ["nothing of the kind", "ＲＥＮ"]}]
    told_to_friends = [SOUND[0], "I am losing my sight from the edges inwards, and I hide it until Ren is ready."]
    model = Seeded(told_to_friends)
    outcome = outcome_of(tmp_path, model, {**ASKED, "given": given, "must": must, "never": ["willow"]})
    assert outcome.passed, outcome.tested[0].runs[0].failures  # whom she likes so much she may tell
    assert outcome.tested[0].runs[0].calls >= 3


def test_never_must_and_the_judge_are_held_and_counted(tmp_path: Path) -> None:
    model = Seeded(SOUND, holds=False)
    wanted = {**ASKED, "never": ["water"], "must": [{"any": ["fever", "pulse"]}], "judge": "She is kind."}
    outcome = outcome_of(tmp_path, model, wanted)
    run = outcome.tested[0].runs[0]
    assert [(one.check, one.number) for one in run.failures] == [("forbidden", 1), ("missing", None), ("judge", 1)]
    assert (run.judge_calls, [one.claim for one in model.judged]) == (1, ["She is kind."])
    assert any("hospital" in one for one in model.judged[0].written), "the judge knows what her author wrote"


def test_so_many_of_the_repeats_have_to_hold(tmp_path: Path) -> None:
    model = Seeded(SOUND)
    twice = {**ASKED, "never": ["water"], "repeat": 2}
    outcome = outcome_of(
        tmp_path, model, {**ASKED, "repeat": 3, "pass": 2}, {**twice, "pass": 1}, {**ASKED, "npc": "npc_taro"}
    )
    assert [(one.held, one.passed) for one in outcome.tested] == [(3, True), (0, False), (1, True)]
    junit = tmp_path / "out.xml"
    write_junit(outcome, junit, "en")
    suites = ElementTree.parse(junit).getroot()  # noqa: S314 - we wrote it
    assert [(one.get("name"), one.get("tests"), one.get("failures")) for one in suites] == [
        ("cast", "1", "0"),
        ("doctor.yaml", "3", "1"),
    ]
    failure = suites.find("testsuite/testcase/failure")
    assert failure is not None
    assert "answer 2: holds “water”" in (failure.get("message") or "")


def test_a_test_that_was_recorded_is_repeated_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "doctor.yaml").write_text(yaml.safe_dump({"language": "en", "tests": [{**ASKED, "repeat": 2}]}))

    def held(**llm: Any) -> list[Any]:
        settings = Settings(_env_file=None, embedding={"provider": "none"}, llm={**llm, "cassette": tmp_path / "tape"})
        outcome = run_tests(settings, tmp_path)
        assert not outcome.rehearsal
        return [(run.talk, run.failures, run.calls) for run in outcome.tested[0].runs]

    with model_server(mean_seconds=0) as server:
        recorded = held(base_url=server.base_url, model=MODEL, cassette_mode="record")
    assert all(talk for talk, _, _ in recorded)
    assert held(cassette_mode="replay") == recorded


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"sya": ["hello"]}, 'bad.yaml: tests[0].sya: unknown key "sya"; expected one of name, npc, as, given'),
        ({"say": ["hello"], "npc": "npc_tarou"}, 'bad.yaml: tests[0].npc: unknown person "npc_tarou"'),
        ({"say": ["hello"], "repeat": 2, "pass": 3}, "at most as many under pass as under repeat"),
        ({"say": ["hello"], "given": {"affinity": 300}}, "bad.yaml: tests[0].given.affinity: found the number 300"),
        ({"say": []}, "bad.yaml: tests[0].say"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_what_was_expected(
    tmp_path: Path, wrong: dict[str, Any], expected: str
) -> None:
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump({"tests": [wrong]}))
    cast = load_content(bundled_content()).cast("en")
    with pytest.raises(TestsRefused) as refused:
        read_tests(tmp_path, cast)
    assert expected in refused.value.sentence("en")
    assert "テストに誤りが" in refused.value.sentence("ja")


def test_our_probes_are_in_both_languages() -> None:
    cast = load_content(bundled_content()).cast("en")
    (tests,) = (file.tests for file in read_tests(PROBES, cast).values())
    assert len(tests[0].say) == 25
    said = [one for test in tests for one in (test.name, *test.say)]
    assert all(one.of("en") != one.of("ja") for one in said)


WRONG = {"npc_harue": "Taro has three children", "npc_taro": "has two children"}


@pytest.fixture
def at_odds() -> Cast:
    """The cast, with two authors who write otherwise of one person."""
    cast = load_content(bundled_content()).cast("en")
    wrong = {npc_id: cast.npcs[npc_id].model_copy(update={"facts": (fact,)}) for npc_id, fact in WRONG.items()}
    return replace(cast, npcs={**cast.npcs, **wrong})


def judged(model: ChatModel, cast: Cast) -> Run:
    return asyncio.run(judge_cast(model, cast, "en", asyncio.Semaphore(2)))


def test_authored_facts_of_one_person_that_a_model_finds_at_odds_are_listed_with_their_files(at_odds: Cast) -> None:
    run = judged(Seeded([], apart=WRONG["npc_harue"]), at_odds)
    assert any(one.about.startswith("Taro") for one in run.failures)
    assert {one.quote for one in run.failures} == {"Taro has three children (npcs/npc_harue.yaml)"}
    assert all(one.quote in told(one, language) for one in run.failures for language in LANGUAGES)
    assert (run.judge_calls > 1, run.unjudged) == (True, 0)


def test_without_a_model_no_fact_of_a_cast_is_judged_and_the_report_says_so(at_odds: Cast, tmp_path: Path) -> None:
    run = judged(OfflineModel(), at_odds)
    assert (run.failures, run.judge_calls, run.unjudged > 1) == ([], 0, True)
    outcome = CastOutcome(language="en", rehearsal=True, cast=run, tested=[])
    assert outcome.passed
    shown = StringIO()
    show(outcome, "en", Console(file=shown, width=120))
    assert "not judged" in shown.getvalue()
    assert "0 passed, 0 failed" in shown.getvalue()
    write_junit(outcome, tmp_path / "out.xml", "en")
    assert "skipped" in (tmp_path / "out.xml").read_text()
