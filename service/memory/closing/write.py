"""Owns the last step of a closing, its one transaction: all that those who took part take away, or nothing; and what is
told of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field
from sqlmodel import Session, select

from service.memory.authoring import memory_id
from service.memory.closing.ask import Before, ClosingQuestion, parted_at, read_before
from service.memory.closing.check import CheckedClosing, CheckedSide, Rejected
from service.memory.memory_store import MemoryStore
from service.memory.mind import REFLECTS_AT, MidTerm, begin_reflections, tell_over
from service.memory.record import (
    ANYBODY,
    Embedded,
    Episode,
    Group,
    Kind,
    Memory,
    Source,
    Support,
    derived_memory_id,
    row_of,
)
from service.memory.telling import told_of
from service.people.attitude import felt_moods, stance, sum_of
from service.people.commitment import around, node_named
from service.people.commitments import PromiseTold, settle_told
from service.people.worlds import WorldView, count_people_revision
from service.settings import MemorySettings
from service.store.event_kinds import FactRejected
from service.store.events import publish
from service.store.insert import insert_rows
from service.store.perception import known_late
from service.store.shown import Out
from service.store.tables import AttitudeChangeRow, ConversationRow, MoodRow, SummaryRow, TurnRow, said_in
from world.time import WorldTime


class BeforeAfter(Out):
    """A number or word before and after."""

    before: int | str = Field(description="as it was before the conversation")
    after: int | str = Field(description="as it is after the conversation")


class KeptFact(Out):
    """A fact that was stored, with the turn it was said in."""

    id: str = Field(description="id of the fact in the long-term memory")
    statement: str = Field(description="the fact, as a sentence")
    line: str = Field(description="as the person is told of it, with who told it: true whatever is the case")
    turn: int = Field(description="the turn it was said in, counted from 0")


class AttitudeDegrees(Out):
    """How one stands to the other, each -3 to 3."""

    power: int = Field(description="-3: submits, 3: has the say")
    intimacy: int = Field(description="-3: closed, 3: as close as can be")
    task_oriented: int = Field(description="-3: company alone, 3: the matter at hand alone")


class TowardsChanges(Out):
    """What a conversation has changed about how one who took part stands to another."""

    affinity: BeforeAfter = Field(description="how much it likes that one, -100..100")
    stance: str = Field(
        description="how it stands to that one from now on, in a sentence said to it; empty: nothing stands out"
    )
    attitude: AttitudeDegrees | None = Field(
        default=None, description="the same in numbers; null: they were not judged"
    )

    @property
    def degrees(self) -> dict[str, int]:
        """How it stands to that one now, in numbers."""
        return {"affinity": int(self.affinity.after), **(self.attitude.model_dump() if self.attitude else {})}


NOTHING_CHANGED = TowardsChanges(affinity=BeforeAfter(before=0, after=0), stance="", attitude=None)
"""Between two who were never there together."""


class TakenAway(Out):
    """What one of more than two takes away: of what it perceived alone."""

    summary: str = Field(description="the conversation in a few sentences, as the person remembers it")
    topics: list[str] = Field(description="what was talked about, a few words each")
    facts: list[KeptFact] = Field(description="what it now remembers")
    mid_term: list[MidTerm] = Field(description="what is on its mind for the next days")
    rejected: list[Rejected] = Field(description="what the model wanted it to remember and was kept out, and why")
    mood: BeforeAfter = Field(description="the mood of whose it is; in a talk of two the partner's")
    learned_facts: list[KeptFact] = Field(
        description="what was told about oneself that was not known as a fact; in a talk of two by the partner"
    )
    towards: dict[str, TowardsChanges] = Field(description="how it stands to each it was there with, by person id")

    def stands_to(self, other_id: str) -> TowardsChanges:
        """What has changed about how it stands to that one."""
        return self.towards.get(other_id, NOTHING_CHANGED)


class PartnerChanges(TowardsChanges, of=TakenAway, shows="summary topics facts mid_term rejected"):
    """What a talk of two has changed for one of them; `affinity` is the other's towards it."""


class Changes(PartnerChanges, of=TakenAway, shows="mood learned_facts"):
    """What a closed conversation has changed. Between two characters it is the one's who began; `partner` the
    other's. Of more than two, that is the one with whom it shared most of it, and `people` has everybody's.
    """

    partner: PartnerChanges | None = Field(
        default=None, description="what it changed for the partner where that is a character; null: it is an NPC"
    )
    people: dict[str, TakenAway] | None = Field(
        default=None, description="of more than two: what each takes away, by person id; null: they were two"
    )


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """What one of them took away: its side, since when, with whom most, and what it changed."""

    side: CheckedSide
    at: WorldTime
    partner_id: str
    others: tuple[str, ...]
    memories: tuple[Memory, ...]
    is_private: bool

    @property
    def kept_from(self) -> list[str]:
        """The ids of those who must hear nothing of the talk."""
        return [ANYBODY] if self.is_private else _kept_from(self.memories)

    @property
    def person_id(self) -> str:
        return self.side.participant.person_id


