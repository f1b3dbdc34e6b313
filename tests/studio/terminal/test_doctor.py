"""Holds `kataribe doctor`: what a service would run on; what a right verifier, one that is always content, and broken
models are worth.
"""

import asyncio
import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from service.errors import ModelBroken, ModelError, ModelNotConfigured, ModelRefused, ModelUnreachable
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.closing.context import ClosingAnswer
from service.memory.closing.doctor import LabelledTalk, labelled_talks
from service.memory.closing.verify import Finding, Verdict, Verdicts
from service.settings import Settings
from studio.terminal.doctor import show_checkup, show_doctor
from tests.memory.answers import closing, memory
from tests.scripted_model import Scripted, ScriptedModel

SETTINGS = Settings(_env_file=None)


def talk_of(prompt: Prompt[Any]) -> LabelledTalk:
    return next(talk for talk in labelled_talks() if talk.lines[1] in prompt.messages[-1].content)


def truths(prompt: Prompt[ClosingAnswer]) -> ClosingAnswer:
    """Every turn that tells something is cited; two memories more cannot be kept."""
    told = [memory(f"Sentence {'I' * turn}.", turn) for turn in talk_of(prompt).truths]
    return closing(first={"memories": [*told, memory("Of no turn.", 99), memory("Twelve.", 0, owner="x")]})


def right(prompt: Prompt[Verdicts]) -> Verdicts:
    claims = talk_of(prompt).claims
    return Verdicts(verdicts=[Verdict(n=n, finding=one.finding) for n, one in enumerate(claims, 1)])


def always(finding: Finding) -> Verdicts:
    return Verdicts(verdicts=[Verdict(n=n, finding=finding) for n in range(1, 7)])


def told(capsys: pytest.CaptureFixture[str], closes: Scripted, verifies: Scripted) -> list[str]:
    model = ScriptedModel()
    model.enqueue(*[closes] * 4, role="closing")
    model.enqueue(*[verifies] * 4, role="verify")
    asyncio.run(show_doctor(SETTINGS, "en", models=Models(dict.fromkeys(ROLES, model))))
    assert not model.unused
    return capsys.readouterr().out.splitlines()


def test_what_is_shipped_is_whole() -> None:
    talks = labelled_talks()
    assert [(talk.language, len(talk.claims)) for talk in talks] == [("en", 6), ("ja", 6), ("fr", 6), ("zh", 6)]
    for talk in talks:
        assert {one.told_by for one in talk.claims} <= {*talk.people}
        assert set(talk.truths) < set(range(len(talk.lines)))
        assert sum(one.finding == "supported" for one in talk.claims) == 3


def test_a_right_verifier_and_a_closing_that_cites_every_truth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, truths, right)
    assert lines[0] == (
        "Verifying (scripted): 24 of 24 claims judged rightly. "
        "Truths called supported: 12 of 12; lies caught: 12 of 12."
    )
    assert lines[1:8] == [
        "  true: 12/12",
        "  another number: 2/2",
        "  a joke taken as meant: 2/2",
        "  told by another: 2/2",
        "  roles swapped: 2/2",
        "  a denial lost: 2/2",
        "  not said: 2/2",
    ]
    assert lines[8:10] == [
        "Closing (scripted):",
        "  en: turns with a truth that are cited: 5 of 5; kept out by form: 2 "
        "(it names nobody who took part, or nothing that was known: 1, it names a turn that does not exist: 1)",
    ]
    assert [line[:45] for line in lines[10:]] == [
        f"  {language}: turns with a truth that are cited: {count} of"
        for language, count in (("ja", 5), ("fr", 4), ("zh", 4))
    ]


@pytest.mark.parametrize(
    "error",
    [ModelBroken(model="scripted", reason="no JSON"), ModelRefused(model="scripted", reason="I would rather not")],
    ids=["broken", "refuses"],
)
def test_an_answer_that_cannot_be_used_is_counted(capsys: pytest.CaptureFixture[str], error: ModelError) -> None:
    lines = told(capsys, error, error)
    assert "0 of 24 claims judged rightly" in lines[0]
    assert lines[9] == f"  en: no answer to use. {error.sentence('en')}"


def test_a_server_that_is_away_says_nothing_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    away = ModelUnreachable(model="scripted", base_url="http://localhost:1", reason="refused")
    with pytest.raises(ModelUnreachable):
        told(capsys, away, right)


def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(ModelNotConfigured, match="KATARIBE_LLM__BASE_URL"):
        asyncio.run(show_doctor(SETTINGS, "en"))


def looked_at(settings: Settings, model: ScriptedModel, language: Language = "en") -> tuple[bool, list[str]]:
    with redirect_stdout(io.StringIO()) as out:
        is_well = asyncio.run(show_checkup(settings, language, models=Models(dict.fromkeys(ROLES, model))))
    return is_well, out.getvalue().splitlines()


def test_all_that_a_service_needs_is_looked_at_a_line_each_and_each_role_asked_a_word(settings: Settings) -> None:
    model = ScriptedModel(*[{"utterance": "yes"}] * len(ROLES))
    is_well, lines = looked_at(settings, model)
    assert is_well
    assert [line.partition(":")[0] for line in lines[:4]] == ["settings", "database", "memory", "clock"]
    assert [line.partition(":")[0] for line in lines[4:]] == [f"model {role}" for role in ROLES]
    assert all(": ok, " in line for line in lines)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_is_wrong_is_told_with_what_to_set_and_the_rest_is_looked_at(
    settings: Settings, language: Language
) -> None:
    away = ModelUnreachable(model="scripted", base_url="http://localhost:1", reason="refused")
    model = ScriptedModel(*[away] * len(ROLES))
    broken = settings.changed(world={"start": "soon"})
    (settings.data_dir / "kataribe.db").write_bytes(b"SQLite format 3\0" + b"no database" * 400)
    is_well, lines = looked_at(broken, model, language)
    assert not is_well
    wrong = [line for line in lines if {"en": "WRONG", "ja": "問題あり"}[language] in line]
    assert len(wrong) == len(lines) - 1
    assert "KATARIBE_WORLD__START" in wrong[0]
    assert "KATARIBE_DATABASE_URL" in wrong[1]
    assert away.sentence(language) in wrong[-1]


def test_where_nothing_is_yet_nothing_is_made(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, data_dir=tmp_path / "none", llm={"provider": "rehearsal"})
    with redirect_stdout(io.StringIO()) as out:
        assert asyncio.run(show_checkup(settings, "en"))
    assert "the first start makes one" in out.getvalue()
    assert not (tmp_path / "none").exists()
