"""Owns examples of what prompts are made from: one that says all there is to say, and others that say hardly
anything.
"""

from typing import Any

from pydantic import create_model

from service.content.game_actions import GameAction
from service.content.profile import CharacterProfile, LifeGoal, Mood, NpcProfile, RoutineBlock
from service.conversation.aside import AsideContext
from service.conversation.attitude import AttitudeContext, Questions
from service.conversation.context import Goal, LastMeeting, Line, Outcome, PromptContext
from service.decision.context import (
    DecisionContext,
    Offer,
    Other,
    PastTalk,
    PlanAction,
    PlanContext,
    PlanLine,
    PlanPlace,
)
from service.locales import Language, languages
from service.memory.extraction import ClosingContext, KnownFact, Participant, SpokenLine
from service.memory.reflect import Evidence, ReflectionContext
from service.people.attitude import STRANGERS, Attitude
from service.people.needs import FeltNeed
from service.store.phase import CallState
from world.option import Option
from world.places import ALWAYS_OPEN
from world.time import WorldTime

_NEED = FeltNeed(
    need_id="energy", name="Energy", level=9, lowest=0, highest=100, is_critical=True, can_be_critical=True
)
_NPC = NpcProfile(id="taro", name="Taro", personality="Quiet.")
_CHARACTER = CharacterProfile(
    id="aoi",
    name="Aoi",
    personality="Curious.",
    tendencies=("Hums.",),
    custom_prompt="Speaks softly.",
    facts=("Aoi has a sister.",),
    lines=("Good morning!", "Is that so?"),
    home="home",
    goals=(LifeGoal(goal="See the sea."),),
    routine=(RoutineBlock(starts=420, activity="wakes"),),
)
_BARE = CharacterProfile(id="aoi", name="Aoi", personality="Curious.", home="home")
_SAID = (Line(turn=0, speaker_id="aoi", speaker_name="Aoi", text="Hello."),)
_LANGUAGE: Language = languages()[0]


def _context(**told: Any) -> PromptContext:
    common: dict[str, Any] = {
        "language": _LANGUAGE,
        "partner_id": "taro",
        "partner_name": "Taro",
        "place": "Square",
        "now": "7:05",
    }
    return PromptContext(**{**common, **told})


_WAVE = GameAction(
    id="wave",
    description="wave a hand",
    arguments=create_model("wave"),
    who=frozenset(),
    affinity=None,
    item="",
    flags={},
    nodes=frozenset(),
    maps=frozenset(),
    confirm=False,
    cooldown_minutes=0,
    await_result=False,
)

_FULL: dict[str, Any] = {
    "notices": ("A feast.",),
    "told": ("Rain.",),
    "lore": ("The bell is old.",),
    "told_now": ("hp: 3",),
    "last_meeting": LastMeeting(summary="They spoke.", ago="yesterday"),
    "times_met": 2,
    "acquainted": True,
    "stance": "fond",
    "learned": ("Aoi likes tea.",),
    "known": ("Taro has a boat.",),
    "heard": ("The bell is cracked.",),
    "mid_term": ("A promise.",),
    "today": ("Mio: they spoke.",),
    "items": ("a letter",),
    "needs": (_NEED,),
    "doing": "Work",
    "unsettled": _SAID,
    "unsettled_ago": "just now",
    "said_today": ("Hello.",),
    "said_before": ("Hello.",),
    "lines": _SAID,
    "clock": "7:30",
    "news": ("A feast.",),
    "actions": (_WAVE,),
    "can_do": (_WAVE,),
    "outcomes": tuple(Outcome(what="wave", state=state, message="Seen.") for state in CallState),
}
_GOAL = Goal(goal="Ask after the boat", success_criteria="Any news")
_WAKING: dict[str, Any] = {"language": _LANGUAGE, "now": "7:05", "at": "07:05", "place": "Square"}
_DAY = (PlanLine(at="07:00", activity="wakes", facility_id="inn", place="Inn", action_id="work", is_current=True),)
_MORE: dict[str, Any] = {
    "speaker": _CHARACTER,
    "needs": (_NEED,),
    "notices": ("A feast.",),
    "day": _DAY,
    "items": ("a letter",),
    "today": tuple(PastTalk(partner_id="taro", partner_name="Taro", summary="They spoke.") for _ in range(6)),
    "mid_term": ("A promise.",),
    "wrong_answer": "{}",
    "fault": "no such option.",
}
_DOING = PlanAction(action_id="work", name="Work", minutes=60, gains="Money +80")
_OFFERS = (
    Offer(number=1, option=Option(action_id="wait", node_id="square"), text="Wait", is_planned=True, helps="energy"),
)

