"""How two texts compare: tests of service/memory/comparison.py."""

import pytest

from service.memory.comparison import are_same, contradict, occurs

NAMES = frozenset({"Taro", "Mio", "太郎", "ミオ"})


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