def write_closing(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    question: ClosingQuestion,
    checked: CheckedClosing,
    settings: MemorySettings,
    memory: MemoryStore,
    embedded: Embedded,
    now: WorldTime,
) -> tuple[Changes, dict[str, TakenAway]]:
    """Write what everybody who took part takes away, when the world's clock shows `now`; the caller commits. Answers
    what it changed, for people to see, and what each takes away, by person id.
    """
    taken = [_taken(world, conversation, question, side) for side in checked.sides]
    # Memories are locked in one order, so that nobody waits for somebody who waits for it; then all is read anew.
    for one in sorted(taken, key=lambda one: one.person_id):
        _remember(session, conversation, one, memory, embedded, now)
    before = read_before(session, world, conversation, mood_cools_hours=settings.mood_cools_hours)
    felt = {one.person_id: _felt(world, conversation, one, before, settings) for one in taken}
    insert_rows(session, (row for _, rows in felt.values() for row in rows))
    begin_reflections(session, world, {one.person_id: one.at for one in taken}, least_importance=REFLECTS_AT)
    promised = [replace(one, node_id=_node(world, conversation, one)) for one in checked.promises]
    late = {one.person_id: known_late(conversation, one.person_id) or WorldTime(0) for one in taken}
    said_at = {line.turn: line.at for line in question.context.lines}
    settle_told(
        session,
        world,
        conversation,
        promised,
        parted_at(world, conversation),
        lambda one: max(said_at[one.turn], *(late.get(i, WorldTime(0)) for i in (one.by_id, one.to_id))),
    )
    between = [memory for one in taken for memory in one.memories if memory.kept_from]
    is_private = any(one.is_private for one in taken)
    if checked.not_to_quote or between or is_private:
        for turn in session.exec(select(TurnRow).where(*said_in(conversation.key))):
            turn.not_to_quote = turn.not_to_quote or turn.turn in checked.not_to_quote
            kept_from = _kept_from(memory for memory in between if turn.turn in memory.turns)
            turn.kept_from = [ANYBODY] if is_private else kept_from
    if any(memory.source is Source.GOAL for one in taken for memory in one.memories):
        count_people_revision(session, world.id)
    _tell_rejected(session, world, conversation, taken[::-1])
    told = {person_id: away for person_id, (away, _) in felt.items()}
    first, second = taken[0].person_id, taken[0].partner_id
    changes = Changes.of(
        told[first],
        **_between(told, first, second, checked),
        mood=told[second].mood,
        learned_facts=told[second].learned_facts,
        partner=PartnerChanges.of(told[second], **_between(told, second, first, checked)),
        people=told if len(conversation.participants) > 2 else None,
    )
    return changes, told


def _taken(world: WorldView, conversation: ConversationRow, question: ClosingQuestion, side: CheckedSide) -> _Taken:
    context, who = question.context, side.participant
    partner = context.partner_of(who)
    at = question.known_from[who.person_id]
    seen = () if who.is_player else context.shared(who.person_id).values()
    done = [line for line in seen if line.did]
    is_private = world.settings.player_talks == "private" and any(one.is_player for one in context.participants)
    told = side.memories
    if is_private:
        told = tuple(replace(one, kept_from=(ANYBODY,), partner_id=one.partner_id or partner.person_id) for one in told)
    return _Taken(
        side=side,
        at=at,
        partner_id=partner.person_id,
        others=tuple(other.person_id for other, _ in context.others_of(who) if other is not partner),
        is_private=is_private,
        memories=(
            *told,
            *(  # What the game did for one of them, and confirmed: no model judges that. A player keeps nothing of it.
                Memory(
                    id=derived_memory_id(who.person_id, conversation.id, -number),
                    kind=Kind.OBSERVED,
                    text=line.did,
                    about=line.speaker_name,
                    subject_id=line.speaker_id,
                    support=Support.PERCEIVED,
                    source=Source.OBSERVATION,
                    conversation_id=conversation.id,
                    turns=(line.turn,),
                    partner_id=partner.person_id if line.speaker_id == who.person_id else line.speaker_id,
                    valid_from=line.at,
                    known_from=at,
                )
                for number, line in enumerate(done, 1)
            ),
        ),
    )


def _remember(
    session: Session,
    conversation: ConversationRow,
    one: _Taken,
    memory: MemoryStore,
    embedded: Embedded,
    now: WorldTime,
) -> None:
    """Write what the person remembers; its memory is locked from now on."""
    group, side = Group(world_id=conversation.world_id, person_id=one.person_id), one.side
    episode = Episode(
        conversation_id=conversation.id,
        partner_id=one.partner_id,
        text=side.summary,
        topics=side.topics,
        at=one.at,
        others=one.others,
        support=side.support,
        kept_from=tuple(one.kept_from),
    )
    revision = memory.remember(session, group, one.memories, embedded, episode)
    tell_over(session, (row_of(group, each, revision) for each in one.memories), now)
    session.add(
        SummaryRow(
            **group.whose,
            conversation_id=conversation.id,
            partner_id=one.partner_id,
            summary=side.summary,
            topics=list(side.topics),
            at=one.at,
            night=conversation.participants[conversation.seat_of(one.person_id)].night,
            importance=side.importance,
            others=list(one.others),
            kept_from=list(episode.kept_from),
            support=side.support,
            revision=revision,
        )
    )


