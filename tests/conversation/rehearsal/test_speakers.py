"""The two rehearsed speakers: authored words only, goals pursued, moods felt, bounds kept whatever they are given."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.content.profile import CharacterProfile, LifeGoal, Mood, NpcProfile
from service.conversation.context import Goal, LastMeeting, Line, PromptContext
from service.conversation.prompt import CharacterTurn, NpcTurn, OpeningTurn
from service.conversation.rehearsal.phrases import NPC
from service.conversation.rehearsal.speakers import HANDLERS, speak_character, speak_npc
from service.locales import Language
from service.memory.rehearsal.likeness import sameness, sentences, tells_something

PEOPLE: dict[Language, tuple[CharacterProfile, NpcProfile]] = {
    "ja": (
        CharacterProfile(
            id="alice",
            name="アリス",
            personality="好奇心旺盛",
            home="n1",
            facts=("薬草師の見習いである",),
            goals=(LifeGoal(goal="薬草の図鑑を完成させる", importance="high"),),
            lines=("川べりの薬草を集めているところなんです。", "お祭りは大好きです。子どものころから。"),
        ),
        NpcProfile(
            id="npc_taro",
            name="太郎",
            personality="穏やか",
            facts=(
                "双子の娘が町の学校に通っている",
                "この町で30年暮らしている",
                "裏の川でよく釣りをする",
                "妻は織物職人である",
            ),
            lines=(
                "いらっしゃい。今日もいい日だね。",
                "夏祭りの太鼓は、子どもたちが毎年叩くんだよ。",
                "粉ひき小屋の水車は、去年の嵐で羽根が折れてね。",
                "明日の夕方、広場で祭りの相談があるんだ。",
            ),
        ),
    ),
    "en": (
        CharacterProfile(
            id="alice",
            name="Alice",
            personality="curious",
            home="n1",
            facts=("is an apprentice herbalist",),
            goals=(LifeGoal(goal="finish her herbal", importance="high"),),
            lines=("I gather herbs along the river in the mornings.", "I have loved festivals since I was small."),
        ),
        NpcProfile(
            id="npc_taro",
            name="Taro",
            personality="calm",
            facts=(
                "has twin daughters at the village school",
                "has lived here for thirty years",
                "often fishes in the river behind the mill",
                "is married to a weaver",
            ),
            lines=(
                "Welcome, welcome. Sit down if you like.",
                "The children beat the drums at the summer festival every year.",
                "The mill wheel lost two blades in the storm last year.",
                "There is a meeting about the festival in the square tomorrow evening.",
            ),
        ),
    ),
}
FESTIVAL: dict[Language, Goal] = {
    "ja": Goal(goal="太郎に夏祭りのことを聞く", success_criteria="祭りの話を1つ聞けたら達成"),
    "en": Goal(goal="Ask Taro about the summer festival", success_criteria="One thing about the festival was told"),
}
LANGUAGES: tuple[Language, ...] = ("ja", "en")


def character_scene(language: Language, goal: Goal | None = None, *lines: Line) -> PromptContext:
    character, npc = PEOPLE[language]
    return PromptContext(
        language=language,
        partner_id=npc.id,
        partner_name=npc.name,
        place="",
        now="4月1日(水) 9:00" if language == "ja" else "Wed 1 Apr, 9:00",
        speaker=character,
        begins=True,
        goal=goal,
        lines=lines,
        turns_left=10 - len(lines),
    )


def npc_scene(language: Language, *texts: str, mood: Mood = "neutral", affinity: int = 0) -> PromptContext:
    character, npc = PEOPLE[language]
    return PromptContext(
        language=language,
        partner_id=character.id,
        partner_name=character.name,
        place="",
        now="",
        speaker=npc,
        begins=False,
        lines=said_in_turn(language, *texts),
        turns_left=10 - len(texts),
        mood=mood,
        affinity=affinity,
    )


def said_in_turn(language: Language, *texts: str) -> tuple[Line, ...]:
    people = PEOPLE[language]
    return tuple(
        Line(turn=i, speaker_id=people[i % 2].id, speaker_name=people[i % 2].name, text=text)
        for i, text in enumerate(texts)
    )


def play(language: Language, seed: int, goal: Goal | None = None, mood: Mood = "neutral") -> tuple[list[str], bool]:
    """A whole conversation, as the loop plays it: what was said, and whether the goal was achieved."""
    rng, achieved, ended = random.Random(seed), False, False
    texts: list[str] = []
    while len(texts) < 10:
        lines = said_in_turn(language, *texts)
        turn: NpcTurn | OpeningTurn
        if len(texts) % 2:
            turn = speak_npc(npc_scene(language, *texts, mood=mood), rng)
        else:
            turn = speak_character(character_scene(language, goal, *lines), rng)
            if isinstance(turn, OpeningTurn):
                goal = Goal(goal=turn.goal, success_criteria=turn.success_criteria)
            else:
                achieved = achieved or turn.goal_achieved
        texts.append(turn.utterance)
        if ended:
            break
        ended = turn.wants_to_end
    return texts, achieved


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(4))
def test_a_conversation_reaches_its_goal_and_ends_within_four_to_eight_turns(language: Language, seed: int) -> None:
    texts, achieved = play(language, seed)
    assert 4 <= len(texts) <= 8
    assert achieved


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(4))
def test_nobody_says_the_same_thing_twice(language: Language, seed: int) -> None:
    texts, _ = play(language, seed, FESTIVAL[language])
    for own in (texts[0::2], texts[1::2]):
        assert all(sameness(a, b) < 0.7 for i, a in enumerate(own) for b in own[:i])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_first_line_greets_a_stranger_by_name_and_gives_its_own(language: Language) -> None:
    turn = speak_character(character_scene(language, FESTIVAL[language]), random.Random(1))
    character, npc = PEOPLE[language]
    assert npc.name in turn.utterance
    assert character.name in turn.utterance
    assert isinstance(turn, CharacterTurn)
    assert not turn.goal_achieved


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_goal_the_character_sets_one_about_its_partner(language: Language) -> None:
    turn = speak_character(character_scene(language), random.Random(1))
    assert isinstance(turn, OpeningTurn)
    assert PEOPLE[language][1].name in turn.goal


@pytest.mark.parametrize(
    ("language", "known", "ago", "heard"),
    [
        ("ja", "(昨日) 太郎は双子の娘が町の学校に通っていると言った", "昨日", "双子の娘が町の学校に通っている"),
        ("en", "(yesterday) Taro has twin daughters at the village school", "yesterday", "you have twin daughters"),
        ("en", 'Taro said: "The mill wheel broke in May." (yesterday)', "yesterday", "The mill wheel broke in May."),
    ],
)
def test_the_second_conversation_speaks_of_the_first(language: Language, known: str, ago: str, heard: str) -> None:
    scene = replace(
        character_scene(language, FESTIVAL[language]),
        known=(known,),
        last_meeting=LastMeeting(summary="…", ago=ago),
        times_met=1,
    )
    utterance = speak_character(scene, random.Random(1)).utterance
    assert heard in utterance
    assert ago in utterance.lower()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_noted_about_the_partner_becomes_the_goal(language: Language) -> None:
    note = (
        "太郎「明日の夕方、広場で祭りの相談があるんだ」"
        if language == "ja"
        else 'Taro: "There is a meeting about the mill tonight."'
    )
    turn = speak_character(replace(character_scene(language), mid_term=(note,)), random.Random(1))
    assert isinstance(turn, OpeningTurn)
    assert ("祭りの相談" if language == "ja" else "the meeting") in turn.goal


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("ja", "水車はどうなっていますか?", "粉ひき小屋の水車は、去年の嵐で羽根が折れてね。"),
        ("ja", "釣りはされますか?", "裏の川でよく釣りをする"),
        ("en", "What happened to the mill wheel?", "The mill wheel lost two blades in the storm last year."),
        ("en", "Do you have daughters?", "I have twin daughters at the village school."),
    ],
)
def test_an_npc_answers_with_what_fits_the_question(language: Language, question: str, answer: str) -> None:
    assert answer in speak_npc(npc_scene(language, question), random.Random(1)).utterance


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_an_npc_states_was_written_by_its_author(language: Language) -> None:
    npc = PEOPLE[language][1]
    authored = [*npc.lines, *npc.facts]
    for seed in range(6):
        texts, _ = play(language, seed, FESTIVAL[language])
        told = [
            s
            for text in texts[1::2]
            for s in sentences(text)
            if tells_something(s.replace("アリス", "").replace("Alice", ""))
        ]
        assert told
        for sentence in told:
            assert max(sameness(sentence, words) for line in authored for words in [line, *sentences(line)]) > 0.55, (
                sentence
            )


@pytest.mark.parametrize("language", LANGUAGES)
def test_small_talk_tells_nothing_that_a_closing_would_remember(language: Language) -> None:
    voices = [NPC["en"]] if language == "en" else [NPC["ja"], NPC["ja-plain"]]
    for table in voices:
        for phrase, wordings in table.items():
            if phrase in ("close", "told_before"):
                continue  # spoken in one sentence with what the author wrote
            for wording in wordings:
                text = wording.format(you="", me="M", since="2日ぶり" if language == "ja" else "2 days")
                assert not any(tells_something(sentence) for sentence in sentences(text)), wording


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_angry_npc_is_short_and_soon_done(language: Language) -> None:
    angry, _ = play(language, 2, FESTIVAL[language], mood="angry")
    calm, _ = play(language, 2, FESTIVAL[language])
    assert len(angry) < len(calm) or sum(map(len, angry[1::2])) < sum(map(len, calm[1::2]))
    assert speak_npc(npc_scene(language, "?", mood="angry"), random.Random(1)).emotion == "angry"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_friend_is_told_more_than_a_stranger(language: Language) -> None:
    question = "最近はいかがですか?" if language == "ja" else "How are you these days?"
    friend = speak_npc(npc_scene(language, question, affinity=70), random.Random(1)).utterance
    stranger = speak_npc(npc_scene(language, question), random.Random(1)).utterance
    told = [sum(tells_something(s) for s in sentences(text)) for text in (friend, stranger)]
    assert told[0] > told[1]


@pytest.mark.parametrize(
    ("language", "ago", "word"), [("ja", "2日前", "2日ぶり"), ("ja", "昨日", "昨日"), ("en", "2 days ago", "2 days")]
)
def test_an_npc_knows_a_returning_guest(language: Language, ago: str, word: str) -> None:
    scene = replace(npc_scene(language, "?"), times_met=1, last_meeting=LastMeeting(summary="…", ago=ago))
    assert word in speak_npc(scene, random.Random(1)).utterance


@pytest.mark.parametrize(("language", "word"), [("ja", "水車"), ("en", "mill wheel")])
def test_a_talk_that_is_not_remembered_yet_is_still_picked_up(language: Language, word: str) -> None:
    npc = PEOPLE[language][1]
    unsettled = (Line(turn=1, speaker_id=npc.id, speaker_name=npc.name, text=npc.lines[2]),)
    scene = replace(character_scene(language, FESTIVAL[language]), unsettled=unsettled)
    assert word in speak_character(scene, random.Random(1)).utterance


def test_what_was_told_last_time_waits_while_there_is_something_new() -> None:
    npc = PEOPLE["ja"][1]
    told = (*npc.lines, *npc.facts[:3])
    last = LastMeeting(summary="".join(told), ago="昨日")
    for seed in range(5):
        scene = replace(npc_scene("ja", "最近はいかがですか?"), times_met=1, last_meeting=last)
        assert "妻は織物職人なんだ" in speak_npc(scene, random.Random(seed)).utterance


@pytest.mark.parametrize(("language", "bye"), [("ja", "それでは、また来ますね。"), ("en", "Goodbye, take care!")])
def test_a_goodbye_is_answered_with_a_goodbye(language: Language, bye: str) -> None:
    turn = speak_npc(npc_scene(language, "?", "…", bye), random.Random(1))
    assert turn.wants_to_end
    assert len(turn.utterance) < 90


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_nudge_for_repeating_brings_something_else(language: Language) -> None:
    question = "夏祭りについて教えてください" if language == "ja" else "Tell me about the summer festival"
    scene = npc_scene(language, question)
    first = speak_npc(scene, random.Random(1)).utterance
    again = speak_npc(replace(scene, nudge="repeated"), random.Random(1)).utterance
    assert sameness(first, again) < 0.7


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_greeting_is_achieved_by_the_first_reply(language: Language) -> None:
    goal = Goal(
        goal="太郎に挨拶する" if language == "ja" else "Greet Taro",
        success_criteria="返事" if language == "ja" else "a reply",
    )
    texts, achieved = play(language, 1, goal)
    assert achieved
    assert len(texts) == 4


def test_a_goal_is_not_achieved_by_a_partner_who_tells_nothing() -> None:
    lines = said_in_turn("en", "Hello. Tell me about the festival?", "Hello.", "And the drums?", "How are you?")
    turn = speak_character(replace(character_scene("en", FESTIVAL["en"], *lines), turns_left=2), random.Random(1))
    assert isinstance(turn, CharacterTurn)
    assert not turn.goal_achieved
    assert turn.wants_to_end


def test_the_handlers_are_keyed_by_the_scenes() -> None:
    assert set(HANDLERS) == {PromptContext, PromptContext, PromptContext}


WORDS = st.text(max_size=60) | st.sampled_from(["既婚者", "married", "{you}", "？", "。。。", "x" * 500, "鐘" * 500])
TEXTS = st.lists(WORDS, max_size=4).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    name=WORDS,
    partner=WORDS,
    facts=TEXTS,
    lines=TEXTS,
    said=st.lists(WORDS, max_size=6),
    left=st.integers(0, 10),
    mood=st.sampled_from(["happy", "neutral", "angry"]),
    affinity=st.integers(-100, 100),
    known=TEXTS,
    seed=st.integers(0, 9),
)
def test_poor_content_never_breaks_a_speaker(
    language: Language,
    name: str,
    partner: str,
    facts: tuple[str, ...],
    lines: tuple[str, ...],
    said: list[str],
    left: int,
    mood: Mood,
    affinity: int,
    known: tuple[str, ...],
    seed: int,
) -> None:
    spoken = tuple(Line(turn=i, speaker_id="ab"[i % 2], speaker_name="", text=text) for i, text in enumerate(said))
    last = LastMeeting(summary=known[0], ago=known[-1]) if known else None
    npc = NpcProfile(id="b", name=name, personality="", facts=facts, lines=lines)
    npc_side = PromptContext(
        language=language,
        partner_id="a",
        partner_name=partner,
        place="",
        now=partner,
        last_meeting=last,
        lines=spoken,
        turns_left=left,
        speaker=npc,
        begins=False,
        learned=known,
        mood=mood,
        affinity=affinity,
    )
    character = CharacterProfile(
        id="a",
        name=partner,
        personality="",
        facts=facts,
        lines=lines,
        home="",
        goals=tuple(LifeGoal(goal=f) for f in facts),
    )
    goal = Goal(goal=(known[0].strip() or "?")[:200], success_criteria="?") if known else None
    character_side = PromptContext(
        language=language,
        partner_id="b",
        partner_name=name,
        place="",
        now=name,
        last_meeting=last,
        lines=spoken,
        turns_left=left,
        speaker=character,
        begins=True,
        goal=goal,
        known=known,
        mid_term=known,
    )
    for turn in (speak_npc(npc_side, random.Random(seed)), speak_character(character_side, random.Random(seed))):
        assert turn.utterance.strip()
