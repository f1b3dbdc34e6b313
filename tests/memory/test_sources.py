"""Owns the tests of service/memory/sources.py: when a told claim comes from what its teller had heard, and when not."""

from dataclasses import replace
from typing import Any

import pytest

from service.locales import Language
from service.memory.extraction import Claim, ClosingContext, Mode, Source
from service.memory.record import confidence
from service.memory.validate import ValidClaim, validate_extraction
from tests.memory.scenes import AT, answer, heard, scene
from world.time import WorldTime

EVERYBODY = {
    "en": frozenset({"Mio", "Taro", "Kenji", "Hana", "Al"}),
    "ja": frozenset({"ミオ", "太郎", "健二", "花"}),
}
NAMES = {"en": {"kenji": "Kenji", "hana": "Hana", "npc_taro": "Taro"}, "ja": {"kenji": "健二", "hana": "花"}}


def source(
    statement: str, *chain: str, subject: str = "", words: str = "", language: Language = "en", at: WorldTime = AT
) -> Source:
    """What Taro had heard."""
    names = tuple(NAMES[language][one] for one in chain)
    return Source(statement=statement, words=words, subject=subject, chain=chain, names=names, at=at)


def told(
    said: str, claim: Claim, *sources: Source, language: Language = "en", mode: Mode = "asserted", **changes: Any
) -> ValidClaim[Claim]:
    """What Mio remembers of Taro's words, who had heard the sources."""
    base: ClosingContext = scene(language, ("…", said), **changes)
    mio, taro = base.participants
    where = replace(base, participants=(mio, replace(taro, sources=sources)), everybody=EVERYBODY[language])
    extraction = answer(remembered=(claim.model_copy(update={"mode": mode}),))
    (kept,) = validate_extraction(extraction, where, affinity_step=20).sides[0].facts
    return kept


BRIDGE = "The old bridge is broken"
FROM_KENJI = source(BRIDGE, "kenji", subject="the bridge", words='Kenji said: "The old bridge is broken, I saw it."')


@pytest.mark.parametrize(
    ("said", "statement", "subject", "mode"),
    [
        ("The old bridge is broken.", BRIDGE, "the bridge", "asserted"),
        ("The old bridge is broken, Kenji says.", BRIDGE, "bridge", "hearsay"),
        ("Kenji says the old bridge is broken.", "Kenji says the old bridge is broken", "Kenji", "asserted"),
        ("I hear the old bridge is broken.", "Taro says the old bridge is broken", "Taro", "hearsay"),
        ("The old bridge is broken, I saw it. Be careful.", "Kenji saw the bridge", "the bridge", "asserted"),
    ],
)
def test_what_was_heard_before_and_told_on_keeps_its_chain(said: str, statement: str, subject: str, mode: Mode) -> None:
    kept = told(said, heard(statement, 1, subject=subject), FROM_KENJI, mode=mode)
    assert (kept.chain, kept.mode, kept.held) == (("kenji", "npc_taro"), "hearsay", False)
    assert kept.words.startswith("Heard from Taro, who had it from Kenji: ")


ILL = source("Kenji is ill", "kenji", subject="Kenji", words='Kenji said: "I am ill."')
MARRIED = source("Hana is married", "kenji", subject="Hana", words='Kenji said: "Hana is married."')


