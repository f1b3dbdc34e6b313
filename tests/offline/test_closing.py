"""The offline closing: what was told, in the words that were said, and nothing else; it passes the validation."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.profile import Mood
from service.locales import Language
from service.memory.extraction import SideExtraction
from service.memory.utterance import is_question
from service.memory.validate import validate_extraction
from service.offline.closing import close
from service.offline.phrases import phrases, sentences
from tests.offline.talks import LANGUAGES, PEOPLE, closing_context, play

SEEDS = range(6)


def closed(language: Language, *texts: str, mood: Mood = "neutral") -> tuple[SideExtraction, SideExtraction]:
    """What Alice and Taro take away."""
    people = close(closing_context(language, texts, mood=mood), random.Random(1)).people
    return people.a, people.b


def remembered(language: Language, *texts: str) -> list[str]:
    """All that either takes away as a fact."""
    sides = closed(language, *texts)
    return [fact.statement for side in sides for fact in side.facts] + [
        fact.statement for side in sides for fact in side.self_facts
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_each_told_is_the_other_s_fact_and_passes_the_validation(language: Language, seed: int) -> None:
    context = closing_context(language, play(language, seed).texts)
    extraction = close(context, random.Random(1))
    valid = validate_extraction(extraction, context, affinity_step=10)
    assert [side.rejected for side in valid.sides] == [(), ()]
    alice, taro = valid.sides
    assert alice.facts
    for side, teller in ((alice, 1), (taro, 0)):
        assert all(fact.claim.turn % 2 == teller for fact in side.facts)
        person = PEOPLE[language][teller]
        written = [text.rstrip("。.") for text in (*person.lines, *person.facts)]
        assert all(any(text in fact.claim.statement for text in written) for fact in side.facts)
    for person in PEOPLE[language]:
        assert person.name in alice.summary
    assert alice.facts[0].claim.statement.rstrip("。.") in alice.summary


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_fact_is_a_greeting_a_goodbye_a_question_or_small_talk(language: Language, seed: int) -> None:
    words = phrases(language)
    for statement in remembered(language, *play(language, seed).texts):
        quoted = statement.partition("「" if language == "ja" else '"')[2] or statement
        assert not any(is_question(sentence) for sentence in sentences(quoted))
        assert not any(words.has(mark, quoted) for mark in ("greeting", "farewell", "thanks"))


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("Hello. Do you have a moment for me?", "Goodbye, and watch your step.")),
        ("en", ('Hello, Taro. You told me something yesterday that I have not forgotten: "The mill broke."', "I see.")),
        ("en", ("Have you seen any rare herbs around here?", "Well, since you ask. Who wants to know?")),
        ("ja", ("こんにちは。少しお時間をいただけますか。", "じゃあまたな。足元に気をつけて。")),
        ("ja", ("昨日うかがった「水車が折れた」というお話、覚えていますよ。", "それは知らなかった。")),
        ("ja", ("このあたりで、珍しい草を見かけませんでしたか。", "そうだねえ。誰に頼まれたんだい？")),
    ],
)
def test_echoes_greetings_and_questions_leave_nothing_behind(language: Language, texts: tuple[str, ...]) -> None:
    assert remembered(language, *texts) == []


@pytest.mark.parametrize(
    ("language", "text", "statement"),
    [
        ("en", 'They say of me: "Taro has lived here for thirty years."', "Taro has lived here for thirty years."),
        ("ja", "よく言われるんだ、「この町で30年暮らしている」って。", "太郎は「この町で30年暮らしている」と言った。"),
    ],
)
def test_an_authored_fact_is_remembered_as_its_author_wrote_it_without_the_frame_it_was_said_in(
    language: Language, text: str, statement: str
) -> None:
    alice, taro = closed(language, "?", text)
    assert [fact.statement for fact in alice.facts] == [statement]
    assert taro.self_facts == []


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "I have lived here for thirty years."), ("ja", "わしはこの町で、もう30年暮らしているよ。")],
)
def test_a_line_that_tells_an_authored_fact_is_nothing_new_of_oneself(language: Language, text: str) -> None:
    alice, taro = closed(language, "?", text)
    assert [fact.turn for fact in alice.facts] == [1]
    assert taro.self_facts == []
    other = "I keep bees." if language == "en" else "わしは蜂を飼っているよ。"
    assert [fact.statement for fact in closed(language, "?", other)[1].self_facts] == [other]


@pytest.mark.parametrize(
    ("language", "text", "importance"),
    [
        ("ja", "明日、広場で祭りの相談があるんだ。", "medium"),
        ("ja", "来週までに直す約束だ。", "high"),
        ("en", "There will be fireworks tonight.", "low"),
    ],
)
def test_what_is_about_the_next_days_is_kept_for_them(language: Language, text: str, importance: str) -> None:
    noted = closed(language, "?", text)[0].mid_term
    assert [note.importance for note in noted] == [importance]
    assert text.rstrip("。") in noted[0].content


@pytest.mark.parametrize(("language", "thanks"), [("ja", "ありがとうございます。"), ("en", "Thank you.")])
def test_thanks_warm_and_rude_words_cool(language: Language, thanks: str) -> None:
    warmed = closed(language, thanks, "…", mood="angry")[1]
    assert (warmed.affinity > 0, warmed.mood) == (True, "neutral")
    cooled = closed(language, "うるさい、役立たず。" if language == "ja" else "Shut up, you liar.", "…")[1]
    assert (cooled.affinity < 0, cooled.mood) == (True, "angry")


@settings(max_examples=60, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    texts=st.lists(
        st.text(max_size=80) | st.sampled_from(["明日" * 300, "well " * 300, "約束。" * 40, ""]), max_size=8
    ),
    name=st.text(max_size=120),
    affinity=st.integers(-100, 100),
)
def test_any_transcript_gives_an_answer(language: Language, texts: list[str], name: str, affinity: int) -> None:
    context = closing_context(language, texts, name=name, affinity=affinity)
    answered = close(context, random.Random(1))
    valid = validate_extraction(answered, context, affinity_step=15)
    assert valid.sides[0].summary or not any(map(str.strip, texts))
