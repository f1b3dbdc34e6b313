"""Owns the one model call of a closing: the scene it is given, the prompt, and which ids its short refs stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session

from service.errors import ModelBroken
from service.llm.chat import Answer, ChatModel, Message, Prompt
from service.llm.prompt import Templates
from service.memory.recall import CharacterMemory, RecentMemory
from service.memory.recollection import (
    ClosingScene,
    KnownFact,
    PairRecollection,
    PairScene,
    Party,
    Recollection,
    SpokenLine,
)
from service.memory.self_facts import self_facts
from service.memory.store import Recalled
from service.people.attitude import mood
from service.people.worlds import WorldView
from service.store.tables import ConversationRow, TurnRow
from world.time import WorldTime, iso

_templates = Templates(__file__)

MAX_TOKENS = 3000

RecollectionT = TypeVar("RecollectionT", Recollection, PairRecollection)


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A closing's question: the scene, and the ids behind the refs of learned NPC facts and of memories."""

    scene: ClosingScene
    npc_fact_ids: dict[str, str]
    memory_ids: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PairExtraction:
    """The question of a closing of two characters: the scene, and the ids behind each one's refs of memories."""

    scene: PairScene
    memory_ids: tuple[dict[str, str], dict[str, str]]

    def views(self) -> tuple[Extraction, Extraction]:
        """The question as the first, and as the second would have it."""
        first, second = (
            Extraction(scene=seen, npc_fact_ids={}, memory_ids=ids)
            for seen, ids in zip(self.scene.views(), self.memory_ids, strict=True)
        )
        return first, second


def prepare(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    recent: RecentMemory,
    memories: Sequence[Recalled],
    *,
    mood_cools_hours: int,
) -> Extraction:
    """Gather what the extraction may draw on: what was known when the two parted, however late the closing is."""
    npc = world.npc(conversation.npc_id)
    now = _parted(world, conversation)
    learned = [row for row in self_facts(session, world.id, npc.id) if row.valid_at <= now]
    memories = _known_by(memories, now)
    authored = [KnownFact(ref=f"n{i}", statement=fact, authored=True) for i, fact in enumerate(npc.facts, 1)]
    own = [KnownFact(ref=f"n{i}", statement=row.statement) for i, row in enumerate(learned, len(authored) + 1)]
    known = [KnownFact(ref=f"m{i}", statement=m.fact.statement) for i, m in enumerate(memories, 1)]
    scene = ClosingScene(
        language=world.language,
        character_id=conversation.character_id,
        character_name=world.name_of(conversation.character_id),
        npc_id=npc.id,
        npc_name=npc.name,
        now=_when(world, now),
        goal=conversation.goal or "",
        goal_achieved=conversation.goal_achieved,
        affinity=recent.partners.affinity,
        mood=mood(session, world.at(now), npc.id, mood_cools_hours),
        npc_facts=(*authored, *own),
        memories=tuple(known),
        lines=_lines(turns),
    )
    return Extraction(
        scene=scene,
        npc_fact_ids={fact.ref: row.id for fact, row in zip(own, learned, strict=True)},
        memory_ids={fact.ref: m.fact.id for fact, m in zip(known, memories, strict=True)},
    )


def prepare_pair(
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    first: CharacterMemory,
    second: CharacterMemory,
) -> PairExtraction:
    """Gather what the extraction of two characters' talk may draw on.

    Raises:
        NotFound: the content no longer has one of them.
    """
    now = _parted(world, conversation)
    one, one_ids = _party(world, conversation.character_id, first, first.recent.attitude.affinity, now, "a")
    other, other_ids = _party(world, conversation.npc_id, second, second.recent.attitude.affinity, now, "b")
    scene = PairScene(
        language=world.language,
        first=one,
        second=other,
        now=_when(world, now),
        goal=conversation.goal or "",
        goal_achieved=conversation.goal_achieved,
        lines=_lines(turns),
    )
    return PairExtraction(scene=scene, memory_ids=(one_ids, other_ids))


def closing_prompt(scene: ClosingScene) -> Prompt[Recollection]:
    """The question as it is sent."""
    return Prompt(
        name="closing",
        role="closing",
        language=scene.language,
        messages=_messages("closing", scene),
        answer=Recollection,
        given=scene,
        max_tokens=MAX_TOKENS,
    )


def pair_prompt(scene: PairScene) -> Prompt[PairRecollection]:
    """The question about two characters as it is sent."""
    return Prompt(
        name="closing_pair",
        role="closing",
        language=scene.language,
        messages=_messages("closing_pair", scene),
        answer=PairRecollection,
        given=scene,
        max_tokens=MAX_TOKENS,
    )


async def extract(model: ChatModel, prompt: Prompt[RecollectionT]) -> Answer[RecollectionT]:
    """Ask.

    Raises:
        ModelError: also when the summary, which everything later starts from, is blank.
    """
    answer = await model.complete(prompt)
    if not answer.value.summary.strip():
        broken = ModelBroken(model=answer.model, reason="the summary is blank")
        broken.calls = answer.usage.calls
        broken.prompt_tokens, broken.completion_tokens = answer.usage.prompt_tokens, answer.usage.completion_tokens
        raise broken
    return answer


def _party(
    world: WorldView, person_id: str, memory: CharacterMemory, affinity: int, now: WorldTime, mark: str
) -> tuple[Party, dict[str, str]]:
    """One of the two, and the ids behind its refs, which begin with `mark`."""
    profile = world.character(person_id)
    known = {f"{mark}{i}": found.fact for i, found in enumerate(_known_by(memory.facts, now), 1)}
    party = Party(
        person_id=person_id,
        name=profile.name,
        facts=profile.facts,
        affinity=affinity,
        memories=tuple(KnownFact(ref=ref, statement=fact.statement) for ref, fact in known.items()),
    )
    return party, {ref: fact.id for ref, fact in known.items()}


def _known_by(memories: Sequence[Recalled], now: WorldTime) -> list[Recalled]:
    return [memory for memory in memories if memory.fact.created_at <= now]


def _parted(world: WorldView, conversation: ConversationRow) -> WorldTime:
    return WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)


def _when(world: WorldView, now: WorldTime) -> str:
    return f"{world.at(now).circumstances} ({iso(now)[:10]})"


def _lines(turns: Sequence[TurnRow]) -> tuple[SpokenLine, ...]:
    """On one line each: nobody forges the other's line by a line break in his own."""
    return tuple(
        SpokenLine(turn=t.turn, speaker_id=t.speaker_id, speaker_name=t.speaker_name, text=" ".join(t.text.split()))
        for t in turns
    )


def _messages(template: str, scene: ClosingScene | PairScene) -> tuple[Message, ...]:
    return (
        Message(role="system", content=_templates.render(template, "system", scene.language, scene)),
        Message(role="user", content=_templates.render(template, "user", scene.language, scene)),
    )
