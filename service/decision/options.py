"""Owns which options a decision offers, what the day's block wants first, then what is near; and how options, refusals
and what somebody does read: one short line each.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter

from service.content.profile import RoutineBlock
from service.decision.routine import DaySlot, Keeping, at_home, keeping
from service.locales import Language, Listed, Phrase
from service.people.commitment import Commitment
from service.people.worlds import WorldView
from service.store.event_kinds import DayBlock
from world.actions import BUILT_IN, GO, HOLD, TALK, WAIT, ActionDef, Option, Reason, Refusal, Where
from world.errors import Unreachable
from world.life import Because
from world.perception import Snapshot
from world.possible import possible, possible_one
from world.time import MINUTES_PER_HOUR, WorldTime, clock, minute_of_day

NEAREST = 2
"""NPCs offered beside all characters in sight; of each action only the nearest place is kept."""
MAX_OPTIONS = 12
MAX_PARTNERS = 5
LONGEST_WAIT = 30
"""Minutes of waiting that are offered at once."""

_BROKEN = {
    Reason.CLOSED,
    Reason.WRONG_TIME,
    Reason.NO_SEAT,
    Reason.NO_FACILITY,
    Reason.NO_WAY,
    Reason.TOO_LITTLE,
}
"""Reasons for which a block of the day cannot take place. That it is not needed now is none of them."""


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What can be chosen: appointments that can be kept, then `options`, the `planned` ones of the current block first;
    and what is not possible, in the same order.
    """

    keeping: tuple[Keeping, ...] = ()
    options: tuple[Option, ...]
    planned: int
    refusals: tuple[Refusal, ...]


def offered(world: WorldView, snapshot: Snapshot, slot: DaySlot | None, promised: Sequence[Commitment] = ()) -> Offered:
    """What is offered; waiting always is."""
    found = possible(world.setting, snapshot, nearest=NEAREST)
    own = planned(world, snapshot, slot)
    if not any(isinstance(one, Option) for one in own):
        own = (*own, *homeward(world, snapshot, slot))
    options = dict.fromkeys(one for one in own if isinstance(one, Option))
    first = len(options)
    left = MAX_OPTIONS - first
    actions = world.setting.catalogue.actions
    urgent = {a.id for a in actions if any(a.effects.get(need_id, 0) > 0 for need_id in snapshot.critical)}
    nights = {a.id for a in actions if a.ends_day}
    options |= dict.fromkeys(_patient(one, slot, snapshot) for one in _few(found.options, set(options), left, urgent))
    missing = [one for one in own if isinstance(one, Refusal)]
    missing += [
        one
        for one in found.refusals
        # That the night's sleep is for the night needs not be said.
        if one not in missing and not (one.reason is Reason.WRONG_TIME and one.action_id in nights)
    ]
    return Offered(
        keeping=keeping(world.setting, snapshot, promised),
        options=tuple(options),
        planned=first,
        refusals=tuple(missing),
    )


def planned(world: WorldView, snapshot: Snapshot, slot: DaySlot | None) -> tuple[Option | Refusal, ...]:
    """What the current block wants: its action, else all actions of its facility; nothing where the block is spent at
    home and names no action.
    """
    if slot is None:
        return ()
    catalogue, block = world.setting.catalogue, slot.block
    if (named := catalogue.find(block.action_id)) is not None:
        return (possible_one(world.setting, snapshot, named.id, block.facility_id),)
    if block.facility_id is None or at_home(world.setting, block, snapshot.home):
        return ()
    tags = world.map.facility(block.facility_id).tags
    actions = (a for a in catalogue.actions if a.where is Where.FACILITY and a.tags & tags)
    return tuple(possible_one(world.setting, snapshot, action.id, block.facility_id) for action in actions)


def homeward(world: WorldView, snapshot: Snapshot, slot: DaySlot | None) -> tuple[Option, ...]:
    """The way home, if the character should be at home by its day and is elsewhere."""
    if slot is None or snapshot.node_id == snapshot.home:
        return ()
    if not at_home(world.setting, slot.block, snapshot.home):
        return ()
    try:
        walk = world.setting.routes.minutes(snapshot.node_id, snapshot.home)
    except Unreachable:
        return ()
    minutes = min(max(1, slot.until - snapshot.time - walk), LONGEST_WAIT)
    return (Option(action_id=WAIT, node_id=snapshot.home, walk_minutes=walk, minutes=minutes),)


