"""The offline closing: what was told, in the words that were said, and nothing else; it passes the check."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.profile import Mood
from service.locales import Language
from service.memory.closing.ask import ClosingQuestion
from service.memory.closing.check import CheckedClosing, check
from service.memory.closing.context import ClosingContext, Known, ShortMemoryDraft
from service.memory.closing.verify import VerifyContext
from service.offline.closing import close, verify
from tests.offline.talks import LANGUAGES, PEOPLE, closing_context, play
from world.time import WorldTime

SEEDS = range(6)


def told(context: ClosingContext, owner: str = "a") -> list[ShortMemoryDraft]:
    """What the owner takes away."""
    return [one for one in close(context, random.Random(1)).memories if one.owner == owner]


def checked(context: ClosingContext) -> CheckedClosing:
    """What of it may be stored."""
    known_from = {one.person_id: WorldTime(0) for one in context.participants}
    question = ClosingQuestion(context=context, conversation_id="c1", known_from=known_from)
    return check(close(context, random.Random(1)), question, affinity_step=10)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_each_told_is_remembered_by_the_other_and_passes_the_check(language: Language, seed: int) -> None:
    valid = checked(closing_context(language, play(language, seed).texts))
    assert valid.rejected == ()
    assert [side.rejected for side in valid.sides] == [(), ()]
    alice, taro = valid.sides
    for side, teller in ((alice, 1), (taro, 0)):
        person = PEOPLE[language][teller]
        written = [text.rstrip("。.") for text in (*person.lines, *person.facts)]
        heard = [one for one in side.memories if one.told_by == person.id]
        assert heard
        assert all(any(text in one.text for text in written) for one in heard)
        assert all(one.turns[0] % 2 == teller for one in heard)
        assert all(one.name in side.summary for one in PEOPLE[language])
    assert any(one.text.rstrip("。.") in alice.summary for one in (*alice.memories, *taro.memories))


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("Hello. Do you have a moment for me?", "Goodbye, and watch your step.")),
        (
            "en",
            (
                'Hello, Taro. You told me something yesterday that I have not forgotten: "The mill broke."',
                "That I don't know.",
            ),
        ),
        ("en", ("Have you seen any rare herbs around here?", "Tell me more about that. Who wants to know?")),
        ("ja", ("こんにちは。少しお時間をいただけますか。", "じゃあまたな。足元に気をつけて。")),
        ("ja", ("昨日うかがった「水車が折れた」というお話、覚えていますよ。", "それは知らないな。")),
        ("ja", ("このあたりで、珍しい草を見かけませんでしたか。", "もう少し聞かせて。誰に頼まれたんだい？")),
    ],
)
def test_echoes_greetings_and_questions_leave_nothing_behind(language: Language, texts: tuple[str, ...]) -> None:
    assert close(closing_context(language, texts), random.Random(1)).memories == []


@pytest.mark.parametrize(
    ("language", "text", "fact"),
    [
        ("en", "I may say this much: Taro has lived here for thirty years.", "Taro has lived here for thirty years."),
        ("ja", "ひとことで言えば、この町で30年暮らしている、ってことだよ。", "太郎は、この町で30年暮らしている。"),
    ],
)
def test_an_authored_fact_is_remembered_as_its_author_wrote_it_without_the_frame_it_was_said_in(
    language: Language, text: str, fact: str
) -> None:
    context = closing_context(language, ("?", text))
    assert [(one.text, one.teller, one.turns, one.mode, one.importance, one.lasts) for one in told(context)] == [
        (fact, "b", [1], "stated", 5, "long")
    ]
    assert told(context, "b") == []


@pytest.mark.parametrize(
    ("language", "own", "new"),
    [
        ("en", "I have lived here for thirty years.", "I keep bees, or so I would like to."),
        ("ja", "わしはこの町で、もう30年暮らしているよ。", "わしは、いつか蜂を飼うつもりだよ。"),
    ],
)
def test_whatever_else_is_said_is_remembered_as_said_whatever_it_means(language: Language, own: str, new: str) -> None:
    context = closing_context(language, ("?", own))
    assert [one.turns for one in told(context)] == [[1]]
    assert told(context, "b") == [], "its author wrote that of it"
    context = closing_context(language, ("?", new))
    (heard,), (said,) = told(context), told(context, "b")
    assert heard.text == said.text
    assert new.rstrip("。") in heard.text
    assert {heard.teller, said.teller} == {"b"}


def test_what_is_remembered_already_is_not_remembered_again() -> None:
    context = closing_context("en", ("?", "I keep bees in the orchard."))
    (once,) = told(context)
    known = Known(ref="am1", text=f"(yesterday) {once.text}")
    alice, taro = context.participants
    assert told(replace(context, participants=(replace(alice, memories=(known,)), taro))) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_player_takes_nothing_away_and_a_small_answer_has_room_for_eight(language: Language) -> None:
    context = closing_context(language, tuple(f"We grow {n} sorts of plums in here." for n in range(20)))
    assert len(told(context)) == len(told(context, "b")) == 8
    alice, taro = context.participants
    with_player = replace(context, participants=(replace(alice, is_player=True), taro), is_short=True)
    drafts = close(with_player, random.Random(1)).memories
    assert {(one.owner, one.teller) for one in drafts} == {("b", "a"), ("b", "b")}
    assert len(drafts) == 8


@pytest.mark.parametrize("mood", ["happy", "angry"])
@pytest.mark.parametrize(("language", "rude"), [("ja", "うるさい、役立たず。"), ("en", "Shut up, you liar.")])
def test_nobody_is_judged_for_its_words(language: Language, rude: str, mood: Mood) -> None:
    people = close(closing_context(language, (rude, "…"), mood=mood), random.Random(1)).people
    assert (people.b.mood, people.b.affinity) == (mood, 3)


def test_nothing_of_it_is_denied() -> None:
    context = closing_context("en", ("?", "I keep bees in the orchard."))
    assert verify(VerifyContext(language="en", closing=context, claims=()), random.Random(1)).verdicts == []


@settings(max_examples=60, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    texts=st.lists(
        st.text(max_size=80) | st.sampled_from(["明日" * 300, "well " * 300, "約束。" * 40, ""]), max_size=8
    ),
    name=st.text(max_size=120),
    affinity=st.integers(-100, 100),
    is_short=st.booleans(),
)
def test_any_transcript_gives_an_answer(
    language: Language, texts: list[str], name: str, affinity: int, is_short: bool
) -> None:
    context = replace(closing_context(language, texts, name=name, affinity=affinity), is_short=is_short)
    valid = checked(context)
    assert valid.sides[0].summary
    assert {one.reason for side in valid.sides for one in side.rejected} <= {"known_already", "empty"}
