"""Owns the tests of how a decision and a plan are asked: the exact text, kept in golden/, and what a provider caches.

After a wanted change of a template: KATARIBE_GOLDEN=write make test, and read the difference before committing it.
"""

import os
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from service.content.fields import Text
from service.content.profile import CharacterProfile, LifeGoal
from service.decision.context import (
    DecisionContext,
    Offer,
    Other,
    PastTalk,
    PlanAction,
    PlanContext,
    PlanLine,
    PlanPlace,
    decide_prompt,
    plan_prompt,
)
from service.decision.options import in_short
from service.llm.chat import Message, Prompt
from service.locales import Language
from service.people.person import FeltNeed
from world.actions import Option
from world.places import ALWAYS_OPEN, Hours

GOLDEN = Path(__file__).parent / "golden"
LANGUAGES: tuple[Language, ...] = ("en", "ja")

WORDS: dict[Language, dict[str, Any]] = {
    "en": {
        "speaker": CharacterProfile(
            id="aoi",
            name="Aoi",
            home="nagaya_one",
            personality="Shy but persistent.",
            tendencies=("Apologises before she asks", "Writes names down"),
            custom_prompt="Twenty-four, a bookbinder.",
            facts=("came by ferry a week ago", "rents a room"),
            goals=(
                LifeGoal(goal=Text("Find her grandmother's friends"), importance=5),
                LifeGoal(goal=Text("Hear the bell"), importance=5),
            ),
        ),
        "now": "Wed 1 Apr, 12:40. Light rain",
        "place": "Inn Hall",
        "notices": ("The bell festival begins at dusk", "No ferry today"),
        "needs": ("Energy", "Satiety", "Money"),
        "day": (("Clears breakfast", "Shionoyu Inn"), ("Reads old papers", "Archive"), ("Sleeps", "")),
        "items": ("a letter", "a lamp"),
        "talked": ("Fumi", "they spoke of the spring."),
        "mid_term": ("Meet Taro at the quay tonight",),
        "remembered": ("(2 days ago) Taro builds boats",),
        "ended": "Work: done.",
        "others": (("Nagi", "Work", ""), ("Taro", "", "Mio"), ("Kohei", "Sleep", ""), ("Fumi", "", "")),
        "refusals": ("Chidori Tavern: closed (open 17:00-01:00)", "Take a nap: no need of it (Energy 63)"),
        "offers": (
            "Study: Archive (16+60)",
            "Eat out: Shionoyu Inn (40 min; Money -300)",
            "Talk: Fumi",
            "Wait (30 min)",
        ),
        "gains": "Money -300, Satiety +60",
        "posted": ("Harue", "Umekichi"),
        "places": ("Shionoyu Inn", "Archive"),
        "doings": ("Eat out", "Work", "Study", "Sleep"),
        "broken": "Archive: closed (open 09:00-17:00).",
        "fault": "there is no option 9, only 1 to 4.",
    },
    "ja": {
        "speaker": CharacterProfile(
            id="aoi",
            name="葵",
            home="nagaya_one",
            personality="引っ込み思案なのに粘り強い。",
            tendencies=("先に謝ってから訊く", "名前を書きとめる"),
            custom_prompt="二十四歳の製本職人。",
            facts=("一週間前に船で着いた", "長屋を借りている"),
            goals=(
                LifeGoal(goal=Text("祖母の友人を見つける"), importance=5),
                LifeGoal(goal=Text("鐘の音を聞く"), importance=5),
            ),
        ),
        "now": "4月1日(水) 12:40。小雨",
        "place": "宿の広間",
        "notices": ("夕暮れから鐘の祭り", "今日は船が出ない"),
        "needs": ("体力", "満腹", "お金"),
        "day": (("朝食の片づけ", "旅館「汐の湯」"), ("古い書類を読む", "郷土文庫"), ("眠る", "")),
        "items": ("手紙", "ランプ"),
        "talked": ("ふみ", "湯元の話をした。"),
        "mid_term": ("今夜、波止場で太郎に会う",),
        "remembered": ("(2日前) 太郎は船を造る",),
        "ended": "「働く」が終わった。",
        "others": (("凪", "働く", ""), ("太郎", "", "澪"), ("航平", "眠る", ""), ("ふみ", "", "")),
        "refusals": ("酒場「ちどり」: 閉まっている(営業 17:00-01:00)", "昼寝をする: まだ必要ない(体力 63)"),
        "gains": "所持金 -300、満腹 +60",
        "posted": ("春江", "梅吉"),
        "offers": (
            "勉強する: 郷土文庫(16+60分)",
            "外で食べる: 旅館「汐の湯」(40分)",
            "話す: ふみ",
            "待つ(30分)",
        ),
        "places": ("旅館「汐の湯」", "郷土文庫"),
        "doings": ("外で食べる", "働く", "勉強する", "眠る"),
        "broken": "郷土文庫: 閉まっている(営業 09:00-17:00)。",
        "fault": "選択肢9はない。1から4まで。",
    },
}

