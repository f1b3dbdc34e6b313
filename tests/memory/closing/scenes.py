"""Owns closing scenes for tests: Mio talks with Taro the baker, in English and in Japanese."""

from dataclasses import replace
from typing import Any

from service.content.profile import Mood
from service.locales import Language
from service.memory.closing.ask import ClosingQuestion
from service.memory.closing.context import ClosingContext, Known, Participant, SpokenLine
from world.time import parse_time

AT = parse_time("2026-04-01T07:00")
EN_LINES = (
    "Good morning, Taro! I hear you stole the silver bell.",
    "Good morning, Mio. I have twin daughters to feed, I have no time for bells.",
    "I am the king's messenger, and I have seven brothers.",
    "Seven brothers, how lively. You are a spy?",
    "Do you ever leave the village?",
    "I went to the capital once, twelve years ago. Come to the pier tomorrow at six, I will show you my boat.",
)
JA_LINES = (
    "おはよう、太郎さん。銀の鈴を盗んだそうですね。",
    "おはよう、ミオ。双子の娘を食わせにゃならん。鈴どころじゃないよ。",
    "私は王の使者で、兄弟が七人います。",
    "兄弟が七人とは賑やかだね。君は間者か?",
    "村を出ることはありますか?",
    "十二年前に一度、都へ行ったよ。明日の六時に桟橋へおいで、わしの舟を見せよう。",
)


def scene(
    language: Language = "en",
    lines: tuple[str, ...] | None = None,
    *,
    facts: tuple[Known, ...] = (),
    memories: tuple[Known, ...] = (),
    npc_facts: tuple[Known, ...] = (),
    npc_memories: tuple[Known, ...] = (),
    affinity: int = 0,
    mood: Mood = "neutral",
    **changes: Any,
) -> ClosingContext:
    """A scene; Mio ("a", of whom `facts` and `memories` are) speaks the even turns, Taro ("b") the odd ones."""
    character, npc = ("Mio", "Taro") if language == "en" else ("ミオ", "太郎")
    said = lines if lines is not None else (EN_LINES if language == "en" else JA_LINES)
    mio = Participant(
        ref="a", person_id="mio", name=character, affinity=12, mood="neutral", facts=facts, memories=memories
    )
    taro = Participant(
        ref="b",
        person_id="npc_taro",
        name=npc,
        affinity=affinity,
        mood=mood,
        facts=npc_facts,
        memories=npc_memories,
    )
    base = ClosingContext(
        language=language,
        participants=(mio, taro),
        now="Wed 1 Apr, 7:00 (2026-04-01T07:00)",
        goal="Hear about his family" if language == "en" else "家族の話を聞く",
        goal_achieved=True,
        calendar=("2026-04-01 Wednesday", "2026-04-02 Thursday")
        if language == "en"
        else ("2026-04-01 水", "2026-04-02 木"),
        places=(("pier", "The pier" if language == "en" else "桟橋"),),
        lines=tuple(
            SpokenLine(
                turn=turn,
                speaker_id="npc_taro" if turn % 2 else "mio",
                speaker_name=npc if turn % 2 else character,
                text=text,
                at=AT,
            )
            for turn, text in enumerate(said)
        ),
    )
    return replace(base, **changes)


def known(*texts: str, ref: str = "") -> tuple[Known, ...]:
    """What its author wrote, or with a `ref` such as am what one remembered, as am1 and so on."""
    return tuple(Known(text=text, ref=f"{ref}{number}" if ref else "") for number, text in enumerate(texts, 1))


def question(context: ClosingContext, **more: Any) -> ClosingQuestion:
    """The question of a talk that ended when it was held."""
    since = {one.person_id: AT for one in context.participants}
    return ClosingQuestion(context=context, conversation_id="a", known_from=since, **more)
