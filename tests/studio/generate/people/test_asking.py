"""Holds how a model is asked for a person: what is the same for all comes first, what is the person's own after it."""

import pytest

from service.content.load import Content
from service.llm.chat import prompt_tokens
from service.locales import Language, languages
from studio.generate.people.asking import MadePerson, WishedPerson, context_of, place_of, prompt_of
from studio.generate.people.parts import PersonSlot, Tie
from studio.generate.people.plan import PeoplePlan

PLAN = PeoplePlan(
    shares={},
    slots=(
        PersonSlot(
            number=0,
            seed=700,
            age=41,
            sex="woman",
            work="net mender",
            temper="shy",
            traits={"openness": "high", "extraversion": "low", "agreeableness": "medium"},
            household=0,
            lives="family",
            family_name="Reed",
            npc=True,
            ties=(Tie(1, "child"),),
            more={"origin": "inland"},
        ),
        PersonSlot(
            number=1,
            seed=701,
            age=9,
            sex="boy",
            work="",
            temper="loud",
            household=0,
            family_name="Reed",
            ties=(Tie(0, "parent"),),
        ),
        PersonSlot(number=2, seed=702, age=30, sex="man", work="cook", temper="shy", household=1, lives="alone"),
    ),
)


def asked(
    village: Content, number: int, language: Language = "en", *, wish: str = "", wrong: tuple[str, ...] = ()
) -> list[str]:
    place = place_of(village, language, "They mend nets." if language == "en" else "網を直す人たち。")
    context = context_of(PLAN, number, place, language, wish=wish, attempt=0, wrong=wrong)
    prompt = prompt_of(context, "run-000000")
    assert prompt.answer is (WishedPerson if wish else MadePerson)
    assert prompt_tokens(prompt.messages) < 2500
    return [one.content for one in prompt.messages]


@pytest.mark.parametrize("language", languages())
def test_the_rules_the_place_and_who_is_there_are_the_same_for_everybody(village: Content, language: Language) -> None:
    first, second = asked(village, 0, language), asked(village, 1, language)
    assert first[0] == second[0]
    assert first[1] != second[1]
    cast = village.cast(language)
    for name in (cast.world_name, cast.character("aoi").name, cast.world_map.facilities["bakery"].name):
        assert name in first[0]


@pytest.mark.parametrize("language", languages())
def test_a_wish_stands_in_its_frame_and_the_plan_beside_it(village: Content, language: Language) -> None:
    system, own = asked(village, 0, language, wish="a ferry pilot who is afraid of fog")
    assert "<wish>\na ferry pilot who is afraid of fog\n</wish>" in system
    assert "41" in own
