"""Owns the tests of what no turn may be: said before, from outside the story, no speech, or in another language."""

import pytest

from service.conversation.utterance import breaks_character, is_foreign, is_nonsense, is_repetition
from service.locales import Language


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


@pytest.mark.parametrize(
    "text",
    [
        "bread bread bread bread bread bread bread",
        "あああああああああああああああああああああああああ",
        "はいはいはいはいはいはいはいはいはいはいはいはい",
        "!!!!!!!!!!!!",
        "。。。。。。。。、、、",
        "I have two ch\ufffdldren.",
        "ã\x81\x93ã\x82\x93ã\x81«ã\x81¡ã\x81¯",
        "Come in \ue000\ue001.",
        '{"utterance": "Good morning"}',
    ],
)
def test_what_nobody_could_say_is_nonsense(text: str) -> None:
    assert is_nonsense(text)


@pytest.mark.parametrize(
    "text",
    [
        "……",
        "…………！",
        "?!",
        "Hahahaha!",
        "No, no, no! Not the bread.",
        "うん、うん、うん。それで?",
        "Row, row, row your boat, gently down the stream.",
        "Café, naïve, Ærøskøbing, 3.5 m² – “quite so”.",
        "ﾊﾝｶｸもじ、①番線、㈱。",
        "👍🏽",
        "",
    ],
)
def test_what_somebody_could_say_is_none(text: str) -> None:
    assert not is_nonsense(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Brot ist heute Morgen leider schon ausverkauft.", "en"),
        ("Je ne sais pas où elle est allée ce matin.", "en"),
        ("パンは朝のうちに売り切れてしまったよ。", "en"),
        ("Сегодня утром хлеб уже распродан, извините.", "en"),
        ("The bread was sold out early this morning, I am afraid.", "ja"),
        ("面包今天早上已经卖完了，真是对不起。", "ja"),
        ("오늘 아침에 빵이 다 팔렸어요, 미안해요.", "ja"),
        ("Сегодня утром хлеб уже распродан, извините.", "ja"),
    ],
)
def test_what_is_wholly_in_another_language_is_foreign(text: str, language: Language) -> None:
    assert is_foreign(text, language, wholly=True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Bonjour, mon ami!", "en"),
        ("Bonjour! The bread is warm, mon ami, come in.", "en"),
        ("Je ne sais pas où elle est allée. Nobody knows where she went this morning.", "en"),
        ("Aye, bide a wee, lassie; 'tis nae trouble at a'.", "en"),
        ("Ph'nglui mglw'nafh Cthulhu R'lyeh wgah'nagl fhtagn!", "en"),
        ("Thou shalt not pass, knave, lest thou wouldst taste my steel.", "en"),
        ("She wrote 塩あんぱん on the paper bag for me.", "en"),
        ("Misaki, Harue, Chiyo, Genzo, Umekichi, Hamako", "en"),
        ("OK、Good morningって言うんだよ。Nice to meet you!", "ja"),
        ("朝五時開店。", "ja"),
        ("そげなこと言うたらいけんよ。", "ja"),
    ],
)
def test_what_is_mixed_short_in_dialect_or_made_up_is_not(text: str, language: Language) -> None:
    assert not is_foreign(text, language, wholly=True)
