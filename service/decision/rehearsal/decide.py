"""Owns the rehearsed decision: needs that press, the night, a talk now and then, what the day says, a quiet while."""

import random
from collections.abc import Mapping

from service.decision.rehearsal.errand import errand
from service.decision.scene import Decision, DecisionScene, Offer, PlanLine
from service.locales import Language
from service.people.needs import FeltNeed
from world.actions import TALK, WAIT

_NEAR = 3
"""Minutes somebody walks to talk to a person."""
_SOCIAL = 0.5
"""How often it talks when it can."""
_LOW = 0.35
"""Of a need's range: below, it is cared for when what helps is near."""
_SHORT_WAY = 8
_SMALL = 20
_EVENING = "21:30"
_MORNING = "05:00"

_THOUGHTS: Mapping[Language, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "need": ("First things first: {need}.", "I should see to it: {need}."),
        "night": ("It has been a long day. To bed.", "Time to sleep."),
        "talk": ("There is {name}. A word would be nice.", "I would like to talk with {name}."),
        "day": ("On with the day: {activity}.", "As planned: {activity}."),
        "quiet": ("A quiet moment.", "I shall take it slowly for a while."),
    },
    "ja": {
        "need": ("まずは{need}を何とかしよう。", "{need}のことを考えないと。"),
        "night": ("長い一日だった。もう寝よう。", "そろそろ眠る時間だ。"),
        "talk": ("{name}がいる。声をかけてみよう。", "{name}と少し話したい。"),
        "day": ("予定どおりに。{activity}。", "さて、{activity}。"),
        "quiet": ("少し静かに過ごそう。", "しばらくゆっくりしよう。"),
    },
}


def decide(scene: DecisionScene, rng: random.Random) -> Decision:
    """A believable choice; the same scene and generator state make the same one."""
    line = next((line for line in scene.day if line.is_current), None)
    activity = line.activity.rstrip("。.") if line else ""
    pressing = _pressing(scene)
    if pressing is not None:
        return _decision(scene, pressing, "need", rng, need=_name(scene, pressing.helps))
    night = _night(scene, line)
    if night is not None:
        return _decision(scene, night, "night", rng)
    partner = _partner(scene, rng)
    if partner is not None:
        return _talk(scene, partner, rng)
    low = _low(scene)
    if low is not None:
        return _decision(scene, low, "need", rng, need=_name(scene, low.helps))
    planned = _planned(scene)
    if planned:
        return _decision(scene, rng.choice(planned), "day", rng, activity=activity or "…")
    return _decision(scene, _quiet(scene, rng), "quiet", rng)


def _pressing(scene: DecisionScene) -> Offer | None:
    """What helps a critical need soonest."""
    for need in scene.needs:
        if need.is_critical and (found := _helping(scene, need)):
            return found[0]
    return None


def _low(scene: DecisionScene) -> Offer | None:
    """What helps a low need and is near; talking is left to chance."""
    for need in scene.needs:
        share = (need.level - need.lowest) / max(1, need.highest - need.lowest)
        if need.can_be_critical and share < _LOW:
            near = [offer for offer in _helping(scene, need) if offer.option.walk_minutes <= _SHORT_WAY]
            if near and not near[0].is_night:
                return near[0]
    return None


def _helping(scene: DecisionScene, need: FeltNeed) -> list[Offer]:
    """The offers for that need, what the day wants first, then by the way there; the night's sleep last."""
    offers = [offer for offer in scene.offers if offer.helps == need.need_id]
    return sorted(offers, key=lambda o: (o.is_night, not o.is_planned, o.option.walk_minutes, o.number))


def _night(scene: DecisionScene, line: PlanLine | None) -> Offer | None:
    hour = scene.at
    late = hour >= _EVENING or hour < _MORNING
    last = bool(scene.day) and scene.day[-1].is_current
    at_home = line is None or line.facility_id is None or last
    return next((o for o in scene.offers if o.is_night), None) if late and at_home else None


def _partner(scene: DecisionScene, rng: random.Random) -> Offer | None:
    """Somebody free and near with whom it has not talked today, about every second time."""
    if scene.at < _MORNING:
        return None
    met = {talk.partner_id for talk in scene.today}
    talks = [offer for offer in scene.offers if offer.option.action_id == TALK]
    near = [o for o in talks if o.option.walk_minutes <= _NEAR and o.option.target_id not in met]
    return rng.choice(near) if near and rng.random() < _SOCIAL else None


def _planned(scene: DecisionScene) -> list[Offer]:
    """What the day's block wants and is of use now: who has eaten does not eat again."""
    well = {need.need_id for need in scene.needs if need.can_be_critical and need.level > 0.7 * need.highest}
    planned = [offer for offer in scene.offers if offer.is_planned and not offer.is_night]
    return [o for o in planned if o.helps not in well and not _was_enough(scene, o)]


def _was_enough(scene: DecisionScene, offer: Offer) -> bool:
    """Whether it has just done this, and it is a small thing that nobody does over and over."""
    return offer.option.action_id == scene.ended_id and 0 < offer.option.minutes <= _SMALL


def _quiet(scene: DecisionScene, rng: random.Random) -> Offer:
    """Waiting, or something small near by."""
    small = [
        offer
        for offer in scene.offers
        if offer.option.action_id != TALK and not offer.is_night and offer.option.walk_minutes <= _NEAR and offer.helps
    ]
    waiting = [offer for offer in scene.offers if offer.option.action_id == WAIT]
    return rng.choice(small) if small and rng.random() < 0.4 else (waiting or list(scene.offers))[-1]


def _talk(scene: DecisionScene, offer: Offer, rng: random.Random) -> Decision:
    wanted = errand(scene, offer.partner_name, rng)
    thought = rng.choice(_THOUGHTS[scene.language]["talk"]).format(name=offer.partner_name)
    return Decision(
        thought=thought[:200],
        choice=offer.number,
        target=offer.partner_name[:80],
        goal=wanted.goal,
        success_criteria=wanted.success_criteria,
    )


def _decision(scene: DecisionScene, offer: Offer, kind: str, rng: random.Random, **facts: str) -> Decision:
    thought = rng.choice(_THOUGHTS[scene.language][kind]).format(**facts)
    return Decision(thought=thought[:200], choice=offer.number, target="", goal="", success_criteria="")


def _name(scene: DecisionScene, need_id: str) -> str:
    return next(need.name for need in scene.needs if need.need_id == need_id)
