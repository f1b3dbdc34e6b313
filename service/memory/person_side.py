"""Owns what one person takes away from a conversation: its summary, attitude and mood, what it told and what it knows
now, what it promised and what is on its mind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, SQLModel

from service.memory.extract import Before, ClosingQuestion
from service.memory.extraction import Claim
from service.memory.mid_term import expires_at
from service.memory.self_facts import new_self_facts
from service.memory.record import Episode, FactDraft, Group, Remember, fact_id
from service.memory.validate import ValidClaim, ValidSide, ValidTowards
from service.people.agenda import around
from service.people.agenda import expires_at as commitment_expires
from service.people.attitude import felt_moods, stance, sum_of
from service.people.place_names import node_named
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.ids import derived_id
from service.store.perceived import known_late
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    MidTermRow,
    MoodRow,
    SummaryRow,
    TurnRow,
)
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class PersonSide:
    """A person's side of a conversation: what of the whole extraction is its own. `partner_id` is with whom it had most
    to do, `others` are the rest of those it was there with.

    `turns` are those of the conversation by number; from `at` on it knows what it takes away.
    """

    question: ClosingQuestion
    valid: ValidSide
    partner_id: str
    others: tuple[str, ...]
    turns: Mapping[int, TurnRow]
    at: WorldTime

    @property
    def person_id(self) -> str:
        """Who remembers."""
        return self.valid.participant.person_id


@dataclass(frozen=True, kw_only=True)
class TowardsChanges:
    """How one stands to another: affinity before and after, and what else is judged, in words and in numbers."""

    affinity: dict[str, int]
    stance: str
    attitude: dict[str, int]


NOTHING_CHANGED = TowardsChanges(affinity={"before": 0, "after": 0}, stance="", attitude={})
"""Between two who were never there together."""


@dataclass(frozen=True, kw_only=True)
class SideChanges:
    """What the conversation changed for one person: for people to see, and the rows that say so. `towards` is how it
    stands now to each it was there with, by id.
    """

    towards: dict[str, TowardsChanges]
    mood: dict[str, str]
    self_facts: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    mid_term: list[MidTermRow]
    promised: list[CommitmentRow]
    rows: Sequence[SQLModel]

    def to(self, other_id: str) -> TowardsChanges:
        """What it changed towards that one."""
        return self.towards.get(other_id, NOTHING_CHANGED)


def remember_side(
    session: Session, conversation: ConversationRow, side: PersonSide, remember: Remember
) -> tuple[SummaryRow, list[FactDraft]]:
    """Write the facts that the person takes away; its memory is locked from now on. Answers the summary's row, which is
    to be inserted, and the facts.
    """
    group = Group(world_id=conversation.world_id, person_id=side.person_id)
    episode = Episode(
        conversation_id=conversation.id,
        partner_id=side.partner_id,
        summary=side.valid.summary,
        topics=side.valid.topics,
        at=side.at,
        others=side.others,
    )
    facts = [
        fact_draft(
            fact,
            fact_id(side.person_id, conversation.id, index),
            WorldTime(side.turns[fact.claim.turn].at),
            side.question.memory_ids.__getitem__,
            side.valid.partners[fact.claim.turn],
        )
        for index, fact in enumerate(side.valid.facts)
    ]
    facts += _seen_done(side, len(facts))
    summary = SummaryRow(
        **group.whose,
        conversation_id=conversation.id,
        partner_id=episode.partner_id,
        summary=episode.summary,
        topics=list(episode.topics),
        at=side.at,
        night=conversation.participants[conversation.seat_of(side.person_id)].night,
        importance=sum(fact.importance for fact in facts if fact.retells is None),
        others=list(side.others),
        revision=remember(session, group, episode, facts),
    )
    return summary, facts


def side_changes(
    world: WorldView,
    conversation: ConversationRow,
    side: PersonSide,
    before: Before,
    facts: Sequence[FactDraft],
    settings: MemorySettings,
) -> SideChanges:
    """What else the person takes away, beside what was there before. What it has told about itself closes what it
    replaces; nothing else is written yet.
    """
    attitudes = [_attitude(conversation, side, towards) for towards in side.valid.towards]
    felt, mood = _mood(world, conversation, side, before, settings.mood_cools_hours)
    told = new_self_facts(
        [row for row in before.told if row.person_id == side.person_id],
        side.person_id,
        side.valid.self_facts,
        side.turns,
        side.question.self_fact_ids,
        side.question.context.names,
        known_late(conversation, side.person_id),
    )
    promised = _commitments(world, conversation, side)
    return SideChanges(
        towards={change.other_id: _changed(world, change, before) for change in attitudes},
        mood=mood,
        self_facts=[{"id": row.id, "statement": row.words, "turn": row.turn} for row in told],
        facts=[
            {"id": fact.id, "statement": fact.statement if fact.held else fact.words, "turn": fact.turn}
            for fact in facts
            if fact.retells is None
        ],
        mid_term=_mid_term(world, conversation, side),
        promised=promised,
        rows=[*attitudes, felt, *told, *promised],
    )


def _attitude(conversation: ConversationRow, side: PersonSide, towards: ValidTowards) -> AttitudeChangeRow:
    """A closing may be late, and another one of the same two done meanwhile: affinity moves by what this talk did."""
    return AttitudeChangeRow(
        world_id=conversation.world_id,
        owner_id=side.person_id,
        other_id=towards.other_id,
        id=conversation.id,
        at=side.at,
        conversation_id=conversation.id,
        affinity_delta=towards.moved,
        met=True,
        **(towards.attitude.model_dump() if towards.attitude else {}),
    )


def _changed(world: WorldView, change: AttitudeChangeRow, before: Before) -> TowardsChanges:
    pair, at = (change.owner_id, change.other_id), WorldTime(change.at)
    after = replace(before, attitudes=[*before.attitudes, change])
    judged = sum_of([*before.judged_in(change.id, *pair), change])
    return TowardsChanges(
        affinity={"before": before.attitude(*pair, at).affinity, "after": after.attitude(*pair, at).affinity},
        stance=stance(judged, world.language),
        attitude={str(name): degree for name, degree in judged.judged.items()},
    )


def _mood(
    world: WorldView, conversation: ConversationRow, side: PersonSide, before: Before, cools_hours: int
) -> tuple[MoodRow, dict[str, str]]:
    felt = MoodRow(
        world_id=world.id,
        person_id=side.person_id,
        id=conversation.id,
        at=side.at,
        mood=side.valid.mood,
        conversation_id=conversation.id,
    )
    moods = (
        felt_moods(changes, world.at(side.at), [side.person_id], cools_hours)[side.person_id]
        for changes in (before.moods, [*before.moods, felt])
    )
    return felt, dict(zip(("before", "after"), moods, strict=True))


def _mid_term(world: WorldView, conversation: ConversationRow, side: PersonSide) -> list[MidTermRow]:
    return [
        MidTermRow(
            world_id=world.id,
            person_id=side.person_id,
            id=derived_id(conversation.id, side.person_id, "mid_term", index),
            content=draft.words,
            importance=draft.importance,
            created_at=side.at,
            expires_at=expires_at(draft.importance, side.at, day_starts=world.settings.day_starts_minutes),
            partner_id=side.valid.partners[draft.turn] or None,
            conversation_id=conversation.id,
        )
        for index, draft in enumerate(side.valid.mid_term)
    ]


def _commitments(world: WorldView, conversation: ConversationRow, side: PersonSide) -> list[CommitmentRow]:
    people = {one.ref: one.person_id for one in side.question.context.participants}
    rows = []
    for index, promise in enumerate(side.valid.commitments):
        to_id = people[promise.to]
        place, node_id = _place(world, conversation, promise.place, (side.person_id, to_id))
        late = (known_late(conversation, one) for one in (side.person_id, to_id))
        made_at = max([WorldTime(side.turns[promise.turn].at), *(at for at in late if at is not None)])
        is_appointment = promise.is_firm and promise.has_hour and node_id is not None
        row = CommitmentRow(
            world_id=conversation.world_id,
            id=derived_id(conversation.id, side.person_id, "commitment", index),
            by_id=side.person_id,
            to_id=to_id,
            what=promise.what,
            words=promise.words,
            place=place,
            node_id=node_id,
            due_at=promise.due_at,
            has_hour=promise.has_hour,
            is_firm=promise.is_firm,
            conversation_id=conversation.id,
            turn=promise.turn,
            made_at=made_at,
            expires_at=commitment_expires(made_at, promise.due_at, is_appointment=is_appointment),
        )
        rows.append(row)
    return rows


def _place(
    world: WorldView, conversation: ConversationRow, said: str, people: tuple[str, str]
) -> tuple[str, str | None]:
    """The place as it was said, and where it is on the map. An NPC goes nowhere: what it promises of another place is
    no place, and nobody meets it there.
    """
    node_id = node_named(world.map, said, conversation.node_id)
    posts = [world.map.posts[person_id] for person_id in people if person_id in world.map.posts]
    if node_id is not None and all(node_id in around(world.setting, post) for post in posts):
        return said, node_id
    return ("" if people[0] in world.map.posts else said), None


def _seen_done(side: PersonSide, number: int) -> list[FactDraft]:
    """What the game did for one of them, and confirmed: no model judges that. A player keeps nothing of it. So many
    facts were taken from the words.
    """
    seen = () if side.valid.participant.is_player else side.question.context.shared(side.person_id).values()
    return [
        FactDraft(
            id=fact_id(side.person_id, side.turns[line.turn].conversation_id, index),
            subject=line.speaker_name,
            relation="did",
            object=line.did,
            statement=line.did,
            turn=line.turn,
            valid_at=line.at,
            held=True,
            people=(line.speaker_id,),
            partner_id=side.valid.partners[line.turn],
        )
        for index, line in enumerate((line for line in seen if line.did), number)
    ]


def fact_draft(
    fact: ValidClaim[Claim], draft_id: str, at: WorldTime, id_of: Callable[[str], str], partner_id: str | None
) -> FactDraft:
    """A claim that may be stored, true from `at` on; `id_of` says which memory a ref stands for, `partner_id` with whom
    it had to do then.
    """
    claim = fact.claim
    return FactDraft(
        id=draft_id,
        subject=claim.subject,
        relation=claim.relation,
        object=claim.object,
        statement=fact.statement,
        words=fact.words,
        mode=fact.mode,
        importance=claim.importance,
        held=fact.held,
        chain=fact.chain,
        people=fact.people,
        turn=claim.turn,
        valid_at=at,
        replaces=tuple(map(id_of, fact.replaces)),
        retells=None if fact.retells is None else id_of(fact.retells),
        partner_id=partner_id,
    )
