"""Owns the rehearsal's reading of goals: what kind of errand a goal is, which goal to set, whether it is achieved."""

import re
from dataclasses import dataclass
from typing import Literal

from service.content.profile import CharacterProfile
from service.conversation.context import Goal, PromptContext
from service.conversation.rehearsal.stage import Stage
from service.locales import Language
from service.memory.rehearsal.likeness import clip, fit, grams, holds, key_phrase, sentences, tells_something
from service.memory.rehearsal.retell import person_clause, wished

Kind = Literal["greet", "thank", "news", "topic", "clause"]

_GREET = re.compile(r"挨拶|あいさつ|\b(?:greet|say hello|introduce)\b", re.IGNORECASE)
_THANK = re.compile(r"お礼|感謝|ありがと|\bthank", re.IGNORECASE)
_ASK = re.compile(r"聞|尋|訊|知|教え|相談|確か|調べ|\b(?:ask|find out|learn|hear)\b", re.IGNORECASE)
_NEWS = re.compile(r"近況|様子|元気|最近|調子|\b(?:how .*(?:doing|are|is|been)|news|lately)\b", re.IGNORECASE)
_TOPIC_JA = re.compile(
    r"(.+?)(?:について|に関して|に関する話を|のことを|の話を|を|が)(?:[^、。]{0,8}?)(?:聞|尋|訊|知|教|相談|確|話|調|うかが|伺)"
)
_TOPIC_EN = re.compile(r"\b(?:about|regarding|concerning|news of|of|for) (.+?)[.!?]*$", re.IGNORECASE)
_CLAUSE_EN = re.compile(
    r"\b(?:ask|learn|know|hear|find out|discover)\b.*?\b((?:how|what|where|when|why|who|whether|if) .+?)[.!?]*$",
    re.IGNORECASE,
)
_HELP = "what might help to"
_LONGEST_TOPIC = 40
_ANSWERS = 0.12
_ENOUGH_NEWS = 2
_MIND = 0.6
"""How likely a goal of life is what the talk is about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """What a goal comes down to. `topic` is what it is about, in words that fit a question; "" when there is none."""

    kind: Kind
    topic: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Something remembered about the partner. `said` is ready for the recall phrases, `quoted` when it is a quotation."""

    text: str
    said: str
    ago: str
    quoted: bool


def errand_of(goal: Goal, partner: str, language: Language) -> Errand:
    """Read a goal."""
    text = goal.goal.strip().rstrip("。.")
    if _THANK.search(text):
        return Errand(kind="thank", topic=_thanked_for(text, partner, language))
    if _GREET.search(text) and not _ASK.search(text):
        return Errand(kind="greet")
    topic = _topic(text, partner, language) if _HELP not in text else ""
    if topic and len(topic) <= _LONGEST_TOPIC and not (_NEWS.search(topic) and len(grams(topic)) <= 4):
        return Errand(kind="topic", topic=topic)
    clause = (
        _CLAUSE_EN.search(text)
        if language == "en" and not topic and _HELP not in text and not _NEWS.search(text)
        else None
    )
    if clause and not re.search(r"\b(?:he|she|him|they)\b", clause.group(1)) and partner not in clause.group(1):
        return Errand(kind="clause", topic=_to_you(clause.group(1), partner))
    return Errand(kind="news")


def choose(stage: Stage, scene: PromptContext) -> tuple[Goal, str, str]:
    """A goal within the guidelines, with the phrase that opens it and what that phrase is about.

    In this order: what was noted for these days about the partner, what the partner said before, a goal of life, news.
    """
    ja, name = scene.language == "ja", scene.partner_name.strip()[:40] or ("相手" if scene.language == "ja" else "them")
    noted = next((note for note in scene.mid_term if name in note), "")
    key = key_phrase(noted, stage.names) if noted else ""
    if noted and key:
        goal = f"{name}に、{key}のことを聞く" if ja else f"Ask {name} about the {key}"
        return _goal(goal, ja), "ask_topic", key if ja else f"the {key}"
    remembered = recalled(scene, "")
    key = key_phrase(remembered.text, stage.names) if remembered else ""
    if key:
        goal = f"{name}に、{key}の話の続きを聞く" if ja else f"Ask {name} for more news of the {key}"
        return _goal(goal, ja), "ask_since", ""
    goals = scene.speaker.goals if isinstance(scene.speaker, CharacterProfile) else ()
    wishes = [w.goal.strip().rstrip("。.") for w in goals if w.importance != "low" and len(w.goal) <= 80]
    wishes = [wish for wish in wishes if wished(wish, scene.language) and scene.partner_name.strip() not in wish]
    if wishes and stage.rng.random() < _MIND:
        wish = stage.rng.choice(wishes)
        topic = wished(wish, scene.language)
        goal = f"{name}に、{wish}手がかりを聞く" if ja else f"Ask {name} {_HELP} {wish[:1].lower()}{wish[1:]}"
        return _goal(goal, ja), "ask_quest", topic
    goal = f"{name}に挨拶して、近況を聞く" if ja else f"Greet {name} and ask how things are"
    return _goal(goal, ja), "ask_news", ""


