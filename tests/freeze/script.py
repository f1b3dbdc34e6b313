"""Owns the scripted model of the records: its answers depend on who is asked for what, and how often before, alone.

No answer looks at a prompt's text, so a prompt may be rewritten and the story stays the same. Every answer is valid.
"""

import asyncio
import random
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from service.llm.chat import Answer, Prompt, T, TextListener
from service.locales import Language
from service.usage import Usage
from tests.memory.answers import memory, plain
from world.time import MINUTES_PER_DAY

What = Literal["plans", "decides", "speaks", "remembers", "thinks"]

BLOCK_MINUTES = 180
BLOCKS = 4


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a prompt asks of whom.

    `partner_id` is set where `person_id` remembers a conversation: with whom. `options` is set where it decides: how
    many there are. A plan begins at `minute` of the day; `places` tells of each place it may name whether the place is
    open at a minute of the day.
    """

    what: What
    person_id: str
    partner_id: str = ""
    options: int = 0
    minute: int = 0
    places: tuple[Callable[[int], bool], ...] = ()


def question_of(prompt: Prompt[Any]) -> Question:
    """Who is asked for what: the only function here that knows how prompts are made. It never reads their text."""
    given: Any = prompt.given
    match type(given).__name__:
        case "ClosingContext":
            first, second, *_ = (one.person_id for one in given.participants)
            return Question(what="remembers", person_id=first, partner_id=second)
        case "PlanContext":
            hours, minutes = map(int, given.at.split(":"))
            places = tuple(place.is_open for place in given.places)
            return Question(what="plans", person_id=given.speaker.id, minute=60 * hours + minutes, places=places)
        case "DecisionContext":
            return Question(what="decides", person_id=given.speaker.id, options=len(given.offers))
        case "ReflectionContext":
            return Question(what="thinks", person_id=given.person_id)
        case _:
            return Question(what="speaks", person_id=given.speaker.id)


class Script:
    """A ChatModel. `asked` counts the questions of each kind and person.

    An answer takes up to `longest_seconds`, drawn by `seed`; whatever they are, the story must come out the same.
    """

    name = "scripted"

    def __init__(self, *, longest_seconds: float = 0.0, seed: int = 0) -> None:
        self.asked: Counter[tuple[What, str]] = Counter()
        self._longest_seconds = longest_seconds
        self._rng = random.Random(seed)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """What the person answers to its next question of that kind."""
        question = question_of(prompt)
        index = self.asked[question.what, question.person_id]
        self.asked[question.what, question.person_id] += 1
        fields = ANSWERS[question.what](question, index, prompt.language)
        value = prompt.answer.model_validate({k: v for k, v in fields.items() if k in prompt.answer.model_fields})
        await asyncio.sleep(self._rng.random() * self._longest_seconds)
        if on_text is not None:
            on_text(str(fields["utterance"]), None)
        return Answer(value=value, usage=Usage(calls=1, prompt_tokens=10, completion_tokens=5), model=self.name)

    async def aclose(self) -> None:
        """Nothing to release."""


def _plans(question: Question, index: int, language: Language) -> dict[str, Any]:
    blocks = []
    for block in range(BLOCKS):
        minute = (question.minute + block * BLOCK_MINUTES) % MINUTES_PER_DAY
        place = _number("place", question.person_id, BLOCKS * index + block) % (len(question.places) + 1)
        if place and not question.places[place - 1](minute):
            place = 0
        starts = f"{minute // 60:02}:{minute % 60:02}"
        blocks.append({"starts": starts, "activity": _DOING[language], "place": place, "action": ""})
    return {"blocks": blocks}


def _decides(question: Question, index: int, language: Language) -> dict[str, Any]:
    choice = _number("decides", question.person_id, index) % question.options + 1
    goal, criteria = _GOALS[language]
    return {"thought": "", "choice": choice, "target": "", "goal": goal, "success_criteria": criteria}


def _speaks(question: Question, index: int, language: Language) -> dict[str, Any]:
    openings, endings = _SAID[language]
    words = fact_of(question.person_id, language), openings[index % len(openings)], endings[index % len(endings)]
    number = _number("speaks", question.person_id, index)
    goal, criteria = _GOALS[language]
    return {
        "utterance": " ".join(words),
        "emotion": ("neutral", "happy", "sad", "angry", "surprised")[number % 5],
        "wants_to_end": number % 9 == 0,
        "goal_achieved": number % 5 == 0,
        "goal": goal,
        "success_criteria": criteria,
    }


def _remembers(question: Question, index: int, language: Language) -> dict[str, Any]:
    """`person_id` spoke in turn 0, the partner in turn 1: each has heard the other's fact, if they came so far."""
    own, heard = fact_of(question.person_id, language), fact_of(question.partner_id, language)
    number = _number("remembers", question.person_id, index)
    mood = ("neutral", "happy", "angry")[number % 3]
    learned = [memory(heard, 1)] if number % 3 else []
    first = _takes_away(heard, 1, own, number)
    if question.partner_id.startswith("npc_"):
        first |= {"affinity": 0}
        second: dict[str, Any] = {"affinity": number % 41 - 20, "mood": mood, "memories": learned}
    else:
        first |= {"affinity": number % 41 - 20}
        second = {**_takes_away(own, 0, heard, number + 1), "affinity": number % 31 - 15}
    return plain(_SUMMARY[language], topics=(_TOPIC[language],), first=first, second=second)


