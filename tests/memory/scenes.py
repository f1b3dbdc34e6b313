"""Owns closing scenes for tests: Mio talks with Taro the baker, in English and in Japanese."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.content.profile import Mood
from service.locales import Language
from service.memory.extraction import (
    Claim,
    ClosingContext,
    ClosingExtraction,
    KnownFact,
    MidTermDraft,
    Participant,
    SelfClaim,
    SpokenLine,
)
from tests.memory.answers import NOTHING, claim, extraction, self_claim
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
    facts: tuple[KnownFact, ...] = (),
    memories: tuple[KnownFact, ...] = (),
    npc_facts: tuple[KnownFact, ...] = (),
    npc_memories: tuple[KnownFact, ...] = (),
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
        now="Wed 1 Apr, 7:00 (2026-04-01)",
        goal="Hear about his family" if language == "en" else "家族の話を聞く",
        goal_achieved=True,
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


def authored(*statements: str) -> tuple[KnownFact, ...]:
    """Facts the author wrote, as n1.."""
    return tuple(KnownFact(ref=f"n{i}", statement=s, authored=True) for i, s in enumerate(statements, 1))


def learned(*statements: str) -> tuple[KnownFact, ...]:
    """Facts the NPC told before, as n1.."""
    return tuple(KnownFact(ref=f"n{i}", statement=s) for i, s in enumerate(statements, 1))


def memories(*statements: str) -> tuple[KnownFact, ...]:
    """What the character remembered, as m1.."""
    return tuple(KnownFact(ref=f"m{i}", statement=s) for i, s in enumerate(statements, 1))


def told(statement: str, turn: int, replaces: str = "") -> SelfClaim:
    """Something a person is said to have said of itself."""
    return SelfClaim.model_validate(self_claim(statement, turn, replaces=replaces))


def heard(statement: str, turn: int, *, subject: str = "Taro", replaces: str = "") -> Claim:
    """Something a person is said to have heard."""
    return Claim.model_validate(claim(statement, turn, subject=subject, replaces=replaces))


def soon(content: str, turn: int) -> MidTermDraft:
    """Something that is said to affect a person's next days."""
    return MidTermDraft(content=content, turn=turn, mode="planned", importance="high")


def answer(
    *facts: SelfClaim,
    remembered: tuple[Claim, ...] = (),
    mid_term: tuple[MidTermDraft, ...] = (),
    summary: str = "They talked.",
    topics: tuple[str, ...] = (),
    first: Mapping[str, Any] = NOTHING,
    **second: Any,
) -> ClosingExtraction:
    """A model's answer: Taro told `facts` of himself, Mio remembers; `first` and the rest are more of their entries."""
    mio = {
        "facts": list(remembered),
        "mid_term": [draft.model_dump() for draft in mid_term],
        "intimacy": 1,
        "affinity": 12,
        **first,
    }
    return extraction(summary, topics=topics, first=mio, second={"self_facts": list(facts), **second})
