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
    PairRecollection,
    PairScene,
    Party,
    Recollection,
    SideRecollection,
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


def pair_scene(
    language: Language = "en",
    lines: tuple[str, ...] | None = None,
    *,
    first: tuple[str, ...] = (),
    second: tuple[str, ...] = (),
    facts: bool = True,
    **changes: Any,
) -> PairScene:
    """Mio and Taro as two characters, with what each remembered before (as a1.. and b1..); Mio began the talk."""
    seen = scene(language, lines)
    own = {
        "en": ("plays the flute by the old mill every night", "bakes bread"),
        "ja": ("笛を吹く", "パンを焼いている"),
    }[language]
    mio, taro = (
        Party(
            person_id=person_id,
            name=name,
            facts=(fact,) if facts else (),
            affinity=affinity,
            memories=tuple(KnownFact(ref=f"{mark}{i}", statement=s) for i, s in enumerate(known, 1)),
        )
        for person_id, name, fact, affinity, mark, known in (
            (seen.character_id, seen.character_name, own[0], 12, "a", first),
            (seen.npc_id, seen.npc_name, own[1], -5, "b", second),
        )
    )
    base = PairScene(
        language=language,
        first=mio,
        second=taro,
        now=seen.now,
        goal=seen.goal,
        goal_achieved=True,
        lines=seen.lines,
    )
    return replace(base, **changes)


def side(*facts: MemoryFact, affinity: int = 0, mid_term: tuple[MidTermDraft, ...] = ()) -> SideRecollection:
    """What one of two characters is said to take away."""
    return SideRecollection(affinity=affinity, facts=list(facts), mid_term=list(mid_term), stance="curious")


def pair_answer(first: SideRecollection, second: SideRecollection) -> PairRecollection:
    """A model's answer about two characters."""
    return PairRecollection(summary="They talked.", topics=[], first=first, second=second)