_ID = {"Fumi": "npc_fumi", "ふみ": "npc_fumi"}


def _shared(language: Language) -> dict[str, Any]:
    words = WORDS[language]
    levels = ((63, True, False), (18, True, True), (114, False, False))
    facilities = ("inn", "archive", None)
    return {
        "language": language,
        "speaker": words["speaker"],
        "now": words["now"],
        "at": "12:40",
        "place": words["place"],
        "needs": tuple(
            FeltNeed(
                need_id=name,
                name=name,
                level=level,
                lowest=0,
                highest=100,
                can_be_critical=can_be_critical,
                is_critical=is_critical,
            )
            for name, (level, can_be_critical, is_critical) in zip(words["needs"], levels, strict=True)
        ),
        "day": tuple(
            PlanLine(
                at=at,
                activity=activity,
                place=place,
                facility_id=facility_id,
                action_id=None,
                is_current=at == "12:30",
            )
            for at, (activity, place), facility_id in zip(
                ("08:30", "12:30", "22:00"), words["day"], facilities, strict=True
            )
        ),
    }


def _agent_state(language: Language) -> dict[str, Any]:
    words = WORDS[language]
    name, summary = words["talked"]
    return {
        "notices": words["notices"],
        "items": words["items"],
        "today": (PastTalk(partner_id="npc_fumi", partner_name=name, told=f"{name}: {summary}"),),
        "mid_term": words["mid_term"],
    }


def _decision(language: Language, **changed: Any) -> DecisionContext:
    words = WORDS[language]
    options = (
        Option(action_id="study", node_id="archive_yard", facility_id="archive", walk_minutes=16, minutes=60),
        Option(action_id="eat_out", node_id="inn_hall", facility_id="inn", minutes=40),
        Option(action_id="talk", node_id="inn_hall", target_id="npc_fumi"),
        Option(action_id="wait", node_id="inn_hall", minutes=30),
    )
    context = DecisionContext(
        **_shared(language),
        ended=words["ended"],
        ended_id="work",
        offers=tuple(
            Offer(number=i, option=option, text=text, is_planned=i == 1)
            for i, (option, text) in enumerate(zip(options, words["offers"], strict=True), 1)
        ),
    )
    return replace(context, **changed)


def _full(language: Language, **changed: Any) -> DecisionContext:
    words = WORDS[language]
    others = tuple(
        Other(id=_ID.get(name, name), name=name, minutes=i, doing=doing, talks_with=partner, is_free=i in (0, 3))
        for i, (name, doing, partner) in enumerate(words["others"])
    )
    kept = {
        **_agent_state(language),
        "others": others,
        "remembered": words["remembered"],
        "refusals": words["refusals"],
    }
    return _decision(language, **{**kept, **changed})


