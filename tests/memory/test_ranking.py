"""What was said is found by its own words and by what stands around it, who said it and when; or nothing is found."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from service.memory.index import PersonIndex, RecallQuery
from service.memory.lexical import stem
from service.memory.record import HeardTurn, Item, Kind, Memory, Recalled
from world.time import WorldTime, parse_time

MAY = parse_time("2026-05-03T10:00")
NOW = parse_time("2027-01-01T00:00")


def talk(name: str, *said: str, at: WorldTime = MAY, partner: str = "Ilya") -> list[HeardTurn]:
    """The turns of a conversation; Marta begins."""
    return [
        HeardTurn(
            conversation_id=name,
            turn=number,
            speaker_id=speaker.lower(),
            speaker_name=speaker,
            text=text,
            partner_id=partner.lower(),
            at=at,
        )
        for number, text in enumerate(said)
        for speaker in [partner if number % 2 else "Marta"]
    ]


def told(turn: HeardTurn, text: str, *, ended: WorldTime | None = None) -> Memory:
    """The memory that was taken from a turn."""
    return Memory(
        id=f"{turn.conversation_id}/{text}",
        kind=Kind.FACT,
        text=text,
        about=turn.speaker_name,
        told_by=turn.speaker_id,
        conversation_id=turn.conversation_id,
        turns=(turn.turn,),
        partner_id=turn.partner_id,
        valid_from=turn.at,
        valid_to=ended,
        known_from=turn.at,
        known_until=ended,
        replaced_by=None if ended is None else "another",
    )


def index_of(*items: Item) -> PersonIndex:
    index = PersonIndex()
    with index.lock:
        index.take(items)
    return index


def asked(items: Sequence[Item], query: str, **given: object) -> list[Recalled]:
    question = RecallQuery(**{"query": query, "at": NOW, "kinds": set(Kind), **given})  # type: ignore[arg-type]
    return index_of(*items).rank(question)


def best(items: Sequence[Item], query: str) -> str:
    (first, *_) = asked(items, query)
    assert isinstance(first.item, HeardTurn)
    return first.item.text


SMALL_TALK = talk("small", "Lovely weather we are having today.", "It is, the harbour is quiet.", "Then I am off.")


def test_a_memory_is_found_by_a_name_for_which_its_turn_has_a_pronoun() -> None:
    said = talk("c", "Who taught you the bun?", "She did, the night before she went.", "I see.")
    fact = told(said[1], "Chiyo taught Ilya the salted bun.")
    (first, *_) = asked([*said, fact], "Tell me of Chiyo")
    assert (first.item, first.bears) == (fact, True)
    assert [one.item for one in asked([*said, fact], "Chiyo", kinds={Kind.FACT})] == [fact]


def test_whom_the_question_names_is_the_one_who_says_it() -> None:
    said = talk("boats", "My boat leaks badly.", "My boat leaks badly.", "My boat leaks badly.")
    found = [one.item for one in asked([*said, *SMALL_TALK], "Does the boat of Ilya leak?")]
    assert found[0] == said[1]


def test_the_name_of_a_speaker_says_nothing_in_its_own_talks_and_something_in_those_of_others() -> None:
    own = talk("own", "Ilya, Ilya, Ilya!", "I keep bees in the garden.")
    others = talk("others", "Did you hear of Ilya?", "No, what happened?", partner="Bram")
    found = [one.item for one in asked([*own, *others], "Ilya")]
    assert found[0] == others[0]


@pytest.mark.parametrize(("query", "month"), [("What was painted in June?", 6), ("5月に塗ったのはpaintedした何?", 5)])
def test_what_was_said_in_the_month_that_is_named_comes_first(query: str, month: int) -> None:
    talks = {
        number: talk(f"m{number}", "We painted it.", at=parse_time(f"2026-0{number}-10T09:00")) for number in (5, 6)
    }
    found = [one.item for one in asked([*talks[5], *talks[6]], query)]
    assert found[0] == talks[month][0]


def test_who_asks_when_is_told_a_time() -> None:
    said = talk("launch", "We launch the boat, as I said.", "Good.", "We launch the boat on Friday.")
    assert best([*said, *SMALL_TALK], "When do they launch the boat?") == said[2].text


def test_below_the_floor_nothing_is_found_though_a_word_is_shared() -> None:
    common = [turn for n in range(40) for turn in talk(f"t{n}", f"The boat is mended {n}.", "Good, the boat is old.")]
    rare = talk("rare", "An albatross came by.", "A what?")
    items = [*common, *rare]
    assert not any(one.bears for one in asked(items, "Did the zeppelin pilot paint his boat purple?"))
    assert any(one.bears for one in asked(items, "Did the zeppelin pilot see an albatross?"))
    assert any(one.bears for one in asked(items, "boat"))


def test_who_remembers_little_finds_it_by_one_word_of_several() -> None:
    items = talk("bell", "I mend the old harbour bell.", "Good.")
    assert any(one.bears for one in asked(items, "What was that about some bell, again, in winter?"))
    assert not any(one.bears for one in asked(items, "snow"))


def test_a_fact_and_the_turn_it_came_from_never_both_answer() -> None:
    said = talk("bees", "What do you keep?", "I keep bees in the garden.", "How many hives?")
    fact = told(said[1], "Ilya keeps bees.")
    found = [one.item for one in asked([*said, fact], "Who keeps bees?")]
    assert found[0] == fact
    assert said[1] not in found
    assert said[1] in [one.item for one in asked([*said, fact], "Who keeps bees?", kinds={Kind.TURN})]


def test_a_fact_is_found_by_what_was_said_though_its_statement_says_it_otherwise() -> None:
    said = talk("bees", "And in the garden?", "Seven hives of bees, since April.")
    other = told(SMALL_TALK[0], "Marta likes the weather.")
    fact = told(said[1], "Ilya is an apiarist.")
    (first, *_) = asked([*said, *SMALL_TALK, fact, other], "hives", kinds={Kind.FACT})
    assert first.item == fact


def test_what_a_fact_was_taken_from_does_not_come_back_when_the_fact_has_ended() -> None:
    said = talk("job", "What do you do?", "I fish.", "Every day?")
    ended = told(said[1], "Ilya fishes.", ended=WorldTime(MAY + 60))
    assert said[1] not in [one.item for one in asked([*said, ended], "Who does fish?")]
    assert ended in [one.item for one in asked([*said, ended], "Who does fish?", history=True)]


def test_what_is_said_later_changes_nothing_as_of_an_earlier_time() -> None:
    said = talk("bees", "The bees are out.", "Good.", "And the goats.")
    later = [replace(turn, turn=turn.turn + 3, at=WorldTime(NOW - 5)) for turn in talk("bees", "Bees, bees, bees!")]
    as_of = {"at": WorldTime(MAY + 5)}
    assert asked([*said, *later], "bees", **as_of) == asked(said, "bees", **as_of)


def test_what_stands_beside_a_like_line_is_liker_than_what_stands_alone() -> None:
    near, alone = talk("near", "Alpha.", "Beta."), talk("alone", "Gamma.", "Delta.")
    index = index_of(*near, *alone)
    vectors = [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    with index.lock:
        packed = [np.array(vector, dtype=np.float16).tobytes() for vector in vectors]
        index.take_vectors([(turn.kind, turn.id, vector) for turn, vector in zip([*near, *alone], packed, strict=True)])
    query = np.array([1.0, 0.0], dtype=np.float32)
    found = index.rank(RecallQuery(query="omega", at=NOW, kinds=set(Kind), partner_id="ilya", vector=query))
    assert [one.item for one in found][:3] == [near[0], near[1], alone[0]]


@pytest.mark.parametrize(
    ("word", "its"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("hopefulness", "hope"),
        ("electrical", "electr"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("replacement", "replac"),
        ("yellow", "yellow"),
        ("children", "child"),
        ("bus", "bus"),
        ("naïve", "naïve"),
        ("farm's", "farm"),
        ("mk2s", "mk2s"),
    ],
)
def test_an_english_word_is_known_by_porters_stem(word: str, its: str) -> None:
    assert stem(word) == its