@pytest.mark.parametrize(
    ("said", "statement", "subject", "mode", "known"),
    [
        ("I am ill.", "Taro is ill", "Taro", "asserted", ILL),
        ("I think I am ill.", "Taro thinks he is ill", "Taro", "hearsay", ILL),
        ("Hana is ill.", "Hana is ill", "Hana", "asserted", ILL),
        ("Al is married.", "Al is married", "Al", "asserted", MARRIED),
        ("The old bridge is not broken.", "The old bridge is not broken", "the bridge", "asserted", FROM_KENJI),
        ("Two old bridges are broken.", "Two old bridges are broken", "the bridges", "asserted", FROM_KENJI),
        ("The old mill is broken.", "The old mill is broken", "the mill", "asserted", FROM_KENJI),
        ("Lovely weather today.", BRIDGE, "the bridge", "asserted", FROM_KENJI),
        (
            "Good day.",
            "Taro says good day",
            "the day",
            "asserted",
            replace(FROM_KENJI, words='Kenji said: "Good day."'),
        ),
        ("The old bridge is broken.", BRIDGE, "the bridge", "asserted", replace(FROM_KENJI, at=WorldTime(AT + 1))),
        ("The old bridge is broken.", BRIDGE, "the bridge", "asserted", replace(FROM_KENJI, chain=("npc_taro",))),
    ],
)
def test_no_chain_is_invented_where_nothing_links(
    said: str, statement: str, subject: str, mode: Mode, known: Source
) -> None:
    kept = told(said, heard(statement, 1, subject=subject), known, mode=mode)
    assert kept.chain == ("npc_taro",)
    assert "who had it" not in kept.words


def test_the_nearest_to_where_it_began_is_the_source() -> None:
    far = replace(FROM_KENJI, chain=("kenji", "hana"), names=("Kenji", "Hana"), at=WorldTime(AT - 60))
    kept = told("The old bridge is broken.", heard(BRIDGE, 1, subject="the bridge"), far, FROM_KENJI)
    assert kept.chain == ("kenji", "npc_taro")


def test_of_long_chains_the_last_hands_are_named_and_who_began_it() -> None:
    ids = ("kenji", *(f"p{number}" for number in range(6)))
    far = replace(FROM_KENJI, chain=ids, names=("Kenji", *map(str.upper, ids[1:])))
    kept = told("The old bridge is broken.", heard(BRIDGE, 1, subject="the bridge"), far)
    assert kept.chain == (*ids, "npc_taro")
    assert kept.words.startswith("Heard from Taro, who had it by way of P5, P4, P3 from Kenji: ")


def test_what_is_told_of_a_third_says_from_whom_it_was_heard() -> None:
    of_a_third = told("Kenji is ill today.", heard("Kenji is ill", 1, subject="Kenji"))
    assert of_a_third.words == 'Heard from Taro: "Kenji is ill today."'
    of_itself = told("I am ill today.", heard("Taro is ill", 1, subject="Taro"))
    assert of_itself.words == 'Taro said: "I am ill today."'
    of_the_listener = told("You look ill today.", heard("Mio looks ill", 1, subject="Mio"))
    assert of_the_listener.words == 'Taro said: "You look ill today."'


def test_japanese_rumours_are_linked_as_english_ones_are() -> None:
    known = source("古い橋が壊れている", "kenji", subject="古い橋", language="ja")
    kept = told(
        "健二さんの話だと、古い橋が壊れているそうだ。",
        heard("古い橋が壊れている", 1, subject="橋"),
        known,
        language="ja",
    )
    assert kept.chain == ("kenji", "npc_taro")
    assert kept.words == "太郎(もとは健二)から聞いた話「健二さんの話だと、古い橋が壊れているそうだ。」"
    other = told(
        "花は病気だ。",
        heard("花は病気だ", 1, subject="花"),
        replace(known, statement="健二は病気だ", subject="健二"),
        language="ja",
    )
    assert (other.chain, other.words) == (("npc_taro",), "太郎から聞いた話「花は病気だ。」")


@pytest.mark.parametrize(
    ("chain", "mode", "left"),
    [
        ((), "asserted", 1.0),
        (("a",), "asserted", 0.8),
        (("a",), "hearsay", 0.64),
        (("a", "b"), "hearsay", 0.64),
        (("a", "b", "c"), "hearsay", 0.51),
        (("a",), "planned", 0.8),
        (("a",), "joking", 0.4),
    ],
)
def test_confidence_falls_with_each_hand(chain: tuple[str, ...], mode: str, left: float) -> None:
    assert confidence(chain, mode) == left
