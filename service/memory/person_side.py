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
from service.memory.store import Episode, FactDraft, Group, Remember, fact_id
from service.memory.validate import ValidClaim, ValidExtraction, ValidSide
from service.people.attitude import felt_moods, stance, sum_of
from service.people.commitments import around
from service.people.commitments import expires_at as commitment_expires
from service.people.place_names import node_named
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.ids import derived_id
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
    """A person's side of a conversation: what of the whole extraction may be stored, and which part of it is its own.

    `turns` are those of the conversation by number; `at` is when they parted.
    """

    question: ClosingQuestion
    extraction: ValidExtraction
    valid: ValidSide
    partner_id: str
    turns: Mapping[int, TurnRow]
    at: WorldTime

    @property
    def person_id(self) -> str:
        """Who remembers."""
        return self.valid.participant.person_id


@dataclass(frozen=True, kw_only=True)
class SideChanges:
    """What the conversation changed for one person: for people to see, and the rows that say so."""

    affinity: dict[str, int]
    mood: dict[str, str]
    stance: str
    attitude: dict[str, int]
    self_facts: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    mid_term: list[MidTermRow]
    promised: list[CommitmentRow]
    rows: Sequence[SQLModel]


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
        summary=side.extraction.summary,
        topics=side.extraction.topics,
        at=side.at,
    )
    facts = [
        fact_draft(
            fact,
            fact_id(side.person_id, conversation.id, index),
            WorldTime(side.turns[fact.claim.turn].at),
            side.question.memory_ids.__getitem__,
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
    attitude, affinity = _attitude(world, conversation, side, before)
    judged = sum_of([*before.judged_in(conversation.id, side.person_id), attitude])
    felt, mood = _mood(world, conversation, side, before, settings.mood_cools_hours)
    told = new_self_facts(
        [row for row in before.told if row.person_id == side.person_id],
        side.person_id,
        side.valid.self_facts,
        side.turns,
        side.question.self_fact_ids,
        side.question.context.names,
    )
    promised = _commitments(world, conversation, side)
    return SideChanges(
        affinity=affinity,
        mood=mood,
        stance=stance(judged, world.language),
        attitude={str(name): degree for name, degree in judged.judged.items()},
        self_facts=[{"id": row.id, "statement": row.words, "turn": row.turn} for row in told],
        facts=[
            {"id": fact.id, "statement": fact.statement if fact.held else fact.words, "turn": fact.turn}
            for fact in facts
            if fact.retells is None
        ],
        mid_term=_mid_term(world, conversation, side),
        promised=promised,
        rows=[attitude, felt, *told, *promised],
    )


def _attitude(
    world: WorldView, conversation: ConversationRow, side: PersonSide, before: Before
) -> tuple[AttitudeChangeRow, dict[str, int]]:
    """A closing may be late, and another one of the same two done meanwhile: affinity moves by what this talk did."""
    pair, judged = (side.person_id, side.partner_id), side.valid.attitude
    change = AttitudeChangeRow(
        world_id=conversation.world_id,
        owner_id=side.person_id,
        other_id=side.partner_id,
        id=conversation.id,
        at=side.at,
        conversation_id=conversation.id,
        affinity_delta=side.valid.moved,
        met=True,
        **(judged.model_dump() if judged else {}),
    )
    after = replace(before, attitudes=[*before.attitudes, change])
    return change, {
        "before": before.attitude(*pair, side.at).affinity,
        "after": after.attitude(*pair, side.at).affinity,
    }


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
            partner_id=side.partner_id,
            conversation_id=conversation.id,
        )
        for index, draft in enumerate(side.valid.mid_term)
    ]


def _commitments(world: WorldView, conversation: ConversationRow, side: PersonSide) -> list[CommitmentRow]:
    """A promise to somebody whom the answer does not name is one to the partner."""
    people = {one.ref: one.person_id for one in side.question.context.participants if one.person_id != side.person_id}
    rows = []
    for index, promise in enumerate(side.valid.commitments):
        to_id = people.get(promise.to, side.partner_id)
        place, node_id = _place(world, conversation, promise.place, (side.person_id, to_id))
        made_at = WorldTime(side.turns[promise.turn].at)
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
    lines = () if side.valid.participant.is_player else side.question.context.lines
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
        )
        for index, line in enumerate((line for line in lines if line.did), number)
    ]


def fact_draft(fact: ValidClaim[Claim], draft_id: str, at: WorldTime, id_of: Callable[[str], str]) -> FactDraft:
    """A claim that may be stored, true from `at` on; `id_of` says which memory a ref stands for."""
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
        turn=claim.turn,
        valid_at=at,
        replaces=tuple(map(id_of, fact.replaces)),
        retells=None if fact.retells is None else id_of(fact.retells),
    )