def obstacle(world: WorldView, snapshot: Snapshot, slot: DaySlot | None) -> Refusal | None:
    """Why the current block cannot take place at all; None when it can, or is the night's sleep at another hour."""
    if slot is not None and any(a.ends_day and a.id == slot.block.action_id for a in world.setting.catalogue.actions):
        return None
    own = planned(world, snapshot, slot)
    if any(isinstance(one, Option) for one in own):
        return None
    return next((one for one in own if isinstance(one, Refusal) and one.reason in _BROKEN), None)


def _few(options: tuple[Option, ...], own: set[Option], left: int, urgent: set[str]) -> list[Option]:
    """Each action in one place only, the nearest, or where the block wants it; the nearest few to talk to; waiting. Of
    too many the farthest go, the `urgent` actions last.
    """
    talks = sorted((o for o in options if o.action_id == TALK), key=attrgetter("walk_minutes"))[:MAX_PARTNERS]
    done, kept = {option.action_id for option in own}, []
    for option in options:
        if option in talks or (
            option.action_id != TALK and (option.facility_id is None or option.action_id not in done)
        ):
            done.add(option.action_id)
            kept.append(option)
    near = {
        option
        for option in sorted(kept, key=lambda o: (o.action_id not in urgent, o.walk_minutes))[: left - 1]
        if option.action_id != WAIT
    }
    return [option for option in kept if option in near or option.action_id == WAIT]


def _patient(option: Option, slot: DaySlot | None, snapshot: Snapshot) -> Option:
    """Waiting as it is offered: until the next block, within bounds."""
    if option.action_id != WAIT or slot is None:
        return option
    return replace(option, minutes=min(max(option.minutes, slot.until - snapshot.time), LONGEST_WAIT))


MAX_REFUSALS = 4
_LONGEST, _LONGEST_JA = 100, 50
"""Letters of a summary or a memory that a decision is told."""
_UNTOLD = (Reason.BUSY, Reason.TOO_MUCH)

_STOPS, _STOPS_JA = re.compile(r'[.?!]"?(?=\s)'), re.compile("[。?!]")


def minute_of(clock: str) -> int:
    """The minute of the day of ``06:30``."""
    return int(clock[:2]) * MINUTES_PER_HOUR + int(clock[3:])


def clock_of(t: WorldTime) -> str:
    """``06:30`` for a world time."""
    return clock(minute_of_day(t))


def action_name(world: WorldView, action_id: str) -> str:
    """The author's name of an action, or of what is built in; the id of an action the author has taken away."""
    if action_id in BUILT_IN:
        return world.say(f"decision.actions.{action_id}")
    return next((action.name for action in world.setting.catalogue.actions if action.id == action_id), action_id)


def in_short(text: str, language: Language) -> str:
    """The text if it is short, else its first sentences that are, else its beginning."""
    longest, stops = (_LONGEST_JA, _STOPS_JA) if language == "ja" else (_LONGEST, _STOPS)
    if len(text) <= longest:
        return text
    wholes = (text[: found.end()] for found in stops.finditer(text[:longest]))
    whole = [one for one in wholes if one.count("「") == one.count("」") and one.count('"') % 2 == 0]
    return whole[-1].strip() if whole else f"{text[: longest - 1].rstrip()}…"


def offer_line(world: WorldView, option: Option, *, doing: str = "", talked: int = 0, table: str = "") -> str:
    """``Work: Shionoyu Inn (5+60; Money +80, Energy -12)``: the way and the time in minutes, and the effects on the
    character. A talk has what the other is `doing`, and how often the two have `talked` today; a talk that is joined
    has the names at the `table`.
    """
    if table:
        joins = world.say("decision.join", names=table)
        return world.say("common.aside", what=joins, inside=_times(world, option)) if option.walk_minutes else joins
    both = option.walk_minutes and option.minutes
    about = [world.say("decision.times_in_short", **_minutes(option)) if both else _times(world, option)]
    if doing:
        about.append(world.say("decision.now_doing", doing=doing))
    if talked:
        about.append(world.say("decision.talked_today", count=talked))
    if option.action_id not in BUILT_IN:
        about.append(gains_line(world, world.setting.catalogue.action(option.action_id)))
    return _with(world, option, world.say("common.semicolon").join(filter(None, about)))


def keeping_line(world: WorldView, one: Commitment, option: Option, person_id: str) -> str:
    """``Keep the promise: meet Taro at the cedar hill, 17:00 (walk 12, 5 min)``."""
    key = "decision.keep_own" if one.by_id == person_id else "decision.keep_others"
    at = one.appointment
    assert at is not None and one.node_id is not None  # noqa: S101, PT018  only appointments are offered
    what = world.say(key, name=world.name_of(one.other(person_id)), place=world.map.label(one.node_id), at=clock_of(at))
    return world.say("common.aside", what=what, inside=_times(world, option))