def achieved(stage: Stage, scene: PromptContext, goal: Goal) -> bool:
    """Whether the partner has given what the goal asks: a reply, or an answer, or news enough."""
    if not stage.theirs:
        return False
    errand = errand_of(goal, scene.partner_name, scene.language)
    if errand.kind in ("greet", "thank"):
        return bool(stage.own)
    if len(stage.theirs) < _ENOUGH_NEWS and scene.turns_left > 4:
        return False
    told = [s for line in stage.theirs for s in sentences(line) if tells_something(s)]
    fresh = [s for s in told if all(holds(known, s) < 0.8 for known in scene.known)]
    wanted = errand.topic or f"{goal.goal} {goal.success_criteria}"
    return len(fresh) >= _ENOUGH_NEWS or any(fit(wanted, s) >= _ANSWERS for s in fresh)


def recalled(scene: PromptContext, query: str) -> Memory | None:
    """What of the partner's words to come back to: the best for the query, else the first known."""
    if not scene.known:
        return None
    best = max(range(len(scene.known)), key=lambda i: (fit(query, scene.known[i]), -i))
    ago = scene.last_meeting.ago if scene.last_meeting else ""
    return _memory(scene.known[best], scene.partner_name.strip(), ago, scene.language)


def _memory(known: str, partner: str, ago: str, language: Language) -> Memory:
    text, when = _without_time(known.strip().lstrip("-・* ").strip())
    when = when or ago
    if language == "ja":
        core = re.sub(rf"^{re.escape(partner)}(?:さん)?[はが]、?", "", text) if partner else text
        core = re.sub(r"と(?:言った|言っていた|話した|話していた|語った|いう)$", "", core.rstrip("。"))
        return Memory(text=text, said=clip(core, 100), ago=when, quoted=core.startswith("「"))
    quote = re.search(r'["“](.+)["”]', text)
    if quote:
        return Memory(text=text, said=f'"{clip(quote.group(1), 140)}"', ago=when, quoted=True)
    clause = person_clause(text, partner, "you")
    return Memory(text=text, said=clause or f'"{clip(text, 140)}"', ago=when, quoted=not clause)


def _without_time(text: str) -> tuple[str, str]:
    """A known fact and the time it carries at its front or end, in any of the usual brackets."""
    time = r"[^()（）\[\]]*(?:前|昨日|今日|たった今|ago|yesterday|just now)"
    for pattern in (rf"^[\[(（]({time})[\])）]\s*(.+)$", rf"^({time})[:：]\s*(.+)$"):
        if found := re.match(pattern, text):
            return found.group(2), found.group(1)
    if found := re.match(rf"^(.+?)\s*[\[(（]({time})[\])）]。?$", text):
        return found.group(1), found.group(2)
    return text, ""


def _goal(goal: str, ja: bool) -> Goal:
    criteria = "話を1つ以上聞けたら達成" if ja else "Achieved when at least one piece of news was told"
    return Goal(goal=clip(goal, 200), success_criteria=criteria)


def _topic(text: str, partner: str, language: Language) -> str:
    if language == "ja":
        bare = re.sub(rf"{re.escape(partner)}(?:さん|先生)?(?:に|と|から|へ|の)、?", "", text) if partner else text
        found = _TOPIC_JA.search(bare)
        return found.group(1).split("、")[-1].strip() if found else ""
    found = _TOPIC_EN.search(text)
    return _to_you(found.group(1), partner) if found else ""


def _thanked_for(text: str, partner: str, language: Language) -> str:
    if language == "ja":
        bare = re.sub(rf"{re.escape(partner)}(?:さん|先生)?(?:に|へ)、?", "", text) if partner else text
        found = re.search(r"(.+?)(?:の|への)(?:お礼|感謝)", bare)
        return found.group(1)[:_LONGEST_TOPIC] if found else ""
    found = re.search(r"\bfor (.+?)[.!?]*$", text)
    return _to_you(found.group(1), partner)[:80] if found else ""


def _to_you(text: str, partner: str) -> str:
    """Third person turned to the partner: his mill -> your mill, Taro's mill -> your mill."""
    turned = re.sub(rf"\b{re.escape(partner)}['’]s\b", "your", text) if partner else text
    return re.sub(r"\b(?:his|her|their)\b(?= \w)", "your", turned)
