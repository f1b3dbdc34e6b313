"""Owns the tests of what no turn may be: said before, or said from outside the story."""

import pytest

from service.conversation.repetition import breaks_character, is_repetition


@pytest.mark.parametrize(
    ("utterance", "earlier"),
    [
        ("Have you lived here long, if I may ask?", "Have you lived here long, if I may ask?"),
        ("Have you lived here long if I may ask", "HAVE YOU LIVED HERE LONG, if I may ask?!"),
        ("Well, have you lived here for long, if I may ask?", "Have you lived here for long, if I may ask?"),
        ("この村には長くお住まいなのですか?", "この村には長くお住まいなのですか。"),
        ("あの、この村には長くお住まいなのですか?", "この村には長くお住まいなのですか。"),
        ("ＡＢＣＤＥＦＧＨＩＪ", "abcdefghij"),
    ],
)
def test_nearly_the_same_words_are_a_repetition(utterance: str, earlier: str) -> None:
    assert is_repetition(utterance, ["Something else entirely.", earlier])


@pytest.mark.parametrize(
    ("utterance", "earlier"),
    [
        ("Have you lived here long?", "Do your children help you with the boats?"),
        ("この村には長くお住まいなのですか?", "お子さんは船のお仕事を手伝われるのですか?"),
        ("My grandmother Chiyo lived here once.", "My grandmother told me of the bell of this village."),
    ],
)
def test_something_else_is_no_repetition(utterance: str, earlier: str) -> None:
    assert not is_repetition(utterance, [earlier])


@pytest.mark.parametrize("short", ["はい。", "そうですね。", "Thanks!", "I see.", "……", "?!"])
def test_a_short_reply_may_come_again(short: str) -> None:
    assert not is_repetition(short, [short])


def test_the_first_words_repeat_nothing() -> None:
    assert not is_repetition("Have you lived here long, if I may ask?", [])


@pytest.mark.parametrize(
    "utterance",
    [
        "As an AI, I do not have a family.",
        "As a large language model I cannot answer that.",
        "I'm an AI and have no feelings.",
        "I’m just an AI assistant.",
        "I am a chatbot.",
        "I am a language model made by OpenAI.",
        "That is not in my training data.",
        "AIとして、家族はいません。",
        "ＡＩアシスタントですので、お答えできません。",
        "AI言語モデルなので、分かりません。",
        "私は大規模言語モデルです。",
        "わたしはAIです。",
        "俺はただのAIだから、酒は飲まねえ。",
        "人工知能として申し上げます。",
        "それは学習データにありません。",
    ],
)
def test_a_voice_from_outside_the_story_breaks_character(utterance: str) -> None:
    assert breaks_character(utterance, ["A gentle shipwright.", "穏やかな船大工。"])


@pytest.mark.parametrize(
    "utterance",
    [
        "SAID the captain: as an air of calm came over the bay.",
        "I'm an aide to the doctor.",
        "I am an Aisaka of the north, and as an aim it is a fine one.",
        "The air is cold; I said so as an aid to memory.",
        "He is a model father who speaks every language.",
        "愛として受け取っておくれ。",
        "相手として不足はない。",
        "Kaiなので、みんなからカイと呼ばれるんだ。",
        "Samuraiとして生きた男の話だよ。",
        "私は愛があるから大丈夫だと思う。",
        "町ではAIというものが流行っているらしいね。",
        "人工の港と知能の高いカラスの話さ。",
    ],
)
def test_an_innocent_sentence_does_not(utterance: str) -> None:
    assert not breaks_character(utterance, ["A gentle shipwright."])


@pytest.mark.parametrize(
    "authored",
    [
        "I am an AI.",
        "An AI that keeps the lighthouse.",
        "A robot of brass, built in the old smithy.",
        "灯台を守る人工知能。",
        "真鍮のロボット。",
        "灯台を守るＡＩ。",
    ],
)
def test_a_robot_whose_author_wrote_it_may_say_so(authored: str) -> None:
    assert not breaks_character("As an AI, I count the ships.", ["Lumen", authored])
    assert not breaks_character("AIとして、船を数えています。", ["ルーメン", authored])


@pytest.mark.parametrize("name", ["Ai", "Kai", "愛", "Aino"])
def test_a_name_that_looks_like_it_allows_nothing(name: str) -> None:
    assert breaks_character("As an AI, I count the ships.", [name, "Said little, and was fair."])
