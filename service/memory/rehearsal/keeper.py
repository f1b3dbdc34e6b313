"""Owns the closing of a rehearsal: what each takes away by rule, from nothing but the transcript."""

import random
import re
from dataclasses import dataclass

from pydantic import BaseModel

from service.content.profile import Importance, Mood
from service.llm.rehearsal import Handler
from service.locales import Language
from service.memory.extraction import (
    AttitudeDraft,
    Claim,
    ClosingExtraction,
    ClosingScene,
    KnownFact,
    MidTermDraft,
    Participant,
    SelfClaim,
    SideExtraction,
    Sides,
    SpokenLine,
    SummarySentence,
)
from service.memory.rehearsal.likeness import (
    clip,
    holds,
    is_farewell,
    key_phrase,
    sameness,
    sentences,
    tells_something,
)
from service.memory.rehearsal.retell import said
from service.memory.utterance import is_question

_LAST_TURN = 99
_SAME = 0.75
_HELD = 0.75
_LONGEST_PASSAGE = 110
_SELF = re.compile(
    r"私|わたし|わし|俺|おれ|僕|ぼく|うち|家内|女房|娘|息子|妻|夫|母|父|兄|姉|弟|妹|\b(?:I|I'm|I've|I'll|me|[Mm]y|mine|[Oo]ur|[Ww]e)\b"
)
_RUDE = re.compile(
    r"馬鹿|ばか(?!り)|バカ|うるさい|黙れ|くだらない|嫌い|あっちへ行け|役立たず|嘘つき|"
    r"\b(?:idiot|stupid|shut up|fool|liar|useless|hate you|get lost)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(r"ありがと|感謝|お礼|おかげ|\b(?:thank|thanks|grateful)\b", re.IGNORECASE)
_GREETING = re.compile(
    r"おはよう|こんにちは|こんばんは|はじめまして|\b(?:hello|good (?:morning|day|evening|afternoon)|nice to)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(r"毎|いつも|よく|\b(?:every|always|usually|often|each)\b", re.IGNORECASE)
_WHEN: tuple[tuple[Importance, re.Pattern[str]], ...] = (
    (
        "high",
        re.compile(r"明後日|あさって|約束|来週|\b(?:day after tomorrow|promise|promised|next week)\b", re.IGNORECASE),
    ),
    (
        "medium",
        re.compile(
            r"明日|あした|風邪|熱を出|寝込|祭りがあ|\b(?:tomorrow|ill|sick|a cold|fever|festival is)\b", re.IGNORECASE
        ),
    ),
    (
        "low",
        re.compile(
            r"夕方|今夜|今晩|あとで|待ち合わせ|\b(?:tonight|this (?:evening|afternoon)|later on|later today)\b",
            re.IGNORECASE,
        ),
    ),
)
_LEAD = re.compile(
    r"^(?:ただ|でも|実はね?|前にも(?:お話ししました|話した)けど|[^、]{1,14}だから話しま?すけど|これは、あまり人には言わないん(?:だけど|ですが))、|^You see, ?"
)
_OPENS = re.compile(r"^(?:よう、|いらっしゃい|ようこそ|やあ|hello there|welcome\b)", re.IGNORECASE)
"""An authored greeting: the sentences after it belong to it."""
_GREETING_GOES_ON = 2
_VOW = re.compile(r"約束|\bpromise\b", re.IGNORECASE)
_STANCE: dict[Language, tuple[tuple[int, str], ...]] = {
    "ja": (
        (40, "親しみと信頼を感じている"),
        (5, "好意を持っている"),
        (-4, "もっと知りたいと思っている"),
        (-101, "少し気まずく思っている"),
    ),
    "en": ((40, "fond and trusting"), (5, "well disposed"), (-4, "curious to know more"), (-101, "a little uneasy")),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """Something the NPC told in `turn`. `clause` follows と言った or stands alone; `known`: it was no news of the NPC."""

    turn: int
    sentence: str
    clause: str
    known: bool


@dataclass(frozen=True, kw_only=True)
class _View:
    """The conversation as one of the two hears it: `character` is the one that listens, `npc` the one that tells."""

    language: Language
    character_id: str
    character_name: str
    npc_id: str
    npc_name: str
    goal: str
    goal_achieved: bool
    affinity: int
    mood: Mood
    npc_facts: tuple[KnownFact, ...]
    memories: tuple[KnownFact, ...]
    lines: tuple[SpokenLine, ...]


def close(scene: ClosingScene, rng: random.Random) -> ClosingExtraction:
    """What each takes away. Rules leave nothing to chance: `rng` is not drawn from.

    Of who began, only what it told of itself counts: the rest are its questions and courtesies.
    """
    first, second = scene.participants
    seen_by_first, seen_by_second = _view(scene, first, second), _view(scene, second, first)
    heard, answered = _told(seen_by_first), [item for item in _told(seen_by_second) if item.known]
    keys = dict.fromkeys([*_keys(seen_by_first, heard), *_keys(seen_by_second, answered)])
    own = [] if keys else [key_phrase(scene.goal, (first.name, second.name))]
    return ClosingExtraction(
        summary=_summary(seen_by_first, heard, seen_by_second, answered),
        topics=[key[:80] for key in (*keys, *own) if key][:5],
        people=Sides(
            a=_side(seen_by_first, heard, seen_by_second, answered),
            b=_side(seen_by_second, answered, seen_by_first, heard),
        ),
    )


def _view(scene: ClosingScene, listener: Participant, teller: Participant) -> _View:
    began = listener is scene.participants[0]
    return _View(
        language=scene.language,
        character_id=listener.person_id,
        character_name=listener.name,
        npc_id=teller.person_id,
        npc_name=teller.name,
        goal=scene.goal if began else "",
        goal_achieved=scene.goal_achieved and began,
        affinity=teller.affinity,
        mood=teller.mood,
        npc_facts=teller.facts,
        memories=listener.memories,
        lines=scene.lines,
    )


def _side(own: _View, heard: list[_Told], others: _View, told: list[_Told]) -> SideExtraction:
    """`own` is the conversation as it hears it, `others` as the other hears it: there this one tells and likes."""
    affinity = _affinity(others)
    stance = next(words for least, words in _STANCE[own.language] if affinity >= least)
    return SideExtraction(
        affinity=affinity,
        mood=_mood(others),
        self_facts=_learned(others, told),
        facts=_facts(own, heard),
        mid_term=_mid_term(own),
        commitments=[],
        attitude=AttitudeDraft(stance=stance, power=0, intimacy=0, task_oriented=0),
    )


def _told(scene: _View) -> list[_Told]:
    found: list[_Told] = []
    for line in scene.lines:
        if line.speaker_id == scene.npc_id and 0 <= line.turn <= _LAST_TURN:
            for passage, fact in _passages(line.text, scene):
                clause = said(fact, scene.npc_name, scene.language) if fact else _quoted(passage, scene.language)
                known = bool(fact) or any(holds(f.statement, passage) >= _HELD for f in scene.npc_facts)
                told = _Told(turn=line.turn, sentence=_LEAD.sub("", passage), clause=clause, known=known)
                if all(sameness(told.clause, old.clause) < _SAME for old in found):
                    found.append(told)
    return found


def _passages(text: str, scene: _View) -> list[tuple[str, str]]:
    """What a turn told, each with the authored fact it states or "": sentences that belong together stay together."""
    authored = [fact.statement for fact in scene.npc_facts if fact.authored and fact.statement]
    found: list[tuple[str, str]] = []
    joins = False
    greets = 0
    for sentence in sentences(text):
        greets = _GREETING_GOES_ON if not found and _OPENS.search(sentence) else greets - 1
        fact = next((f for f in authored if holds(sentence, f) >= _HELD), "")
        tells = bool(fact) or (
            not 0 <= greets < _GREETING_GOES_ON and tells_something(_unaddressed(sentence, scene.character_name))
        )
        if tells and joins and not fact and len(found[-1][0]) + len(sentence) < _LONGEST_PASSAGE:
            gap = "" if scene.language == "ja" else " "
            found[-1] = (f"{found[-1][0]}{gap}{sentence}", "")
        elif tells:
            found.append((sentence, fact))
        joins = tells and not fact
    return found


def _unaddressed(sentence: str, name: str) -> str:
    """Without the listener's name: to call somebody tells nothing."""
    return sentence.replace(name, "") if name else sentence


def _add(found: list[_Told], new: _Told) -> None:
    if all(sameness(new.clause, old.clause) < _SAME for old in found):
        found.append(new)


def _quoted(sentence: str, language: Language) -> str:
    bare = clip(_LEAD.sub("", sentence), 120)
    if language == "ja":
        return f"「{bare.rstrip('。')}」".replace("「「", "「").replace("」」", "」")
    return '"' + bare.replace('"', "'") + '"'


def _statement(scene: _View, told: _Told) -> str:
    """One sentence that names the NPC and holds what it said."""
    name = scene.npc_name[:40]
    if scene.language == "ja":
        return clip(f"{name}は{told.clause}と言った", 200)
    if told.clause.startswith('"'):
        return clip(f"{name} said: {told.clause}", 200)
    return clip(told.clause if name and name in told.clause else f"{name} said so: {told.clause}", 200)


def _summary(scene: _View, heard: list[_Told], other: _View, answered: list[_Told]) -> list[SummarySentence]:
    """What the two told each other; the goal of one of them was never spoken of."""
    who, partner = scene.character_name[:40], scene.npc_name[:40]
    heard = sorted(heard, key=lambda item: not item.known)
    kept = [(scene, item) for item in heard[:2]] + [(other, item) for item in answered[:1]]
    if scene.language == "ja":
        told = [(f"{view.npc_name[:40]}は{clip(t.clause, 110)}と話した。", t.turn) for view, t in kept]
        begins = f"{who}は{partner}と話した。"
    else:
        told = [(_ended(_statement(view, t)), t.turn) for view, t in kept]
        begins = f"{who} talked with {partner}."
    found = [SummarySentence(text=clip(text, 200), turns=[turn]) for text, turn in told]
    return [SummarySentence(text=begins, turns=[]), *found]


def _ended(sentence: str) -> str:
    return sentence if re.search(r"[.!?…][\"']?$", sentence) else f"{sentence}."


def _keys(scene: _View, told: list[_Told]) -> list[str]:
    keys = (key_phrase(item.sentence, (scene.npc_name, scene.character_name)) for item in told)
    return [key[:80] for key in keys if key]


def _learned(scene: _View, told: list[_Told]) -> list[SelfClaim]:
    """What the NPC said of itself that neither its author nor an earlier conversation had stated."""
    known = [fact.statement for fact in scene.npc_facts]
    fresh = [t for t in told if not t.known and _SELF.search(t.sentence) and len(t.sentence) <= 200]
    fresh = [t for t in fresh if all(sameness(t.sentence, k) < _SAME and holds(t.sentence, k) < 0.8 for k in known)]
    return [SelfClaim(statement=t.sentence, turn=t.turn, mode="asserted", importance=5, replaces="") for t in fresh[:2]]


def _facts(scene: _View, told: list[_Told]) -> list[Claim]:
    relation = "話した" if scene.language == "ja" else "said"
    subject = scene.npc_name.strip()[:80] or scene.npc_id[:80] or "?"
    known = [memory.statement for memory in scene.memories]
    facts: list[Claim] = []
    for item in told:
        statement = _statement(scene, item)
        if any(sameness(statement, k) >= _SAME or holds(k, item.clause) >= 0.9 for k in known):
            continue
        key = key_phrase(item.sentence, (scene.npc_name, scene.character_name)) or clip(item.sentence, 60)
        facts.append(
            Claim(
                subject=subject,
                relation=relation,
                object=key[:80],
                statement=statement,
                turn=item.turn,
                mode="asserted",
                importance=5,
                valid_on="",
                replaces="",
            )
        )
    return facts[:6]


def _mid_term(scene: _View) -> list[MidTermDraft]:
    drafts: list[MidTermDraft] = []
    for line in scene.lines:
        for sentence in sentences(line.text):
            if line.speaker_id == scene.character_id and not _VOW.search(sentence):
                continue
            importance = _importance(sentence)
            if importance and all(sameness(sentence, draft.content) < 0.6 for draft in drafts):
                drafts.append(MidTermDraft(content=_noted(line, sentence, scene.language), importance=importance))
    drafts.sort(key=lambda draft: ("high", "medium", "low").index(draft.importance))
    return drafts[:3]


def _noted(line: SpokenLine, sentence: str, language: Language) -> str:
    mark = "" if language == "ja" else ": "
    return clip(f"{line.speaker_name[:40]}{mark}{_quoted(sentence, language)}", 200)


def _importance(sentence: str) -> Importance | None:
    if is_question(sentence) or _HABIT.search(sentence) or (is_farewell(sentence) and "約束" not in sentence):
        return None
    if (
        re.search(r"さっき|昨日|言って|\b(?:said|told)\b", sentence)
        or _THANKS.search(sentence)
        or _GREETING.search(sentence)
    ):
        return None
    return next((importance for importance, when in _WHEN if when.search(sentence)), None)


def _spoken(scene: _View) -> str:
    return "\n".join(line.text for line in scene.lines if line.speaker_id == scene.character_id)


def _affinity(scene: _View) -> int:
    words = _spoken(scene)
    moved = 3 * bool(_GREETING.search(words)) + 3 * bool(_THANKS.search(words)) + 4 * scene.goal_achieved
    moved -= 8 * min(2, len(_RUDE.findall(words)))
    return max(-100, min(100, scene.affinity + moved))


def _mood(scene: _View) -> Mood:
    words = _spoken(scene)
    if _RUDE.search(words):
        return "angry"
    if _THANKS.search(words):
        return "neutral" if scene.mood == "angry" else "happy"
    return scene.mood


def _close(scene: ClosingScene, rng: random.Random) -> BaseModel:
    return close(scene, rng)


HANDLERS: dict[type, Handler] = {ClosingScene: _close}
