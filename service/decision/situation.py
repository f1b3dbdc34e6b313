"""Owns a character at the moment it decides: what it perceives and recalls, and what is on its mind from one decision
to the next, put into words for its prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from pydantic import TypeAdapter

from service.content.profile import CharacterProfile, RoutineBlock
from service.decision.context import (
    Decision,
    DecisionContext,
    ModelReply,
    Offer,
    Other,
    PastTalk,
    PlanAction,
    PlanContext,
    PlanLine,
    PlanPlace,
)
from service.decision.options import (
    Offered,
    action_name,
    clock_of,
    ended_line,
    failed_line,
    gains_line,
    in_short,
    keeping_line,
    offer_line,
    refusal_lines,
)
from service.decision.routine import DaySlot, day_blocks, helps, slot_at
from service.llm.choose import Models
from service.locales import Listed
from service.memory.memory_store import MemoryStore
from service.memory.mind import OnMind
from service.memory.recall import is_promise, recent_memory, remembered, talk_line
from service.memory.secrets import discretion
from service.memory.telling import MemoryKind, Told, ref, tell
from service.people.commitment import Commitment
from service.people.commitments import commitment_line
from service.people.person import felt_needs
from service.people.worlds import WorldView
from service.settings import Settings
from service.store.quality import CheckedAnswer
from service.store.session import Database
from service.store.tables import SummaryRow
from world.actions import BUILT_IN, WAIT, ActionDef, Option, Reason, Refusal, Where
from world.distance import FAR
from world.perception import Snapshot
from world.places import Facility
from world.time import WorldTime, clock


@dataclass(frozen=True, kw_only=True)
class LastAsked:
    """How things stood when its model was last asked, to tell whether anything is new.

    `block_since` is the world time its day's block began, `seen` are the ids of all in sight, `news` a digest of
    what is told to everybody and of what it carries. `action_id` and `facility_id` are what it does since, by that
    answer, or by going on: `continuations` times without a question.
    """

    action_id: str
    facility_id: str | None = None
    block_since: int | None = None
    seen: tuple[str, ...] = ()
    news: str = ""
    continuations: int = 0


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """What a character carries from one decision to the next.

    `goal` and `success_criteria` belong to the talk it is about to begin. `plan` is the plan of the world day
    `plan_day` (empty: its routine is the plan), revised `revisions` times. `failed` is what it last chose in vain,
    without the facts of that moment. `decided_at` is the world time of its last decision; `last_asked` is about the
    last one its model made (None: the model failed since).
    """

    thought: str = ""
    goal: str | None = None
    success_criteria: str | None = None
    plan: tuple[RoutineBlock, ...] = ()
    plan_day: int | None = None
    revisions: int = 0
    failed: Refusal | None = None
    decided_at: int | None = None
    last_asked: LastAsked | None = None


AGENT_STATE = TypeAdapter(AgentState)
"""How it is stored, without what says nothing."""


class DecisionQuality(Protocol):
    """Checks a decision before it counts (service/quality/checked.py)."""

    def wants(self, world_id: str, person_id: str, at: WorldTime) -> bool:
        """Whether that decision is checked: the same at every call."""

    async def best(
        self, situation: "Situation", context: DecisionContext, first: ModelReply[Decision]
    ) -> CheckedAnswer[ModelReply[Decision]]:
        """Returns the decision that counts: `first` if it passes, else the best attempt."""


@dataclass(frozen=True, kw_only=True)
class DecisionDependencies:
    """What a decision is made with."""

    settings: Settings
    database: Database
    memory: MemoryStore
    models: Models
    quality: DecisionQuality | None = None


MAX_REMEMBERED = 4
"""Memories that a decision is told; a talk is told more of them."""
REMEMBERED_TOKENS = 150
"""They take no more of its prompt, by `estimate_tokens`."""


MAX_PLACES = 14
"""Facilities a plan is offered: those of the routine, then the nearest."""
MAX_OTHERS = 8
"""People in sight that a prompt tells of: the nearest."""
MAX_PROMISES = 4
"""Promises that a prompt tells of: the soonest."""
_ASKED_ABOUT = 3
"""People in sight whom the long-term memory is asked about."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A character at the moment it decides: the world, what it perceives, what is on its mind, and what it `promised`
    and was promised.

    `mid_term` are its unexpired mid-term memories without promises, the most urgent last; `today` are the day's talks
    by conversation id, oldest first; `items` are what it carries.
    """

    world: WorldView
    snapshot: Snapshot
    agent_state: AgentState
    promised: tuple[Commitment, ...] = ()
    mid_term: tuple[OnMind, ...] = ()
    today: Mapping[str, PastTalk] = field(default_factory=dict)
    items: tuple[str, ...] = ()

    @property
    def speaker(self) -> CharacterProfile:
        """Raises: NotFound: the author has taken the character away."""
        return self.world.cast.character(self.snapshot.person_id)

    @property
    def thread(self) -> str:
        """Names the character among all worlds: its model calls are kept apart by it."""
        return f"{self.world.id}/{self.snapshot.person_id}"

    @cached_property
    def blocks(self) -> tuple[RoutineBlock, ...]:
        """The day's blocks: planned, else the routine's."""
        return day_blocks(self.world.setting, self.speaker, self.agent_state.plan)

    @cached_property
    def slot(self) -> DaySlot | None:
        """The block of now."""
        return slot_at(self.blocks, self.snapshot.time)

    def query(self) -> str:
        """What the long-term memory is asked: the current block, the place, who is nearest. It is short, because
        embedding costs by length at every decision.
        """
        near = sorted(self.snapshot.people, key=lambda seen: (seen.minutes, seen.id))
        parts = (
            self.slot.block.activity if self.slot else "",
            self.world.map.label(self.snapshot.node_id),
            *(self.world.name_of(seen.id) for seen in (*near, *self.snapshot.npcs)[:_ASKED_ABOUT]),
        )
        return " ".join(filter(None, parts))

    def memories(self) -> tuple[str, ...]:
        """References to what every prompt holds of its memory (memory/telling.py)."""
        return (
            *(ref(MemoryKind.TALK, conversation_id) for conversation_id in self.today),
            *(one.ref for one in self.mid_term),
            *(ref(MemoryKind.PROMISE, one.id) for one in self._promised()),
        )

    def decision(self, offered: Offered, remembered: tuple[str, ...]) -> DecisionContext:
        """The values of the prompt that asks for a decision."""
        ended = ended_line(self.world, self.snapshot)
        if self.agent_state.failed is not None:
            ended = failed_line(self.world, self.agent_state.failed)
        return DecisionContext(
            **self._shared(),
            ended=ended,
            ended_id=self.snapshot.ended,
            others=self._others(),
            remembered=remembered,
            offers=tuple(
                self._offer(number, *one)
                for number, one in enumerate(
                    (
                        *((one.option, False, one.commitment) for one in offered.keeping),
                        *((option, i < offered.planned, None) for i, option in enumerate(offered.options)),
                    ),
                    1,
                )
            ),
            # What the world has no place for needs not be said to who decides.
            refusals=refusal_lines(
                self.world, [one for one in offered.refusals if one.reason is not Reason.NO_FACILITY]
            ),
        )

    def planning(self, broken: str) -> PlanContext:
        """The values of the prompt that asks for a plan; `broken` says why the last one broke."""
        home = (a for a in self.world.setting.catalogue.actions if a.where is not Where.FACILITY)
        return PlanContext(
            **self._shared(),
            places=self._places(),
            at_home=tuple(map(self._plan_action, home)),
            broken=broken,
        )

    def _offer(self, number: int, option: Option, is_planned: bool, kept: Commitment | None) -> Offer:
        catalogue = self.world.setting.catalogue
        action = None if option.action_id in BUILT_IN else catalogue.action(option.action_id)
        seen = next((one for one in self.snapshot.people if one.id == option.target_id), None)
        doing = action_name(self.world, seen.doing) if seen and seen.doing and seen.doing != WAIT else ""
        talked = [talk.partner_id for talk in self.today.values()].count(option.target_id or "")
        table = self._names((seen.id, *seen.talks_with)) if option.talk_id and seen else ""
        return Offer(
            number=number,
            option=option,
            text=keeping_line(self.world, kept, option, self.snapshot.person_id)
            if kept
            else offer_line(self.world, option, doing=doing, talked=talked, table=table),
            partner_name=self.world.name_of(option.target_id) if option.target_id else "",
            is_planned=is_planned,
            helps=next((n.id for n in catalogue.needs.all if helps(action, n.id)), "") if action else "",
            is_night=action is not None and action.ends_day,
            keeps=kept.id if kept else "",
        )

    def _shared(self) -> dict[str, Any]:
        return {
            "language": self.world.language,
            "own_prompts": self.world.cast.own_prompts,
            "speaker": self.speaker,
            "now": self.world.sky,
            "notices": self.world.announced,
            "at": clock_of(self.snapshot.time),
            "place": self.world.map.label(self.snapshot.node_id),
            "needs": felt_needs(self.world, self.snapshot.levels, self.snapshot.critical),
            "day": self._day(),
            "items": self.items,
            "today": tuple(self.today.values()),
            "mid_term": (
                *(in_short(one.content, self.world.language) for one in self.mid_term),
                *(commitment_line(self.world, one, self.snapshot.person_id) for one in reversed(self._promised())),
            ),
        }

    def _promised(self) -> Sequence[Commitment]:
        """The soonest first, without those whose words would give a secret away."""
        kept = discretion(self.speaker)
        promised = [one for one in self.promised if one.is_open(self.snapshot.time)]
        return [one for one in promised if kept.lets(one.what)][:MAX_PROMISES]

    def _day(self) -> tuple[PlanLine, ...]:
        slot, facilities = self.slot, self.world.map.facilities
        return tuple(
            PlanLine(
                at=clock(block.starts),
                activity=block.activity,
                facility_id=block.facility_id,
                place=facilities[block.facility_id].name if block.facility_id else "",
                action_id=block.action_id,
                is_current=slot is not None and i == slot.index,
            )
            for i, block in enumerate(self.blocks)
        )

    def _others(self) -> tuple[Other, ...]:
        people = sorted(self.snapshot.people, key=lambda seen: (seen.minutes, seen.id))[:MAX_OTHERS]
        return tuple(
            Other(
                id=seen.id,
                name=self.world.name_of(seen.id),
                minutes=seen.minutes,
                doing=action_name(self.world, seen.doing) if seen.doing else "",
                talks_with=self._names(seen.talks_with),
                is_free=seen.approachable,
            )
            for seen in (*people, *self.snapshot.npcs)
        )

    def _names(self, people: Sequence[str]) -> str:
        return Listed(map(self.world.name_of, people)).of(self.world.language)

    def _places(self) -> tuple[PlanPlace, ...]:
        """Those of the routine first, then the nearest with something to do; numbered from 1. The facility that its
        home stands in is one where there is something to do but what is done at home.
        """
        facilities, home = self.world.map.facilities, self.snapshot.home
        usual = [b.facility_id for b in self.speaker.routine if b.facility_id in facilities and b.facility_id]
        lived_in = {i for i, one in facilities.items() if home in one.node_ids and not self._actions_at(one)}
        known = {i: facilities[i] for i in usual if i not in lived_in}
        near = sorted((self._minutes(place), place.id) for place in facilities.values())
        for minutes, place_id in near:
            place = facilities[place_id]
            if len(known) < MAX_PLACES and minutes < FAR and self._actions_at(place):
                known.setdefault(place_id, place)
        return tuple(
            PlanPlace(
                number=i,
                facility_id=place.id,
                name=place.name,
                minutes=self._minutes(place),
                open=place.hours,
                actions=self._actions_at(place),
                people=self._people_of(place),
            )
            for i, place in enumerate(known.values(), 1)
            if self._minutes(place) < FAR
        )

    def _minutes(self, place: Facility) -> int:
        distances = self.world.setting.distances
        return distances.to_facility(place.id)[distances.node_index(self.snapshot.node_id)]

    def _actions_at(self, place: Facility) -> tuple[PlanAction, ...]:
        return tuple(
            self._plan_action(action)
            for action in self.world.setting.catalogue.actions
            if action.where is Where.FACILITY and action.tags & place.tags
        )

    def _plan_action(self, action: ActionDef) -> PlanAction:
        return PlanAction(
            action_id=action.id,
            name=action.name or action.id,
            minutes=action.minutes,
            gains=gains_line(self.world, action),
            open=action.hours,
        )

    def _people_of(self, place: Facility) -> tuple[str, ...]:
        """Who stands there, or within a step of it."""
        here = self.world.map
        return tuple(
            self.world.name_of(npc_id)
            for npc_id, post in here.npc_nodes.items()
            if any(post == node_id or here.next_to(node_id, post) for node_id in place.node_ids)
        )


async def situation_of(
    deps: DecisionDependencies,
    world: WorldView,
    snapshot: Snapshot,
    agent_state: AgentState,
    promised: tuple[Commitment, ...],
) -> Situation:
    """The situation with what SQL holds of the character, in one read. What would give a secret away is left out:
    others see what is decided.
    """
    kept = discretion(world.cast.character(snapshot.person_id))
    found = await deps.database.read(lambda session: recent_memory(session, world, snapshot.person_id, None))

    def talked(one: SummaryRow) -> PastTalk:
        name = world.name_of(one.partner_id)
        told = talk_line(world, one).text if kept.lets_item(one) else f"{name}: …"
        return PastTalk(partner_id=one.partner_id, partner_name=name, told=in_short(told, world.language))

    return Situation(
        world=world,
        snapshot=snapshot,
        agent_state=agent_state,
        promised=promised,
        mid_term=tuple(one for one in found.mid_term if not is_promise(one) and kept.lets_item(one)),
        today={one.conversation_id: talked(one) for one in found.today},
        items=tuple(found.person.items),
    )


async def recalled(deps: DecisionDependencies, situation: Situation) -> Told:
    """What of the character's long-term memory bears on the situation; nothing while that memory is away.

    What comes from the day's talks is left out: their summaries are told; and so is what would give a secret away,
    which no decision needs.
    """
    world, character_id, limit = situation.world, situation.snapshot.person_id, deps.settings.memory.recall_limit
    found = await remembered(deps.memory, world, character_id, situation.query(), limit=2 * limit)
    known = discretion(situation.speaker).known(found, world)
    older = [one for one in known if one.memory.conversation_id not in situation.today]
    return tell(world, character_id, older[: min(limit, MAX_REMEMBERED)], tokens=REMEMBERED_TOKENS)