def _plan(language: Language, **changed: Any) -> PlanContext:
    words = WORDS[language]
    eat, work, study, sleep = (
        PlanAction(action_id=action_id, name=name, minutes=60, gains=words["gains"] if action_id == "eat_out" else "")
        for action_id, name in zip(("eat_out", "work", "study", "sleep"), words["doings"], strict=True)
    )
    inn, archive = words["places"]
    hours = (Hours(opens=540, closes=1020),)
    context = PlanContext(
        **_shared(language),
        places=(
            PlanPlace(
                number=1,
                facility_id="inn",
                name=inn,
                minutes=3,
                open=ALWAYS_OPEN,
                actions=(eat, work),
                people=words["posted"],
            ),
            PlanPlace(number=2, facility_id="archive", name=archive, minutes=17, open=hours, actions=(study,)),
        ),
        at_home=(sleep,),
    )
    return replace(context, **changed)


def _prompts(language: Language) -> dict[str, Prompt[Any]]:
    words = WORDS[language]
    wrong = {"fault": words["fault"], "wrong_answer": '{"choice":9}'}
    return {
        "decide_bare": decide_prompt(_decision(language, day=())),
        "decide_full": decide_prompt(_full(language)),
        "decide_repair": decide_prompt(_decision(language, **wrong)),
        "decide_busy_day": decide_prompt(_decision(language, today=_agent_state(language)["today"] * 7)),
        "plan_morning": plan_prompt(_plan(language, **_agent_state(language))),
        "plan_broken": plan_prompt(_plan(language, broken=words["broken"])),
        "plan_repair": plan_prompt(_plan(language, **wrong)),
    }


def _text(messages: tuple[Message, ...]) -> str:
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages) + "\n"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", sorted(_prompts("en")))
def test_a_prompt_reads_exactly_so(name: str, language: Language) -> None:
    text = _text(_prompts(language)[name].messages)
    golden = GOLDEN / f"{name}.{language}.txt"
    if os.environ.get("KATARIBE_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_file_is_a_prompt() -> None:
    names = {f"{name}.{language}.txt" for name in _prompts("en") for language in LANGUAGES}
    assert {path.name for path in GOLDEN.iterdir()} == names


def _beginning(one: str, other: str) -> str:
    """What both begin with."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_much_of_a_prompt_is_that_of_the_decision_before(language: Language) -> None:
    """What a provider may keep: two decisions of a day, and a plan with a decision, begin alike."""
    first = _full(language)
    second = replace(first, now="later", at="13:40", place="elsewhere", ended="…", needs=first.needs[:1])
    one, two = _text(decide_prompt(first).messages), _text(decide_prompt(second).messages)
    assert len(_beginning(one, two)) >= 0.4 * len(one)
    planned = _text(plan_prompt(_plan(language)).messages)
    speaker = first.speaker
    shared = _beginning(one, planned)
    for told in (speaker.name, speaker.personality, *speaker.tendencies, *(wish.goal for wish in speaker.goals)):
        assert told in shared


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_may_be_spoken_to_is_told_once(language: Language) -> None:
    context = _full(language)
    fumi = Other(id="npc_fumi", name="Fumi", minutes=0, doing="", talks_with="", is_free=True)
    seen = replace(context, others=(fumi, replace(fumi, id="npc_taro", name="Taro", is_free=False)))
    assert [other.name for other in seen.not_offered] == ["Taro"]


@pytest.mark.parametrize(
    ("text", "language", "short"),
    [
        ("Short.", "en", "Short."),
        ("One. " + "x" * 200, "en", "One."),
        ('She said: "No. ' + "x" * 200, "en", 'She said: "No. ' + "x" * 84 + "…"),
        ("x" * 200, "en", "x" * 99 + "…"),
        ("話した。" + "あ" * 80, "ja", "話した。"),
        ("葵は「訳を。" + "あ" * 80, "ja", "葵は「訳を。" + "あ" * 43 + "…"),
    ],
)
def test_a_long_memory_is_told_in_short(text: str, language: Language, short: str) -> None:
    assert in_short(text, language) == short