def option_line(world: WorldView, option: Option) -> str:
    """``Work: Shionoyu Inn (walk 5, 60 min)``."""
    return _with(world, option, _times(world, option))


def gains_line(world: WorldView, action: ActionDef) -> str:
    """``Money -300, Satiety +40``: what it costs and brings, in points of needs, over the whole of it."""
    gained = {
        need: action.effects.get(need.id, 0) - action.cost.get(need.id, 0) for need in world.setting.catalogue.needs.all
    }
    told = (f"{need.name or need.id} {round(points):+d}" for need, points in gained.items() if round(points))
    return Listed(told).of(world.language)


def _with(world: WorldView, option: Option, told: str) -> str:
    name, where = action_name(world, option.action_id), _where(world, option)
    what = f"{name}: {where}" if where else name
    return world.say("common.aside", what=what, inside=told) if told else what


def _times(world: WorldView, option: Option) -> str:
    """``walk 5, 60 min``."""
    if option.minutes:
        key = "decision.walk_and_minutes" if option.walk_minutes else "decision.minutes"
        return world.say(key, **_minutes(option))
    return world.say("decision.walk", **_minutes(option)) if option.walk_minutes else ""


def _minutes(option: Option) -> dict[str, int]:
    return {"walk": option.walk_minutes, "minutes": option.minutes}


def refusal_lines(world: WorldView, refusals: Iterable[Refusal]) -> tuple[str, ...]:
    """What is not possible and why, refusals of one reason on one line, in their order.

    The list of people says who is busy, and actions that the character does not need are left out.
    """
    return tuple(
        f"{Listed(subjects).of(world.language)}: {reason}" for reason, subjects in _by_reason(world, refusals).items()
    )


def told_refusals(world: WorldView, refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """The refusals that `refusal_lines` tells, one for each line and subject."""
    return tuple(one for subjects in _by_reason(world, refusals).values() for one in subjects.values())


def _by_reason(world: WorldView, refusals: Iterable[Refusal]) -> dict[str, dict[str, Refusal]]:
    """What is told, by its reason and its subject, as they read."""
    found: dict[str, dict[str, Refusal]] = {}
    for refusal in refusals:
        if refusal.reason not in _UNTOLD:
            found.setdefault(why(world, refusal), {}).setdefault(_subject(world, refusal), refusal)
    return dict(islice(found.items(), MAX_REFUSALS))


def why(world: WorldView, refusal: Refusal) -> str:
    """The reason in words."""
    facts = dict(refusal.facts)
    if "need_id" in facts:
        facts["need"] = need_name(world, str(facts["need_id"]))
    for key in ("has", "needs"):
        if key in facts:
            facts[key] = round(float(facts[key]))
    return world.say(f"decision.why.{refusal.reason}", **facts)


def failed_line(world: WorldView, failed: Refusal) -> str:
    """What was chosen in vain, and why."""
    place = world.map.facilities.get(failed.facility_id or "")
    where = world.name_of(failed.target_id) if failed.target_id else place.name if place else ""
    what = action_name(world, failed.action_id)
    told = f"{what}: {where}" if where else what
    # Without the figures: they were those of another moment.
    return world.say("decision.failed", what=told, reason=Phrase(f"web.why_{failed.reason}"))


def ended_line(world: WorldView, snapshot: Snapshot) -> str:
    """What has just ended, and why."""
    need = world.say("common.and").join(need_name(world, need_id) for need_id in snapshot.critical)
    because = Because(snapshot.because) if need or snapshot.because != Because.NEED else Because.DONE
    if snapshot.ended == HOLD and because is Because.ROUSED:
        return world.say("decision.ended.roused_standing")
    return world.say(f"decision.ended.{because}", what=action_name(world, snapshot.ended), need=need)


def need_name(world: WorldView, need_id: str) -> str:
    """What the author calls a need."""
    return next((need.name or need.id for need in world.setting.catalogue.needs.all if need.id == need_id), need_id)


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
    return name if place is None else world.say("common.aside", what=name, inside=place.name)


def told_block(block: RoutineBlock) -> DayBlock:
    """A block of the day as events and clients are told of it."""
    return DayBlock(
        starts=clock(block.starts),
        activity=block.activity,
        facility_id=block.facility_id,
        action_id=block.action_id,
    )