def _takes_away(heard: str, turn: int, own: str, number: int) -> dict[str, Any]:
    """What was heard; and something said by oneself that affects the next days."""
    facts = [memory(heard, turn, about="family")] if number % 4 else []
    soon = memory(own, 1 - turn, lasts=("low", "medium", "high")[number % 3])
    return {"memories": [*facts, *([soon] if number % 2 else [])]}


def _thinks(question: Question, index: int, language: Language) -> dict[str, Any]:
    """Nothing: what is thought is no part of the record."""
    return {"insights": []}


ANSWERS: dict[What, Callable[[Question, int, Language], dict[str, Any]]] = {
    "plans": _plans,
    "decides": _decides,
    "speaks": _speaks,
    "remembers": _remembers,
    "thinks": _thinks,
}


def fact_of(person_id: str, language: Language) -> str:
    """A sentence about oneself that only this person says, in every turn."""
    told = _FACTS[language][_PEOPLE.index(person_id)]
    return f"わたしの家族は{told}" if language == "ja" else f"My family {told}"


def _number(what: str, person_id: str, index: int) -> int:
    """Some number, the same everywhere: what the answers are chosen by."""
    return zlib.crc32(f"{what}/{person_id}/{index}".encode())


_PEOPLE = (
    "aoi isao kohei mio nagi ren sayo sota npc_eisaku npc_fumi npc_genzo npc_hamako npc_harue npc_kiriko npc_shiho "
    "npc_taro npc_tetsuji npc_umekichi"
).split()
_FACTS: dict[Language, tuple[str, ...]] = {
    "en": (
        "mends fishing nets behind the temple.",
        "paints paper lanterns for the festival.",
        "breeds carrier pigeons in an attic.",
        "collects foreign stamps from every steamer.",
        "carves wooden whistles out of cherry branches.",
        "repairs broken clocks above the pharmacy.",
        "photographs storm clouds from the lighthouse.",
        "dries seaweed on the northern beach.",
        "translates sailors' letters at the post office.",
        "grows purple irises beside the canal.",
        "tunes pianos in mountain schools.",
        "bakes chestnut cakes every autumn.",
        "weaves bamboo baskets under the bridge.",
        "keeps bees near the quarry.",
        "sharpens knives at the weekly market.",
        "dyes indigo cloth in large vats.",
        "builds toy ships from driftwood.",
        "brews barley tea with spring water.",
    ),
    "ja": (
        "寺の裏で漁網を繕っています。",
        "祭りの提灯に絵付けをしています。",
        "屋根裏で伝書鳩を育てています。",
        "汽船の外国切手を集めています。",
        "桜の枝で木笛を彫っています。",
        "薬局の二階で壊れた時計を修理しています。",
        "灯台から嵐の雲を撮影しています。",
        "北の浜で海藻を干しています。",
        "郵便局で船員の手紙を翻訳しています。",
        "運河のほとりで紫の菖蒲を栽培しています。",
        "山の学校でピアノを調律しています。",
        "秋になると栗の菓子を焼いています。",
        "橋の下で竹籠を編んでいます。",
        "石切場の近くで蜜蜂を飼っています。",
        "市場で包丁を研いでいます。",
        "大きな甕で藍布を染めています。",
        "流木で玩具の船を組み立てています。",
        "湧水で麦茶を煎じています。",
    ),
}
_DOING: dict[Language, str] = {"en": "As every day", "ja": "いつものこと"}
_GOALS: dict[Language, tuple[str, str]] = {
    "en": ("Hear the news", "Something was told that was not known before"),
    "ja": ("近況を聞く", "知らなかったことを一つ聞けたら達成"),
}
_SUMMARY: dict[Language, str] = {"en": "They told each other of their kin.", "ja": "身内のことを話した。"}
_TOPIC: dict[Language, str] = {"en": "family", "ja": "家族"}
_SAID: dict[Language, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "en": (
        (
            "Good to see you out in this weather.",
            "The bread was still warm when I passed the bakery.",
            "Everybody speaks of the ferry these days.",
            "A white cat followed me all the way down.",
            "They have begun to paint the railing of the bridge.",
            "The bell sounded deeper than usual at dawn.",
            "Children were flying kites above the pier.",
        ),
        (
            "What do you think of it?",
            "That reminds me of the old songs.",
            "Perhaps the wind will turn before evening.",
            "I should like to hear more about it.",
            "How quickly the season goes by.",
            "It smells of rain and of pine trees.",
            "Somebody ought to write it down.",
            "Tell me how you spend your mornings.",
            "So much has changed along the shore.",
            "The path up the hill is dry again.",
            "Take care on the wet stones.",
        ),
    ),
    "ja": (
        (
            "こんな天気の日に会えてうれしいです。",
            "パン屋の前を通ったら、まだ温かい匂いがしました。",
            "このごろは誰もが渡し船の話をしています。",
            "白い猫がずっと後をついてきました。",
            "橋の欄干を塗り直し始めたそうです。",
            "明け方の鐘がいつもより低く響きました。",
            "子どもたちが桟橋で凧を揚げていました。",
        ),
        (
            "どう思いますか。",
            "昔の歌を思い出します。",
            "夕方までに風が変わるかもしれません。",
            "もっと聞かせてください。",
            "季節が過ぎるのは早いものです。",
            "雨と松の匂いがします。",
            "誰かが書き留めておくといいのに。",
            "朝はどう過ごしていますか。",
            "浜辺もずいぶん変わりました。",
            "坂道はすっかり乾きました。",
            "濡れた石に気をつけてください。",
        ),
    ),
}
