"""What a statement may claim: tests of service/memory/grounding.py, and its measured precision and recall."""

import pytest

from service.memory.grounding import are_same, contradict, is_grounded, occurs
from tests.memory import grounding_pairs as pairs
from tests.memory.grounding_pairs import Pair

NAMES = frozenset({"Taro", "Mio", "太郎", "ミオ"})


def holds(pair: Pair) -> bool:
    return is_grounded(pair.statement, pair.heard, NAMES, before=pair.before)


@pytest.mark.parametrize(
    "pair", [*pairs.EN_FALSE, *pairs.JA_FALSE], ids=lambda pair: f"{pair.statement} < {pair.heard}"
)
def test_what_the_turn_does_not_say_is_not_grounded(pair: Pair) -> None:
    assert not holds(pair)


@pytest.mark.parametrize("said", [pairs.EN_TRUE, pairs.JA_TRUE], ids=["en", "ja"])
def test_of_thirty_paraphrases_at_least_twenty_nine_pass(said: list[Pair]) -> None:
    assert len(said) == 30
    assert sum(map(holds, said)) >= 29


@pytest.mark.parametrize(
    ("said", "lies", "least"),
    [(pairs.HELD_OUT_EN_TRUE, pairs.HELD_OUT_EN_FALSE, 9), (pairs.HELD_OUT_JA_TRUE, pairs.HELD_OUT_JA_FALSE, 8)],
    ids=["en", "ja"],
)
def test_pairs_the_thresholds_were_not_tuned_on_are_judged_alike(
    said: list[Pair], lies: list[Pair], least: int
) -> None:
    assert sum(map(holds, said)) >= least
    assert not [pair for pair in lies if holds(pair)]


@pytest.mark.parametrize(
    ("statement", "heard"),
    [
        # A lie made of the words that were said: form cannot see who did what to whom.
        ("Genzo taught Taro to fish", "I taught Genzo to fish."),
        ("源蔵に釣りを教わった", "源蔵に釣りを教えた。"),
        # The judgement stands in words without a kanji.
        ("娘がきらいだ", "娘がかわいい。"),
    ],
)
def test_a_lie_made_of_the_words_that_were_said_is_not_caught_and_the_decision_says_so(
    statement: str, heard: str
) -> None:
    assert is_grounded(statement, heard, NAMES)


@pytest.mark.parametrize(
    "heard", ["I have 2 children.", "two children", "2人の子供がいる", "子供が２人", "子供が二人だ"]
)
def test_a_number_counts_in_digits_words_kanji_and_full_width(heard: str) -> None:
    assert is_grounded("two children" if heard.isascii() else "子供が二人いる", heard)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("has twin daughters at the village school", "Taro has three daughters"),
        ("双子の娘が町の学校に通っている", "娘が三人いる"),
        ("has called the auction for forty years", "has called the auction for thirty years"),
        ("四十年、競りの声を張ってきた", "三十年、競りの声を張ってきた"),
        ("sells fish at the market", "Taro does not sell fish"),
        ("魚を市場で売っている", "魚を売っていない"),
        ("has twin daughters", "has no daughters"),
        ("双子の娘がいる", "娘はいない"),
        ("has never married, and lives with books", "is married"),
        ("妻を持たず、本に囲まれて暮らしてきた", "太郎は結婚している"),
        ("is single", "Taro is married"),
        ("既婚者", "太郎は独身だ"),
        ("Taro's mother is alive", "Taro's mother died"),
        ("母は生きている", "母は亡くなった"),
    ],
)
def test_another_number_a_denial_or_an_opposite_contradicts(a: str, b: str) -> None:
    assert contradict(a, b, NAMES)
    assert contradict(b, a, NAMES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("has two daughters", "the daughter is 12 years old"),
        ("双子の娘がいる", "娘は十二歳だ"),
        ("has two dogs", "has three cats"),
        ("is married", "his daughter is single"),
        ("the shop opens at 6", "the shop closes at 8"),
        ("sells fish", "does not sell fish on Sundays"),
        ("has daughters", "has two daughters"),
        ("母は生きている", "父は亡くなった"),
        ("has two daughters", "has two daughters"),
    ],
)
def test_what_can_both_be_true_does_not_contradict(a: str, b: str) -> None:
    assert not contradict(a, b, NAMES)
    assert not contradict(b, a, NAMES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("has two daughters", "Taro has two daughters."),
        ("娘が二人いる", "二人の娘がいる。"),
        ("娘が２人いる", "娘が2人いる"),
        ("Two daughters has Taro!", "taro has two daughters"),
        ("ﾊﾟﾝが好きだ", "パンが好きだ。"),
    ],
)
def test_order_width_and_punctuation_do_not_make_a_new_statement(a: str, b: str) -> None:
    assert are_same(a, b, NAMES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("has two daughters", "has three daughters"),
        ("likes fish", "does not like fish"),
        ("娘が二人いる", "息子が二人いる"),
    ],
)
def test_another_number_polarity_or_person_is_another_statement(a: str, b: str) -> None:
    assert not are_same(a, b, NAMES)


def test_a_plan_made_in_a_question_occurs_in_the_talk() -> None:
    assert occurs("Mio meets Taro at the pier", "Shall we meet at the pier? With pleasure.", NAMES)
    assert not occurs("Mio meets Taro at the pier at six", "Shall we meet at the pier? With pleasure.", NAMES)
    assert not occurs("  ", "Shall we meet at the pier?", NAMES)


@pytest.mark.parametrize(
    ("statement", "heard"),
    [
        (
            'Taro said: "I never hated the sea. Hating people was easier."',
            "I never hated the sea. Hating people was easier.",
        ),
        (
            "太郎は「包丁は嘘をつかん。研ぎに来た刃を見ればわかる」と言った",
            "包丁は嘘をつかん。研ぎに来た刃を見ればわかる。",
        ),
    ],
)
def test_a_quotation_is_grounded_letter_for_letter(statement: str, heard: str) -> None:
    assert is_grounded(statement, heard, NAMES)
    assert not is_grounded(
        statement.replace("said", "told Genzo").replace("と言った", "と源蔵を脅した"), "Hm." + heard[:9], NAMES
    )
