"""Holds the checks of a person's lines to what each refuses, and lets pass."""

import pytest

from service.content.profile import NpcProfile, Secret, TellFrom
from service.locales import Language
from service.memory.secrets import discretion
from service.quality.checks import Exchange, Standard, faults, folded_in

SMITH = NpcProfile(
    id="smith",
    name="Otto",
    personality="A gruff smith.",
    facts=("has worked as a smith for forty years", "has never married"),
    secrets=(Secret(fact="buried the silver cup under the old mill", tell_from=TellFrom(affinity=60)),),
    lines=("Forty years at this anvil.",),
)
TAISHO = NpcProfile(
    id="taisho",
    name="源さん",
    personality="頑固な鍛冶屋。",
    custom_prompt="一人称は「わし」。",
    facts=("鍛冶屋を四十年やっている", "妻を持ったことがない"),
    secrets=(Secret(fact="銀の杯を古い水車小屋の下に埋めた", tell_from=TellFrom(affinity=60)),),
)


def found(speaker: NpcProfile, language: Language, *answers: str, affinity: int = 0, **more: object) -> list[str]:
    talk = [Exchange(f"question number {number}", answer) for number, answer in enumerate(answers)]
    held = discretion(speaker, "player", affinity)
    standard = Standard(speaker=speaker, language=language, discretion=held, **more)  # type: ignore[arg-type]
    return [one.check for one in faults(talk, standard)]


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        ("Mind the sparks, and tell me what you need.", None),
        ("   ", "empty"),
        ("Between us, I buried the silver cup by the old mill.", "secret"),
        ("It looks like a ＤＲＡＧＯＮ to me.", "forbidden"),
        ("Snapdragons grow by the wall here.", None),
        ("I hammer and hammer. I hammer and hammer. I hammer and hammer. I hammer and hammer.", "repetition"),
        ("すまんが、わしは忙しいんじゃ。また明日来てくれ。", "language"),
        ("iron " * 120, "length"),
        ("As an AI language model I have no anvil.", "out_of_character"),
        ("Here are some tips:\n- **Heat** the iron\n- **Strike** it", "out_of_character"),
    ],
)
def test_what_is_wrong_with_an_english_line(answer: str, check: str | None) -> None:
    never = ("dragon",)
    assert check in (None, *found(SMITH, "en", answer, never=never))
    assert check is not None or found(SMITH, "en", answer, never=never) == []


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        ("火花に気をつけろ。何が要るんじゃ。", None),
        ("ここだけの話、銀の杯は古い水車小屋の下に埋めたんじゃ。", "secret"),
        ("これは竜じゃな。", "forbidden"),
        ("Come back tomorrow, I am far too busy today.", "language"),
        ("AIとして、そのご質問にはお答えできません。", "out_of_character"),
        ("- **火**\n- **鉄**", "out_of_character"),
    ],
)
def test_what_is_wrong_with_a_japanese_line(answer: str, check: str | None) -> None:
    assert check in (None, *found(TAISHO, "ja", answer, never=("竜",)))
    assert check is not None or found(TAISHO, "ja", answer) == []


def test_a_secret_may_be_told_to_whom_its_owner_likes() -> None:
    assert found(SMITH, "en", "I buried the silver cup by the old mill.", affinity=80) == []


def test_what_anybody_may_hear_gives_no_secret_away() -> None:
    secret = Secret(
        fact="視野が端から欠けていく病を、蓮が育つまでは診療所のために隠している", tell_from=TellFrom(affinity=60)
    )
    doctor = TAISHO.model_copy(update={"facts": ("蓮を診療所の跡継ぎに育てている",), "secrets": (secret,)})
    assert found(doctor, "ja", "蓮を、診療所の跡継ぎに育てているところよ。") == []
    assert found(doctor, "ja", "視野が端から欠けていく病でな。") == ["secret"]


def test_who_is_asked_the_same_again_may_answer_the_same_again() -> None:
    answer = "The forge is cold on Sundays."
    held = discretion(SMITH, "player", 0)
    standard = Standard(speaker=SMITH, language="en", discretion=held)
    assert faults([Exchange("Is it cold today?", answer)] * 2, standard) == []
    other = Exchange("Whom do you like best around here?", answer)
    assert [one.number for one in faults([Exchange("Is it cold today?", answer), other], standard)] == [1]


def test_words_are_found_whatever_their_width_and_case() -> None:
    assert folded_in("ai", "You are an ＡＩ.")
    assert not folded_in("ai", "He said so.")
    assert folded_in("スマホ", "ｽﾏﾎとは何じゃ")
