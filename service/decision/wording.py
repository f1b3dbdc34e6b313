"""Owns how options, refusals and what somebody does read: one short line each, in the world's language."""

import re
from collections.abc import Iterable, Mapping

from service.decision.agent_state import Failed
from service.people.worlds import WorldView
from world.actions import BUILT_IN, GO, HOLD, TALK, WAIT, WALK, ActionDef
from world.life import Because
from world.option import Option, Reason, Refusal
from world.perceive import Snapshot
from world.time import MINUTES_PER_HOUR, Language, WorldTime, minute_of_day

MAX_REFUSALS = 4
_LONGEST: Mapping[Language, int] = {"en": 100, "ja": 50}
"""Letters of a summary or a memory that a decision is told."""
_UNTOLD = (Reason.BUSY, Reason.TOO_MUCH)

_STOPS: Mapping[Language, re.Pattern[str]] = {"en": re.compile(r'[.?!]"?(?=\s)'), "ja": re.compile("[。?!]")}

_BUILT_IN: Mapping[Language, Mapping[str, str]] = {
    "en": {WAIT: "Wait", WALK: "Walk", TALK: "Talk", GO: "Go", HOLD: "Stand"},
    "ja": {WAIT: "待つ", WALK: "歩く", TALK: "話す", GO: "行く", HOLD: "立っている"},
}
_WHY: Mapping[Language, Mapping[str, str]] = {
    "en": {
        Reason.CLOSED: "closed (open {hours})",
        Reason.WRONG_TIME: "only {hours}",
        Reason.NO_SEAT: "no seat is free",
        Reason.TOO_LITTLE: "too little {need} ({has}, takes {needs})",
        Reason.TOO_MUCH: "no need of it ({need} {has})",
        Reason.NO_FACILITY: "there is no place for it",
        Reason.NO_WAY: "no way leads there",
        Reason.NOBODY: "nobody is there",
        Reason.BUSY: "busy",
        Reason.GONE: "gone",
    },
    "ja": {
        Reason.CLOSED: "閉まっている(営業 {hours})",
        Reason.WRONG_TIME: "{hours}のみ",
        Reason.NO_SEAT: "席が空いていない",
        Reason.TOO_LITTLE: "{need}が足りない({has}、要 {needs})",
        Reason.TOO_MUCH: "まだ必要ない({need} {has})",
        Reason.NO_FACILITY: "できる場所がない",
        Reason.NO_WAY: "道がない",
        Reason.NOBODY: "相手がいない",
        Reason.BUSY: "手が離せない",
        Reason.GONE: "もういない",
    },
}
_TIMES = {1: "once", 2: "twice"}
_ENDED: Mapping[Language, Mapping[str, str]] = {
    "en": {
        Because.DONE: "{what}: done.",
        Because.CUT: "{what}: cut short by somebody.",
        Because.NEED: "{what}: stopped, for {need} is critical.",
        Because.ALARM: "{what}: stopped, the next part of the day begins.",
        Because.ROUSED: "{what}: interrupted.",
    },
    "ja": {
        Because.DONE: "「{what}」が終わった。",
        Because.CUT: "「{what}」の途中で声をかけられた。",
        Because.NEED: "「{what}」を中断した。{need}が限界。",
        Because.ALARM: "「{what}」を切り上げた。次の予定の時間。",
        Because.ROUSED: "「{what}」を中断させられた。",
    },
}


def clock(minute: int) -> str:
    """``06:30`` for a minute of the day."""
    return f"{minute // MINUTES_PER_HOUR:02d}:{minute % MINUTES_PER_HOUR:02d}"


def clock_of(t: WorldTime) -> str:
    """The same for a world time."""
    return clock(minute_of_day(t))


def action_name(world: WorldView, action_id: str) -> str:
    """The author's name of an action, or of what is built in; the id of an action the author has taken away."""
    built_in = _BUILT_IN[world.language].get(action_id)
    catalogue = world.setting.catalogue
    known = (action.name for action in catalogue.actions if action.id == action_id)
    return built_in or next(known, action_id)


def in_short(text: str, language: Language) -> str:
    """The text if it is short, else its first sentences that are, else its beginning."""
    longest = _LONGEST[language]
    if len(text) <= longest:
        return text
    wholes = (text[: found.end()] for found in _STOPS[language].finditer(text[:longest]))
    whole = [one for one in wholes if one.count("「") == one.count("」") and one.count('"') % 2 == 0]
    return whole[-1].strip() if whole else f"{text[: longest - 1].rstrip()}…"


def offer_line(world: WorldView, option: Option, *, doing: str = "", talked: int = 0) -> str:
    """``Work: Shionoyu Inn (5+60; Money +80, Energy -12)``: the way and the time in minutes, and what it does to whom
    chooses it. Of a talk: what the other is `doing`, and how often the two have `talked` today.
    """
    ja = world.language == "ja"
    about = [_times(world, option, in_short=True)]
    if doing:
        about.append(f"「{doing}」の最中" if ja else f"now: {doing}")
    if talked:
        about.append(f"今日{talked}回話した" if ja else f"talked {_TIMES.get(talked, f'{talked} times')} today")
    if option.action_id not in BUILT_IN:
        about.append(gains_line(world, world.setting.catalogue.action(option.action_id)))
    return _with(world, option, "、" if ja else "; ", about)


