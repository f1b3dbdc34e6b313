"""Owns closing scenes for tests: Mio talks with Taro the baker, in English and in Japanese."""

from dataclasses import replace
from typing import Any

from service.memory.recollection import (
    CharacterRecollection,
    ClosingScene,
    KnownFact,
    LearnedFact,
    MemoryFact,
    MidTermDraft,
    NpcRecollection,
    Recollection,
    SpokenLine,
)
from world.time import Language

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


def scene(language: Language = "en", lines: tuple[str, ...] | None = None, **changes: Any) -> ClosingScene:
    """A scene; the character speaks the even turns, the NPC the odd ones."""
    character, npc = ("Mio", "Taro") if language == "en" else ("ミオ", "太郎")
    said = lines if lines is not None else (EN_LINES if language == "en" else JA_LINES)
    base = ClosingScene(
        language=language,
        character_id="mio",
        character_name=character,
        npc_id="npc_taro",
        npc_name=npc,
        now="Wed 1 Apr, 7:00 (2026-04-01)",
        goal="Hear about his family" if language == "en" else "家族の話を聞く",
        goal_achieved=True,
        affinity=0,
        mood="neutral",
        npc_facts=(),
        memories=(),
        lines=tuple(
            SpokenLine(
                turn=turn,
                speaker_id="npc_taro" if turn % 2 else "mio",
                speaker_name=npc if turn % 2 else character,
                text=text,
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


def told(statement: str, turn: int, replaces: str = "") -> LearnedFact:
    """Something the NPC is said to have said of itself."""
    return LearnedFact(statement=statement, turn=turn, replaces=replaces)


def heard(statement: str, turn: int, *, subject: str = "Taro", replaces: str = "", valid_on: str = "") -> MemoryFact:
    """Something the character is said to have heard."""
    return MemoryFact(
        subject=subject,
        relation="said",
        object="it",
        statement=statement,
        turn=turn,
        valid_on=valid_on,
        replaces=replaces,
    )


def answer(
    *facts: LearnedFact,
    remembered: tuple[MemoryFact, ...] = (),
    mid_term: tuple[MidTermDraft, ...] = (),
    affinity: int = 0,
    summary: str = "They talked.",
    topics: tuple[str, ...] = (),
    **npc: Any,
) -> Recollection:
    """A model's answer that claims this and nothing else."""
    return Recollection(
        summary=summary,
        topics=list(topics),
        npc=NpcRecollection(**{"affinity": affinity, "mood": "neutral", "learned_facts": list(facts), **npc}),
        character=CharacterRecollection(facts=list(remembered), mid_term=list(mid_term), stance="curious"),
    )
