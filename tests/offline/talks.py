"""Owns conversations of the offline speaker for tests: Alice and Taro, in English and in Japanese, without a
service.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.content.fields import Text
from service.content.profile import CharacterProfile, LifeGoal, NpcProfile
from service.conversation.acting import CharacterTurn, OpeningTurn
from service.conversation.prompt import Goal, Line, PromptContext
from service.locales import Language
from service.memory.closing.context import ClosingContext, Known, Participant, SpokenLine
from service.offline.speaker import speak
from world.time import WorldTime

LANGUAGES: tuple[Language, ...] = ("ja", "en")
PEOPLE: dict[Language, tuple[CharacterProfile, NpcProfile]] = {
    "ja": (
        CharacterProfile(
            id="alice",
            name="アリス",
            personality="好奇心旺盛",
            home="n1",
            facts=("薬草師の見習いである",),
            goals=(LifeGoal(goal=Text("薬草の図鑑を完成させる"), importance=9),),
            lines=(
                "こんにちは。少しお時間をいただけますか。",
                "川べりの薬草を集めているところなんです。",
                "お祭りは大好きです。子どものころから。",
                "このあたりで、珍しい草を見かけませんでしたか。",
            ),
        ),
        NpcProfile(
            id="npc_taro",
            name="太郎",
            personality="穏やか",
            facts=("双子の娘が町の学校に通っている", "この町で30年暮らしている", "妻は織物職人である"),
            lines=(
                "いらっしゃい。まあ座って、お茶でも飲んでいきな。",
                "夏祭りの太鼓は、子どもたちが毎年叩くんだよ。",
                "粉ひき小屋の水車は、去年の嵐で羽根が折れてね。",
                "明日の夕方、広場で祭りの相談があるんだ。",
                "じゃあまたな。足元に気をつけて。",
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
            goals=(LifeGoal(goal=Text("finish her herbal"), importance=9),),
            lines=(
                "Hello. Do you have a moment for me?",
                "I gather herbs along the river in the mornings.",
                "I have loved festivals since I was small.",
                "Have you seen any rare herbs around here?",
            ),
        ),
        NpcProfile(
            id="npc_taro",
            name="Taro",
            personality="calm",
            facts=(
                "has twin daughters at the village school",
                "has lived here for thirty years",
                "is married to a weaver",
            ),
            lines=(
                "Welcome, welcome. Sit down and have a cup of tea.",
                "The children beat the drums at the summer festival every year.",
                "The mill wheel lost two blades in the storm last year.",
                "There is a meeting about the festival in the square tomorrow evening.",
                "Goodbye, and watch your step.",
            ),
        ),
    ),
}
FESTIVAL: dict[Language, Goal] = {
    "ja": Goal(goal="太郎に夏祭りのことを聞く", success_criteria="祭りの話を1つ聞けたら達成"),
    "en": Goal(goal="Ask Taro about the summer festival", success_criteria="One thing about the festival was told"),
}


@dataclass(frozen=True, kw_only=True)
class Played:
    """A conversation: what was said in turn, who took leave, and whether the goal was achieved."""

    texts: tuple[str, ...]
    achieved: bool

    @property
    def of_alice(self) -> tuple[str, ...]:
        return self.texts[0::2]

    @property
    def of_taro(self) -> tuple[str, ...]:
        return self.texts[1::2]


def context(language: Language, *texts: str, **changes: Any) -> PromptContext:
    """What the one whose turn it is knows: Alice speaks the even turns, Taro the odd ones."""
    seat = len(texts) % 2
    speaker, partner = PEOPLE[language][seat], PEOPLE[language][1 - seat]
    known = PromptContext(
        language=language,
        speaker=speaker,
        begins=seat == 0,
        partner_id=partner.id,
        partner_name=partner.name,
        place="",
        now="4月1日(水) 9:00" if language == "ja" else "Wed 1 Apr, 9:00",
        lines=said_in_turn(language, texts),
        turns_left=10 - len(texts),
        goal=FESTIVAL[language] if seat == 0 else None,
        sets_goal=seat == 0,
    )
    return replace(known, **changes)


def said_in_turn(language: Language, texts: Sequence[str]) -> tuple[Line, ...]:
    """The turns so far."""
    people = PEOPLE[language]
    return tuple(
        Line(turn=i, speaker_id=people[i % 2].id, speaker_name=people[i % 2].name, text=text)
        for i, text in enumerate(texts)
    )


def play(
    language: Language, seed: int, *, goal: Goal | None = None, alice: dict[str, Any] | None = None, **taro: Any
) -> Played:
    """A whole conversation, as the engine plays it. `alice` and `taro` are what else the two know."""
    rng, achieved, until = random.Random(seed), False, 10
    texts: list[str] = []
    while len(texts) < until:
        mine = {**(alice or {}), "goal": goal} if len(texts) % 2 == 0 else taro
        turn = speak(context(language, *texts, **mine), rng)
        texts.append(turn.utterance)
        if isinstance(turn, OpeningTurn):
            goal = Goal(goal=turn.goal, success_criteria=turn.success_criteria)
        if turn.wants_to_end:
            until = min(until, len(texts) + 1)
        if isinstance(turn, CharacterTurn) and turn.goal_achieved and not achieved:
            achieved, until = True, min(until, len(texts) + 2)
    return Played(texts=tuple(texts), achieved=achieved)


def closing_context(language: Language, texts: Sequence[str], **taro: Any) -> ClosingContext:
    """The context of a closing; `taro` changes what is known of him."""
    refs = {"alice": "a", "npc_taro": "b"}
    people = tuple(
        Participant(
            ref=refs[person.id],
            person_id=person.id,
            name=person.name,
            affinity=0,
            mood="neutral",
            facts=tuple(Known(text=fact) for fact in person.facts),
        )
        for person in PEOPLE[language]
    )
    return ClosingContext(
        language=language,
        participants=(people[0], replace(people[1], **taro)),
        now="",
        goal=FESTIVAL[language].goal,
        goal_achieved=True,
        lines=tuple(
            SpokenLine(
                turn=line.turn,
                speaker_id=line.speaker_id,
                speaker_name=line.speaker_name,
                text=line.text,
                at=WorldTime(0),
            )
            for line in said_in_turn(language, texts)
        ),
    )