def option_line(world: WorldView, option: Option) -> str:
    """``Work: Shionoyu Inn (walk 5, 60 min)``."""
    return _with(world, option, "", [_times(world, option, in_short=False)])


def gains_line(world: WorldView, action: ActionDef) -> str:
    """``Money -300, Satiety +40``: what it costs and brings, in points of needs, over the whole of it."""
    joint = "、" if world.language == "ja" else ", "
    gained = {
        need: action.effects.get(need.id, 0) - action.cost.get(need.id, 0) for need in world.setting.catalogue.needs.all
    }
    return joint.join(f"{need.name or need.id} {round(points):+d}" for need, points in gained.items() if round(points))


def _with(world: WorldView, option: Option, joint: str, about: list[str]) -> str:
    told = joint.join(filter(None, about))
    if not told:
        return _what(world, option)
    return f"{_what(world, option)}({told})" if world.language == "ja" else f"{_what(world, option)} ({told})"


def _times(world: WorldView, option: Option, *, in_short: bool) -> str:
    """``5+60`` in short, else ``walk 5, 60 min``."""
    ja = world.language == "ja"
    if in_short and option.minutes and option.walk_minutes:
        return f"{option.walk_minutes}+{option.minutes}{'分' if ja else ''}"
    walk = f"徒歩{option.walk_minutes}分" if ja else f"walk {option.walk_minutes}"
    times = [walk] if option.walk_minutes else []
    if option.minutes:
        times.append(f"{option.minutes}分" if ja else f"{option.minutes} min")
    elif times and not ja:
        times[-1] += " min"
    return ("、" if ja else ", ").join(times)


def refusal_lines(world: WorldView, refusals: Iterable[Refusal]) -> tuple[str, ...]:
    """What is not possible and why, those of one reason on one line, in their order.

    Who is busy is told where people are; what somebody has no need of is not told at all.
    """
    subjects: dict[str, dict[str, None]] = {}
    for refusal in refusals:
        if refusal.reason not in _UNTOLD:
            subjects.setdefault(why(world, refusal), {})[_subject(world, refusal)] = None
    joint = "、" if world.language == "ja" else ", "
    return tuple(f"{joint.join(names)}: {reason}" for reason, names in subjects.items())[:MAX_REFUSALS]


def why(world: WorldView, refusal: Refusal) -> str:
    """The reason in words."""
    facts = dict(refusal.facts)
    if "need_id" in facts:
        facts["need"] = need_name(world, str(facts["need_id"]))
    for key in ("has", "needs"):
        if key in facts:
            facts[key] = round(float(facts[key]))
    return _WHY[world.language][refusal.reason].format(**facts)


def failed_line(world: WorldView, failed: Failed) -> str:
    """What was chosen in vain, and why."""
    place = world.map.facilities.get(failed.facility_id or "")
    where = world.name_of(failed.target_id) if failed.target_id else place.name if place else ""
    reasons = _WHY[world.language]
    # A reason that comes with figures says here only what it is: the figures were those of another moment.
    reason = reasons[failed.reason].split("(")[0].strip() if failed.reason in reasons else failed.reason
    what = action_name(world, failed.action_id)
    told = f"{what}: {where}" if where else what
    return f"「{told}」はできなかった: {reason}。" if world.language == "ja" else f"{told}: in vain, {reason}."


def ended_line(world: WorldView, snapshot: Snapshot) -> str:
    """What has just ended, and why."""
    joint = "と" if world.language == "ja" else " and "
    need = joint.join(need_name(world, need_id) for need_id in snapshot.critical)
    because = Because(snapshot.because) if need or snapshot.because != Because.NEED else Because.DONE
    return _ENDED[world.language][because].format(what=action_name(world, snapshot.ended), need=need)


def need_name(world: WorldView, need_id: str) -> str:
    """What the author calls a need."""
    return next((need.name or need.id for need in world.setting.catalogue.needs.all if need.id == need_id), need_id)


def _what(world: WorldView, option: Option) -> str:
    name, where = action_name(world, option.action_id), _where(world, option)
    return f"{name}: {where}" if where else name


def _where(world: WorldView, option: Option) -> str:
    if option.target_id:
        return world.name_of(option.target_id)
    if option.facility_id:
        return world.map.facility(option.facility_id).name
    if option.action_id == GO:
        node = world.map.node(option.node_id)
        return world.map.map_names.get(node.map_id) or world.map.label(option.node_id)
    return world.map.label(option.node_id) if option.action_id == WAIT and option.walk_minutes else ""


def _subject(world: WorldView, refusal: Refusal) -> str:
    if refusal.target_id:
        return world.name_of(refusal.target_id)
    place = world.map.facilities.get(refusal.facility_id or "")
    if place is not None and refusal.reason is Reason.CLOSED:
        return place.name
    name = action_name(world, refusal.action_id)
    if place is None:
        return name
    return f"{name}({place.name})" if world.language == "ja" else f"{name} ({place.name})"
