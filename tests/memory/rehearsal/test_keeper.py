"""The rehearsed closing: by rule, from the transcript alone, within the bounds of a ClosingExtraction."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.profile import Mood
from service.locales import Language
from service.memory.extraction import ClosingScene, KnownFact, Participant, SideExtraction, SpokenLine
from service.memory.rehearsal.keeper import HANDLERS, close
from service.memory.validate import summary_text
from tests.memory.scenes import authored
from tests.memory.scenes import scene as pair_scene

LANGUAGES: tuple[Language, ...] = ("ja", "en")
TALK: dict[Language, tuple[str, ...]] = {
    "ja": (
        "おはようございます、太郎さん。最近はいかがですか?",
        "いらっしゃい。実はね、双子の娘が町の学校に通っているんだ。",
        "双子の娘ですか。ほかにも、何かありますか?",
        "粉ひき小屋の水車は、去年の嵐で羽根が折れてね。うちの井戸も涸れかけている。",
        "ありがとうございます。明日の夕方、必ず井戸を見に来る約束をします。",
        "ああ、またおいで。気をつけて。",
    ),
    "en": (
        "Good morning, Taro. How have you been?",
        "Welcome back, Alice. I have twin daughters at the village school.",
        "The village school, you say. Is there more to it?",
        "The mill wheel lost two blades in the storm. My own well is running dry.",
        "Thank you. I promise to look at the well tomorrow evening.",
        "Take care, and come back soon.",
    ),
}
FACT: dict[Language, str] = {"ja": "双子の娘が町の学校に通っている", "en": "has twin daughters at the village school"}


def scene(
    language: Language,
    *texts: str,
    goal: str = "",
    goal_achieved: bool = True,
    affinity: int = 0,
    mood: Mood = "neutral",
    npc_facts: tuple[KnownFact, ...] | None = None,
    memories: tuple[KnownFact, ...] = (),
    name: str = "",
) -> ClosingScene:
    """Alice began a talk with Taro; `affinity`, `mood` and `npc_facts` are his, `memories` hers."""
    names = (name, name) if name else ("アリス", "太郎") if language == "ja" else ("Alice", "Taro")
    authored = (KnownFact(ref="b1", statement=FACT[language], authored=True),)
    people = ("alice", "npc_taro")
    return ClosingScene(
        language=language,
        participants=(
            Participant(
                ref="a", person_id=people[0], name=names[0], affinity=0, mood="neutral", facts=(), memories=memories
            ),
            Participant(
                ref="b",
                person_id=people[1],
                name=names[1],
                affinity=affinity,
                mood=mood,
                facts=authored if npc_facts is None else npc_facts,
            ),
        ),
        now="",
        goal=goal or ("太郎の近況を聞く" if language == "ja" else "Ask Taro how things are"),
        goal_achieved=goal_achieved,
        lines=tuple(
            SpokenLine(turn=i, speaker_id=people[i % 2], speaker_name=names[i % 2], text=text)
            for i, text in enumerate(texts or TALK[language])
        ),
    )


def closed(language: Language, *texts: str, **given: Any) -> tuple[SideExtraction, SideExtraction]:
    """What Alice and Taro take away."""
    people = close(scene(language, *texts, **given), random.Random(1)).people
    return people.a, people.b


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_summary_names_both_and_holds_what_was_told(language: Language) -> None:
    summary = summary_text(close(scene(language), random.Random(1)), language)
    for word in (
        ("アリス", "太郎", "双子の娘", "水車")
        if language == "ja"
        else ("Alice", "Taro", "twin daughters", "mill wheel")
    ):
        assert word in summary


@pytest.mark.parametrize(
    ("language", "statement"),
    [
        ("ja", "太郎は双子の娘が町の学校に通っていると言った"),
        ("en", "Taro has twin daughters at the village school"),
    ],
)
def test_the_character_remembers_what_the_npc_said_of_itself(language: Language, statement: str) -> None:
    facts = closed(language)[0].facts
    assert (statement, 1) in [(fact.statement, fact.turn) for fact in facts]
    assert all(fact.turn % 2 == 1 for fact in facts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_authored_fact_is_not_learned_again_but_a_new_one_is(language: Language) -> None:
    learned = closed(language)[1].self_facts
    assert [fact.turn for fact in learned] == [3]
    assert ("井戸" if language == "ja" else "well") in learned[0].statement
    assert learned[0].statement in TALK[language][3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_remembered_already_is_not_remembered_twice(language: Language) -> None:
    first = closed(language)[0].facts
    memories = tuple(KnownFact(ref=f"m{i}", statement=fact.statement) for i, fact in enumerate(first))
    assert first
    assert closed(language, memories=memories)[0].facts == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_promise_matters_for_the_next_days(language: Language) -> None:
    noted = closed(language)[0].mid_term
    assert [note.importance for note in noted] == ["high"]
    assert ("約束" if language == "ja" else "promise") in noted[0].content


@pytest.mark.parametrize(
    ("language", "sentence", "importance"),
    [
        ("ja", "明日、広場で祭りの相談があるんだ。", "medium"),
        ("ja", "夕方に駅前で待ち合わせをしよう。", "low"),
        ("en", "The council meets the day after tomorrow.", "high"),
        ("en", "There will be fireworks tonight.", "low"),
    ],
)
def test_a_time_word_decides_how_long_it_is_kept(language: Language, sentence: str, importance: str) -> None:
    assert [note.importance for note in closed(language, "?", sentence)[0].mid_term] == [importance]


@pytest.mark.parametrize(
    ("language", "habit"), [("ja", "毎日、夕方には店を閉める。"), ("en", "Every week I think of tomorrow.")]
)
def test_a_habit_is_no_appointment(language: Language, habit: str) -> None:
    assert closed(language, "?", habit)[0].mid_term == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_thanks_and_an_achieved_goal_warm_the_npc(language: Language) -> None:
    warmed = closed(language)
    assert warmed[1].affinity == 10
    assert warmed[1].mood == "happy"
    assert closed(language, mood="angry")[1].mood == "neutral"


@pytest.mark.parametrize(("language", "rude"), [("ja", "うるさい、この役立たず。"), ("en", "Shut up, you liar.")])
def test_rude_words_cool_it_and_leave_it_angry(language: Language, rude: str) -> None:
    cooled = closed(language, rude, "…", goal_achieved=False)
    assert cooled[1].affinity == -16
    assert cooled[1].mood == "angry"


def test_just_arrived_is_not_rude() -> None:
    assert closed("ja", "わたし、先週来たばかりなんです。", "…", goal_achieved=False)[1].affinity == 0


@pytest.mark.parametrize(("affinity", "expected"), [(98, 100), (-100, -90)])
def test_affinity_stays_within_its_bounds(affinity: int, expected: int) -> None:
    assert closed("en", affinity=affinity)[1].affinity == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_character_s_claims_are_nobody_s_facts(language: Language) -> None:
    claim = "太郎さんのお父さんは海賊でした。" if language == "ja" else "Your father was a pirate of the northern sea."
    result = closed(language, claim, "…")
    assert not any([*side.self_facts, *side.facts] for side in result)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_keeps_what_the_other_told(language: Language) -> None:
    lines = {
        "en": (
            "Hello, Taro. I play the flute by the old mill every night.",
            "I bake bread. I keep a cat in the mill.",
            "Goodbye.",
            "Goodbye.",
        ),
        "ja": (
            "こんにちは、太郎さん。私は笛を吹くんです。",
            "パンを焼いているんだ。うちの水車小屋で猫を飼っている。",
            "ではまた。",
            "またね。",
        ),
    }[language]
    own = {"en": "plays the flute by the old mill every night", "ja": "笛を吹く"}[language]
    bakes = {"en": "bakes bread", "ja": "パンを焼いている"}[language]
    where = pair_scene(language, lines, facts=authored(own), npc_facts=authored(bakes))
    answered = close(where, random.Random(1))
    mio, taro = answered.people.a, answered.people.b
    flute = {"en": "flute", "ja": "笛"}[language]
    bread = {"en": "bread", "ja": "パン"}[language]
    assert [flute in fact.statement for fact in taro.facts] == [True]
    assert any(bread in fact.statement for fact in mio.facts)
    assert not any(flute in fact.statement for fact in mio.facts)
    summary = summary_text(answered, language)
    assert flute in summary
    assert bread in summary
    assert where.goal not in summary
    assert taro.affinity >= where.participants[1].affinity


def test_the_handler_is_keyed_by_the_scene() -> None:
    assert set(HANDLERS) == {ClosingScene}


WORDS = st.text(max_size=80) | st.sampled_from(["明日" * 300, "well " * 300, "約束。" * 40, "{x}", ""])


@settings(max_examples=60, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    name=WORDS,
    goal=WORDS,
    texts=st.lists(WORDS, max_size=8),
    known=st.lists(WORDS, max_size=4),
    affinity=st.integers(-100, 100),
)
def test_any_transcript_gives_an_answer_within_its_bounds(
    language: Language, name: str, goal: str, texts: list[str], known: list[str], affinity: int
) -> None:
    facts = tuple(KnownFact(ref=f"n{i}", statement=text, authored=i % 2 == 0) for i, text in enumerate(known))
    given_scene = scene(language, *texts, name=name, goal=goal, npc_facts=facts, affinity=affinity)
    people = close(given_scene, random.Random(1)).people
    alice, taro = people.a, people.b
    for fact in taro.self_facts:
        assert fact.turn % 2 == 1
    assert alice.self_facts == []
