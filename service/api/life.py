"""Owns how people live at the world's clock, as the API shows it. The core may be ahead of the clock: nothing here
is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field
from sqlmodel import Session, col, select

from service.api.dependencies import Out, WorldTimeText
from service.decision.options import action_name, told_block
from service.decision.situation import AGENT_STATE, AgentState
from service.people.person import STORED_TALK, levels_of, read_person
from service.people.worlds import WorldView
from service.runtime.world_session import how_of
from service.store.event_kinds import DayBlock, Decided
from service.store.events import told_to
from service.store.phase import Audience
from service.store.tables import ConversationRow, EventRow, ParticipantRow, PersonRow, TalkRow, engaged_in
from world.actions import HOLD, TALK, Option
from world.life import Person
from world.needs import Need
from world.time import WorldTime

How = Literal["model", "routine", "client"]


class ActingOut(Out, of=Option, shows="action_id facility_id"):
    """An action, and where it is done."""


class NeedOut(Out, of=Need, shows="name lowest highest critical"):
    """A character's level of a need now, between `lowest` and `highest`. At `critical` or below it is urgent."""

    id: str = Field(description="id of the need in actions.json")
    level: float = Field(description="how full it is now")


class ActivityOut(ActingOut):
    """What a character does now."""

    name: str = Field(description="as the author calls it, in the world's language")
    node_id: str = Field(description="the node where it is done")
    since: WorldTimeText = Field(description="the world time at which it began")
    until: WorldTimeText | None = Field(
        description="the world time at which it is done; null: nobody knows, as in a talk"
    )
    talking_in: str | None = Field(description="id of the conversation")


class LifeOut(Out):
    """How a character lives, at the world's clock."""

    decision: How = Field(description="how it decides now: a model is asked, by routine, or a client says")
    needs: list[NeedOut] = Field(description="its needs and their levels now")
    activity: ActivityOut | None = Field(description="null: it decides next")
    thought: str = Field(description="what it thought when it last decided; empty while a client decides")
    plan: list[DayBlock] = Field(description="what it means to do today; empty: its routine is the plan")
    routine: list[DayBlock] = Field(description="what it does on any day, as its author wrote")
    items: list[str] = Field(description="things it carries, in words")


@dataclass(frozen=True, kw_only=True)
class LifeStates:
    """Everybody's life as the store has it. `talking`: the conversation each is in at the clock, NPCs included."""

    world: WorldView
    people: Mapping[str, Person]
    agent_states: Mapping[str, AgentState]
    rows: Mapping[str, PersonRow]
    talking: Mapping[str, str]
    models_missing: bool

    def activity(self, character_id: str) -> ActivityOut | None:
        """What the character does; None: it decides next, or has not lived yet."""
        person = self.people.get(character_id)
        if person is None:
            return None
        doing = person.during(self.world.now)
        if self.world.now >= doing.end and doing.talk_id is None:
            return None
        conversation_id = self.talking.get(character_id)
        if doing.talk_id is None and conversation_id is not None:  # a client's talk: to the core it stands
            doing = replace(doing, action_id=TALK)
        elif doing.talk_id is not None and conversation_id is None:
            return None
        lasts = doing.action_id in (TALK, HOLD)
        return ActivityOut.of(
            doing,
            name=action_name(self.world, doing.action_id),
            since=doing.start,
            until=None if lasts else doing.end,
            talking_in=conversation_id,
        )

    def needs(self, character_id: str) -> list[NeedOut]:
        """Its levels; of who has not lived yet, those it would begin with."""
        world, needs = self.world, self.world.setting.catalogue.needs
        person = self.people.get(character_id)
        levels = levels_of(world, character_id, person)
        now = needs.at(levels, max(world.now, levels.since))
        return [NeedOut.of(need, name=need.name or need.id, level=round(now[need.id], 2)) for need in needs.all]

    def life(self, session: Session, character_id: str) -> LifeOut:
        """Raises: NotFound."""
        profile = self.world.cast.character(character_id)
        agent_state = self.agent_states.get(character_id, AgentState())
        row = self.rows.get(character_id)
        decision = how_of(self.world, character_id, row.decision if row else None, models_missing=self.models_missing)
        return LifeOut(
            decision=decision,
            needs=self.needs(character_id),
            activity=self.activity(character_id),
            thought="" if decision == "client" else self._thought(session, character_id, agent_state),
            plan=[told_block(block) for block in agent_state.plan] if agent_state.plan_day == self.world.day else [],
            routine=[told_block(block) for block in profile.routine],
            items=list(row.items) if row else [],
        )

    def _thought(self, session: Session, character_id: str, agent_state: AgentState) -> str:
        if agent_state.decided_at is None or agent_state.decided_at <= self.world.now:
            return agent_state.thought
        told = select(EventRow).where(
            *told_to(Audience.WORLD, self.world.id),
            EventRow.person_id == character_id,
            EventRow.kind == Decided.kind,
        )
        last = session.exec(told.order_by(col(EventRow.id).desc()).limit(1)).first()
        return (Decided.model_validate(last.data).thought or "") if last else ""


def life_states(session: Session, world: WorldView, *, models_missing: bool, only: str | None = None) -> LifeStates:
    """Read from the store: everybody's, or only that character's (`talking` is everybody's all the same)."""
    needs = world.setting.catalogue.needs
    query = select(PersonRow).where(PersonRow.world_id == world.id)
    if only is not None:
        query = query.where(PersonRow.person_id == only)
    rows = session.exec(query).all()
    return LifeStates(
        world=world,
        people={row.person_id: read_person(row.life, needs) for row in rows if row.life is not None},
        agent_states={
            row.person_id: AGENT_STATE.validate_python(row.agent_state) for row in rows if row.agent_state is not None
        },
        rows={row.person_id: row for row in rows},
        talking=talking_in(session, world),
        models_missing=models_missing,
    )


def talking_in(session: Session, world: WorldView) -> dict[str, str]:
    """The conversation each person is in at the world's clock."""
    held = select(ParticipantRow.person_id, ParticipantRow.conversation_id).where(
        *engaged_in(world.id),
        ConversationRow.world_id == world.id,
        ConversationRow.id == ParticipantRow.conversation_id,
        ConversationRow.started_at <= world.now,
    )
    found = dict(session.exec(held).all())
    for row in session.exec(select(TalkRow).where(TalkRow.world_id == world.id)):
        talk = STORED_TALK.validate_python(row.talk)
        there = (i for i in talk.members_before(WorldTime(world.now + 1)) if talk.takes(i, world.now))
        found |= dict.fromkeys(there, row.conversation_id)  # its words may all be spoken, ahead of the clock
    return found
