"""The offline speaker: authored sentences only, nothing twice, answers that bear, parting in good time."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.fields import Text
from service.content.profile import CharacterProfile, LifeGoal, Mood, NpcProfile
from service.conversation.prompt import Goal, LastMeeting
from service.locales import Language
from service.memory.lexical import sentences
from service.offline.phrases import keys, phrases
from service.offline.speaker import speak
from tests.offline.talks import FESTIVAL, LANGUAGES, PEOPLE, context, play, said_in_turn

SEEDS = range(3)


def said_twice(*texts: str) -> list[str]:
    counted = Counter(key for text in texts for sentence in sentences(text) for key in keys([sentence]))
    return [sentence for sentence, count in counted.items() if count > 1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_talk_ends_with_goodbyes_claims_no_goal_and_no_sentence_comes_twice(language: Language, seed: int) -> None:
    for goal in (None, FESTIVAL[language]):
        played = play(language, seed, goal=goal)
        assert 4 <= len(played.texts) <= 10
        assert not played.achieved
        assert all(phrases(language).has("farewell", text) for text in played.texts[-2:])
        assert said_twice(*played.texts) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_in_one_day_nothing_is_said_twice_to_the_same_listener(language: Language, seed: int) -> None:
    alice: tuple[str, ...] = ()
    taro: tuple[str, ...] = ()
    lengths = []
    for again in range(8):
        played = play(language, seed + again, alice={"said_today": alice}, said_today=taro)
        alice, taro = alice + played.of_alice, taro + played.of_taro
        lengths.append(len(played.texts))
        assert said_twice(*alice) == []
        assert said_twice(*taro) == []
    assert lengths[-1] <= 3 < lengths[0], "they part early when nothing new is left"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_told_in_the_days_before_is_not_told_again(language: Language) -> None:
    npc = PEOPLE[language][1]
    frame = phrases(language).texts["plain.fact"][0]
    everything = (*npc.lines, *(frame.format(me=npc.name, fact=fact) for fact in npc.facts))
    for seed in SEEDS:
        played = play(language, seed, said_before=everything)
        assert [passage for text in played.of_taro for passage in phrases(language).told(text)] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_told_was_written_by_the_author(language: Language, seed: int) -> None:
    played = play(language, seed, goal=FESTIVAL[language])
    for person, texts in zip(PEOPLE[language], (played.of_alice, played.of_taro), strict=True):
        passages = [passage for text in texts for passage in phrases(language).told(text)]
        assert passages
        for passage in passages:
            assert any(passage in one or one in passage for one in (*person.facts, *person.lines)), passage


@pytest.mark.parametrize(
    ("language", "known", "ago", "words"),
    [
        (
            "ja",
            "太郎から聞いたこと: 太郎「粉ひき小屋の水車は、去年の嵐で羽根が折れてね」(昨日)。",
            "昨日",
            "粉ひき小屋の水車は、去年の嵐で羽根が折れてね",
        ),
        (
            "en",
            'What Taro has told you: "The mill wheel lost two blades in the storm last year." (yesterday).',
            "yesterday",
            "The mill wheel lost two",
        ),
        (
            "en",
            "What Taro has told you: Taro has twin daughters at the village school (planned; 2 days ago). Hm (today).",
            "2 days ago",
            "Taro has twin daughters at the village school.",
        ),
    ],
)
def test_the_second_conversation_gives_back_what_the_first_told(
    language: Language, known: str, ago: str, words: str
) -> None:
    last = LastMeeting(summary="…", ago=ago)
    utterance = speak(context(language, known=(known,), meetings=(last,), times_met=1), random.Random(1)).utterance
    assert words in utterance
    assert ago in utterance


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("ja", "水車はどうなっていますか?", "粉ひき小屋の水車は、去年の嵐で羽根が折れてね。"),
        ("ja", "娘さんは学校ですか?", "双子の娘が町の学校に通っている"),
        ("en", "What happened to the mill wheel?", "The mill wheel lost two blades in the storm last year."),
        ("en", "Do you have daughters?", "Taro has twin daughters at the village school."),
    ],
)
def test_an_answer_is_what_fits_the_question(language: Language, question: str, answer: str) -> None:
    assert answer in speak(context(language, question), random.Random(1)).utterance


@pytest.mark.parametrize(
    ("language", "told", "question", "answer"),
    [
        (
            "en",
            "I'm a glassblower.",
            "What do I do for a living?",
            '"I\'m a glassblower."',
        ),
        ("en", "I keep bees. My sister Lotte left for the harbour town.", "Where is my sister?", "harbour town"),
        ("ja", "わたしはガラス職人です。", "わたしの仕事を知っていますか？", "「わたしはガラス職人です」"),
    ],
)
def test_who_asks_about_itself_is_told_what_it_has_told(
    language: Language, told: str, question: str, answer: str
) -> None:
    turn = speak(context(language, told, "…", question), random.Random(1))
    assert answer in turn.utterance
    last = LastMeeting(summary="…", ago="yesterday")
    known = {"en": f'What Alice has told you: "{told}" (yesterday).', "ja": f"アリスから聞いたこと: 「{told}」(昨日)。"}
    later = context(language, question, known=(known[language],), meetings=(last,), times_met=1)
    assert answer.strip('"「」') in speak(later, random.Random(1)).utterance


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Who painted the ceiling of the chapel?"),
        ("en", "What is my name?"),
        ("ja", "礼拝堂の天井を描いたのは誰ですか？"),
        ("ja", "わたしの名前は何ですか？"),
    ],
)
def test_what_nothing_bears_on_it_does_not_know(language: Language, question: str) -> None:
    said = speak(context(language, question), random.Random(1)).utterance
    assert any(text in said for text in phrases(language).wordings("plain.nothing"))
    assert phrases(language).told(said.replace(PEOPLE[language][1].lines[0], "")) == []


@pytest.mark.parametrize(
    ("language", "known", "question", "answer"),
    [
        ("en", "What Ken has told you: the ferry sank in the autumn (yesterday).", "What became of the ferry?", "Ken"),
        ("ja", "健から聞いたこと: 連絡船は秋に沈んだ(昨日)。", "連絡船はどうなりましたか？", "健"),
    ],
)
def test_what_others_have_told_is_told_with_its_teller(
    language: Language, known: str, question: str, answer: str
) -> None:
    assert answer in speak(context(language, question, heard=(known,)), random.Random(1)).utterance


@pytest.mark.parametrize("language", LANGUAGES)
def test_nobody_is_told_about_itself(language: Language) -> None:
    alice = PEOPLE[language][0].name
    npc = NpcProfile(
        id="npc_taro", name="太郎", personality="", lines=(f"{alice}さんは旅の人だ。", f"{alice} is a traveller.")
    )
    assert "旅" not in (said := speak(context(language, "?", speaker=npc), random.Random(1)).utterance)
    assert "traveller" not in said


@pytest.mark.parametrize(("language", "bye"), [("ja", "それでは、また来ますね。"), ("en", "Goodbye, take care!")])
def test_a_goodbye_is_answered_with_a_goodbye(language: Language, bye: str) -> None:
    turn = speak(context(language, "?", "…", bye), random.Random(1))
    assert turn.wants_to_end
    assert phrases(language).has("farewell", turn.utterance)
    assert phrases(language).told(turn.utterance) == []


WORDS = st.text(max_size=60) | st.sampled_from(["既婚者", "married", "{you}", "？", "。。。", "x" * 500, "鐘" * 500])
TEXTS = st.lists(WORDS, max_size=4).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    names=st.tuples(WORDS, WORDS),
    facts=TEXTS,
    lines=TEXTS,
    said=st.lists(WORDS, max_size=6).map(tuple),
    left=st.integers(0, 10),
    mood=st.sampled_from(["happy", "neutral", "angry"]),
    affinity=st.integers(-100, 100),
    known=TEXTS,
)
def test_poor_content_never_breaks_a_speaker(
    language: Language,
    names: tuple[str, str],
    facts: tuple[str, ...],
    lines: tuple[str, ...],
    said: tuple[str, ...],
    left: int,
    mood: Mood,
    affinity: int,
    known: tuple[str, ...],
) -> None:
    npc = NpcProfile(id="npc_taro", name=names[0], personality="", facts=facts, lines=lines)
    goals = tuple(LifeGoal(goal=Text(fact), importance=5) for fact in facts if fact.strip())
    character = CharacterProfile(
        id="alice", name=names[1], personality="", facts=facts, lines=lines, home="", goals=goals
    )
    goal = Goal(goal=(known[0].strip() or "?")[:200], success_criteria="?") if known else None
    for begins, person, name in ((True, character, names[0]), (False, npc, names[1])):
        scene = replace(
            context(language, lines=said_in_turn(language, said)),
            begins=begins,
            speaker=person,
            partner_name=name,
            goal=goal if begins else None,
            turns_left=left,
            mood=mood,
            affinity=affinity,
            known=tuple(f"(x) {text}" for text in known),
            said_before=known,
        )
        first, again = (speak(scene, random.Random(1)) for _ in range(2))
        assert first.utterance.strip()
        assert first == again


KNOWN: dict[Language, dict[str, Any]] = {
    "en": {
        "relations": (
            ("Wilma", "your wife; she weaves"),
            ("Bea", "your twin daughter"),
            ("Kurt", "the carter, who owes you"),
        ),
        "places": (("The Mill", "flour and bran work", "08:00-18:00"), ("The Inn", "beds and soup eat", "00:00-24:00")),
        "place": "Mill Lane, The Mill",
    },
    "ja": {
        "relations": (("梅", "連れ添って十年の妻。織物を織る"), ("藤", "双子の娘"), ("権太", "馬車屋。貸しがある")),
        "places": (("粉屋", "小麦粉と糠", "08:00-18:00"), ("宿屋", "寝床と汁物", "00:00-24:00")),
        "place": "粉屋の小路、粉屋",
    },
}


@pytest.mark.parametrize(
    ("language", "question", "answers"),
    [
        ("en", "Who is Kurt?", ("Kurt", "the carter")),
        ("en", "Are you married?", ("Wilma", "my wife")),
        ("en", "Have you got any kids?", ("Bea", "my twin daughter")),
        ("en", "Until what time is your mill open?", ("The Mill", "18:00")),
        ("en", "Where can I get soup?", ("The Inn",)),
        ("en", "What is your job?", ("twin daughters",)),  # is what his author says of him first
        ("ja", "権太さんは誰ですか？", ("権太", "馬車屋")),
        ("ja", "結婚していますか？", ("梅", "妻")),
        ("ja", "粉屋は何時まで開いていますか？", ("粉屋", "18:00")),
    ],
)
def test_who_others_are_to_it_and_the_hours_of_places_are_answers(
    language: Language, question: str, answers: tuple[str, ...]
) -> None:
    said = speak(context(language, question, **KNOWN[language]), random.Random(1)).utterance
    assert all(answer in said for answer in answers), said


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "What did the mill wheel cost your grandfather?"),
        ("en", "When did the children build the mill wheel?"),
        ("en", "Who broke the mill wheel?"),
        ("ja", "水車の値段は、祖父の頃いくらでしたか？"),
    ],
)
def test_a_word_in_common_is_no_answer_nor_is_a_line_without_the_person_or_time_asked_for(
    language: Language, question: str
) -> None:
    npc = PEOPLE[language][1].model_copy(update={"lines": PEOPLE[language][1].lines[:3], "facts": ()})
    said = speak(context(language, question, speaker=npc, **KNOWN[language]), random.Random(1)).utterance
    assert phrases(language).told(said.replace(npc.lines[0], "")) == [], said


@pytest.mark.parametrize(
    ("language", "first", "then", "answer"),
    [
        ("en", "Do you keep cats?", "What are they called?", "Penny"),
        ("ja", "猫を飼っていますか？", "それは何といいますか？", "銭"),
    ],
)
def test_a_question_without_words_of_its_own_goes_on_from_the_one_before(
    language: Language, first: str, then: str, answer: str
) -> None:
    facts = {
        "en": ("has two cats", "calls the cats Penny and Groat"),
        "ja": ("猫を二匹飼っている", "猫の名は銭と文である"),
    }
    npc = PEOPLE[language][1].model_copy(update={"facts": facts[language]})
    told = {"en": "So much I can tell you: Taro has two cats.", "ja": "言っておくと、猫を二匹飼っている、ってわけだ。"}
    assert answer in speak(context(language, first, told[language], then, speaker=npc), random.Random(1)).utterance


@pytest.mark.parametrize(
    ("language", "known", "quoted"),
    [
        ("en", "(yesterday) Ken: Do you fish? / You: I fish for eels.", ""),
        ("en", "(yesterday) Ken: The eels left the river. / Bo: Is that so?", '"The eels left the river."'),
        ("en", "(yesterday) Overheard: Ken: The eels left the river.", '"The eels left the river."'),
        ("ja", "(昨日) 健: 鰻は川を去った。 / あなた: 鰻は好きだよ。", "「鰻は川を去った」"),
    ],
)
def test_of_an_exchange_it_quotes_what_one_other_said(language: Language, known: str, quoted: str) -> None:
    question = {"en": "What about the eels?", "ja": "鰻はどうしていますか？"}[language]
    said = speak(context(language, question, reminded=(known,)), random.Random(1)).utterance
    assert quoted in said
    assert " / " not in said
    assert bool(quoted) == any(mark in said for mark in '"「')


@pytest.mark.parametrize(
    ("language", "questions"),
    [
        ("en", ("Do you like jazz?", "Who painted the chapel?", "What is a comet?", "Do you own a camera?")),
        (
            "ja",
            ("ジャズは好きですか？", "礼拝堂を描いたのは誰ですか？", "彗星とは何ですか？", "写真機を持っていますか？"),
        ),
    ],
)
def test_who_dislikes_its_partner_answers_some_questions_and_goes_when_asked_no_more(
    language: Language, questions: tuple[str, ...]
) -> None:
    texts: list[str] = []
    for question in questions:
        turn = speak(context(language, *texts, question, affinity=-60), random.Random(1))
        assert not turn.wants_to_end
        texts += [question, turn.utterance]
    assert speak(context(language, *texts[:2], texts[1], affinity=-60), random.Random(1)).wants_to_end


@pytest.mark.parametrize(
    ("language", "question", "fact"),
    [
        ("en", "What do you do in the evenings?", "plays the cello in the evenings"),
        ("ja", "夜は何をしますか？", "夜はチェロを弾く"),
    ],
)
def test_it_says_that_it_has_told_what_it_knows_only_where_it_has(language: Language, question: str, fact: str) -> None:
    npc = PEOPLE[language][1].model_copy(update={"facts": (fact,), "lines": ()})
    frame = phrases(language).wordings("plain.fact", me=npc.name, fact=fact)[0]
    by_another = speak(context(language, frame, "...", question, speaker=npc), random.Random(1)).utterance
    by_itself = speak(context(language, question, frame, question, speaker=npc), random.Random(1)).utterance
    told = phrases(language).wordings("plain.all_told")
    assert not any(text in by_another for text in told)
    assert any(text in by_itself for text in told)