_ENDINGS: tuple[tuple[str, bool, Mood], ...] = (("Ask after the boat", True, "happy"), ("", False, "angry"))

SPEAKER = (
    _context(speaker=_CHARACTER, begins=True, goal=_GOAL, nudge="repeated", mood="angry", **_FULL),
    _context(speaker=_BARE, begins=True, sets_goal=True),
    _context(speaker=_NPC, begins=False, nudge="broke_character", mood="happy"),
    _context(speaker=_NPC, begins=False, nudge="go_on"),
    _context(speaker=_NPC, begins=False, turns_left=1),
)
ATTITUDE = (
    AttitudeContext(
        language=_LANGUAGE,
        speaker=_CHARACTER,
        partner_name="Taro",
        attitude=Attitude(power=1, intimacy=0, task_oriented=-2),
        lines=_SAID,
        questions=Questions(power="Who led?", intimacy="Who confided?", task_oriented="What was it about?"),
        evidence=(("power", ("(yesterday) Taro: Carry my nets!",)),),
    ),
    AttitudeContext(language=_LANGUAGE, speaker=_BARE, partner_name="Taro", attitude=STRANGERS, lines=_SAID),
)
ASIDE = tuple(
    AsideContext(language=_LANGUAGE, npc_name="Taro", player_name="Mio", asked="Write a title.", lines=lines)
    for lines in ((), (("Mio", "Hello."),))
)
CLOSING = [
    ClosingContext(
        language=_LANGUAGE,
        participants=(
            Participant(
                ref="a",
                person_id="aoi",
                name="Aoi",
                affinity=3,
                mood=mood,
                facts=(KnownFact(ref="af1", statement="Aoi has a sister.", authored=True),),
                memories=(KnownFact(ref="am1", statement="Taro has a boat."),),
            ),
            Participant(ref="b", person_id="taro", name="Taro", affinity=0, mood="neutral"),
        ),
        now="7:05",
        goal=goal,
        goal_achieved=achieved,
        lines=(SpokenLine(turn=0, speaker_id="aoi", speaker_name="Aoi", text="Hello.", at=WorldTime(0)),),
    )
    for goal, achieved, mood in _ENDINGS
]
REFLECTION = [
    ReflectionContext(
        language=_LANGUAGE,
        person_id="aoi",
        name="Aoi",
        now="22:10",
        evidence=(Evidence(ref="e1", text="Taro told Aoi of his boat.", source="talk:a", partner_id="taro"),),
        thoughts=thoughts,
    )
    for thoughts in ((), ("Taro is fond of his boat.",))
]
DECIDE = (
    DecisionContext(
        **{**_WAKING, **_MORE},
        ended="Work: done.",
        ended_id="work",
        others=(
            Other(id="taro", name="Taro", minutes=2, doing="Work", talks_with="", is_free=True),
            Other(id="mio", name="Mio", minutes=3, doing="", talks_with="Taro", is_free=False),
        ),
        remembered=("Taro has a boat.",),
        offers=_OFFERS,
        refusals=("Inn: closed",),
    ),
    DecisionContext(**_WAKING, speaker=_BARE, needs=(), ended="", ended_id="", offers=_OFFERS),
)
PLAN = (
    PlanContext(
        **{**_WAKING, **_MORE},
        places=(
            PlanPlace(
                number=1,
                facility_id="inn",
                name="Inn",
                minutes=5,
                open=ALWAYS_OPEN,
                actions=(_DOING,),
                people=("Taro",),
            ),
        ),
        at_home=(_DOING,),
        broken="Inn: closed.",
    ),
    PlanContext(**_WAKING, speaker=_BARE, needs=(), places=(), at_home=()),
)