def _kept_from(memories: Iterable[Memory]) -> list[str]:
    """The ids of those from whom any of these memories is kept."""
    return sorted({person_id for one in memories for person_id in one.kept_from})


def _node(world: WorldView, conversation: ConversationRow, one: PromiseTold) -> str | None:
    """Where the promise is to be kept on the map; None: nowhere. An NPC stays at its post."""
    facility = world.map.facilities.get(one.place)
    node_id = facility.node_ids[0] if facility else node_named(world.map, one.place)
    posts = [world.map.posts[i] for i in (one.by_id, one.to_id) if i in world.map.posts]
    is_there = node_id is not None and all(node_id in around(world.setting, post) for post in posts)
    return node_id if is_there else None


def _felt(
    world: WorldView, conversation: ConversationRow, one: _Taken, before: Before, settings: MemorySettings
) -> tuple[TakenAway, list[AttitudeChangeRow | MoodRow]]:
    """What the person takes away, for people to see, and the rows that say how it feels now."""
    attitudes = [
        AttitudeChangeRow(
            world_id=conversation.world_id,
            owner_id=one.person_id,
            other_id=towards.other_id,
            id=conversation.id,
            at=one.at,
            conversation_id=conversation.id,
            # A closing may be late, and another one of the same two done meanwhile: it moves by what this talk did.
            affinity_delta=towards.moved,
            met=True,
            **(towards.attitude.model_dump() if towards.attitude else {}),
        )
        for towards in one.side.towards
    ]
    felt = MoodRow(
        world_id=world.id,
        person_id=one.person_id,
        id=conversation.id,
        at=one.at,
        mood=one.side.mood,
        conversation_id=conversation.id,
    )
    was, now = (
        felt_moods(changes, world.at(one.at), [one.person_id], settings.mood_cools_hours)[one.person_id]
        for changes in (before.moods, [*before.moods, felt])
    )
    away = TakenAway(
        summary=one.side.summary,
        topics=list(one.side.topics),
        facts=[*_told(world, one, Kind.FACT), *_told(world, one, Kind.OBSERVED)],
        mid_term=[
            MidTerm.model_validate(
                {
                    "content": each.text,
                    "importance": each.level,
                    "expires_at": each.expires_at,
                    "created_at": each.known_from,
                    "partner_id": each.partner_id,
                }
            )
            for each in one.memories
            if each.expires_at is not None
        ],
        rejected=list(one.side.rejected),
        mood=BeforeAfter(before=was, after=now),
        learned_facts=_told(world, one, Kind.SELF),
        towards={change.other_id: _changed(world, change, before) for change in attitudes},
    )
    return away, [*attitudes, felt]


def _changed(world: WorldView, change: AttitudeChangeRow, before: Before) -> TowardsChanges:
    pair, at = (change.owner_id, change.other_id), WorldTime(change.at)
    after = replace(before, attitudes=[*before.attitudes, change])
    judged = sum_of([*before.judged_in(change.id, *pair), change])
    now = after.attitude(*pair, at).affinity
    return TowardsChanges(
        affinity=BeforeAfter(before=before.attitude(*pair, at).affinity, after=now),
        stance=stance(replace(judged, affinity=now), world.name_of(change.other_id), world.language),
        attitude=AttitudeDegrees(**judged.judged) if judged.judged else None,
    )


def _tell_rejected(session: Session, world: WorldView, conversation: ConversationRow, taken: Sequence[_Taken]) -> None:
    """Say of each statement that was kept out why. The log names whose memory it would have been; of a talk of two with
    an NPC, the NPC.
    """
    told: Counter[str] = Counter()
    for one in taken:
        with_npc = len(taken) == 2 and one.partner_id in world.cast.npcs
        person_id = one.partner_id if with_npc else one.person_id
        for rejected in one.side.rejected:
            event = FactRejected(
                conversation_id=conversation.id,
                statement=rejected.statement,
                turn=rejected.turn,
                reason=rejected.reason,
            )
            publish(session, conversation, one.at, event, person_id, index=told[person_id])
            told[person_id] += 1


def _between(told: Mapping[str, TakenAway], person_id: str, partner_id: str, checked: CheckedClosing) -> dict[str, Any]:
    """What the talk did between two, as the person sees it: how it stands to the partner, and the partner likes it."""
    own, partner = told[person_id], told[partner_id]
    stands = own.stands_to(partner_id)
    return {
        "affinity": partner.stands_to(person_id).affinity,
        "stance": stands.stance,
        "attitude": stands.attitude,
        "rejected": [*checked.rejected, *own.rejected],
    }


def _told(world: WorldView, own: _Taken, kind: Kind) -> list[KeptFact]:
    return [
        KeptFact(id=memory_id(one), statement=one.text, line=told_of(world, one, own.person_id), turn=one.turn)
        for one in own.memories
        if one.kind is kind
    ]
