"""A promise is kept where words of a later talk say so: who promised it did it, and nothing speaks against it."""

from collections.abc import Mapping
from itertools import chain

import pytest

from service.locales import Language, languages
from service.memory.extract import closing_prompt
from service.memory.extraction import ClosingContext, OpenPromise
from service.memory.validate import ValidExtraction, validate_extraction
from service.store.event_kinds import RejectionReason
from tests.memory.answers import extraction
from tests.memory.kept_cases import FRESH_LIES, FRESH_TRUE, LIES, TRUE, Case
from tests.memory.scenes import scene

Cases = Mapping[Language, tuple[Case, ...]]


def _promise(case: Case, ref: str = "p1") -> OpenPromise:
    by_id, to_id = ("mio", "npc_taro") if case.by == "Mio" else ("npc_taro", "mio")
    return OpenPromise(ref=ref, by_id=by_id, to_id=to_id, what=case.what, words=f"{case.by}: {case.what}")


def _talk(language: Language, case: Case) -> ClosingContext:
    return scene(language, case.lines, promises=(_promise(case),), everybody=frozenset({"Hanna", "ハンナ"}))


def _judged(where: ClosingContext, *kept: tuple[str, int]) -> ValidExtraction:
    return validate_extraction(extraction(kept=kept), where, affinity_step=15)


@pytest.mark.parametrize(
    ("language", "case"), [(language, case) for language in languages() for case in TRUE[language]]
)
def test_who_says_that_it_was_done_has_kept_it(language: Language, case: Case) -> None:
    judged = _judged(_talk(language, case), ("p1", case.turn))
    assert judged.kept == ("p1",)
    assert RejectionReason.NOT_TOLD_KEPT not in {one.reason for one in judged.rejected}


@pytest.mark.parametrize(
    ("language", "case"),
    [(language, case) for language in languages() for case in (*LIES[language], *FRESH_LIES[language])],
)
def test_what_is_planned_denied_asked_or_anothers_keeps_nothing_and_is_told(language: Language, case: Case) -> None:
    judged = _judged(_talk(language, case), ("p1", case.turn))
    assert judged.kept == ()
    (told,) = [one for one in judged.rejected if one.reason is RejectionReason.NOT_TOLD_KEPT]
    assert (told.statement, told.turn) == (f"{case.by}: {case.what}", case.turn)


@pytest.mark.parametrize(("language", "least"), [("en", 8), ("ja", 9)])
def test_of_truths_that_were_not_seen_before_most_are_found(language: Language, least: int) -> None:
    found = [_judged(_talk(language, case), ("p1", case.turn)).kept for case in FRESH_TRUE[language]]
    assert sum(map(bool, found)) >= least


@pytest.mark.parametrize("language", languages())
def test_a_careless_model_that_names_every_promise_in_every_turn_keeps_none_but_what_was_told(
    language: Language,
) -> None:
    """Six promises stand open in each talk; each is said to be kept in each turn of it."""
    every: list[Case] = list({case.what: case for case in chain(TRUE[language], LIES[language])}.values())
    wrong = 0
    for case in LIES[language]:
        others = [one for one in every if one.what != case.what][:5]
        promises = tuple(_promise(one, f"p{i}") for i, one in enumerate((case, *others), 1))
        where = scene(language, case.lines, promises=promises, everybody=frozenset({"Hanna", "ハンナ"}))
        for turn in range(len(case.lines)):
            for first in range(0, len(promises), 4):
                refs = [one.ref for one in promises[first : first + 4]]
                wrong += len(_judged(where, *((ref, turn) for ref in refs)).kept)
    assert wrong == 0


def test_a_promise_that_is_not_open_or_a_turn_that_is_not_there_keeps_nothing() -> None:
    case = TRUE["en"][0]
    judged = _judged(_talk("en", case), ("p2", case.turn), ("p1", 9))
    assert judged.kept == ()
    assert [one.reason for one in judged.rejected if one.turn is not None] == [RejectionReason.NOT_TOLD_KEPT] * 2


def test_a_promise_is_kept_once() -> None:
    case = TRUE["en"][0]
    assert _judged(_talk("en", case), ("p1", case.turn), ("p1", case.turn)).kept == ("p1",)


@pytest.mark.parametrize(("language", "asked"), [("en", "Promised before"), ("ja", "前の約束")])
def test_the_closing_is_told_of_open_promises_and_of_none_where_there_is_none(language: Language, asked: str) -> None:
    case = TRUE[language][0]
    told = closing_prompt(_talk(language, case)).messages[1].content
    assert asked in told
    assert f"[p1] {case.by}: {case.what}" in told
    assert asked not in closing_prompt(scene(language, case.lines)).messages[1].content
