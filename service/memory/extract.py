"""Owns the one model call of a closing: the scene it is given, the prompt, and which ids its short refs stand for."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from service.cast.relation import mood_of, npc_row
from service.cast.stage import World
from service.errors import ModelBroken
from service.llm.chat import Answer, ChatModel, Message, Prompt
from service.llm.prompt import Templates
from service.memory.graph import Recalled
from service.memory.recall import RecentMemory
from service.memory.recollection import ClosingScene, KnownFact, Recollection, SpokenLine
from service.store.tables import ConversationRow, NpcFactRow, TurnRow
from world.time import WorldTime, clock_label, iso

_templates = Templates(__file__)

MAX_TOKENS = 3000


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A closing's question: the scene, and the ids behind the refs of learned NPC facts and of memories."""

    scene: ClosingScene
    npc_fact_ids: dict[str, str]
    memory_ids: dict[str, str]


def learned_facts(session: Session, world_id: str, npc_id: str, *, history: bool = False) -> list[NpcFactRow]:
    """What the NPC told about itself so far, oldest first; with `history` the closed ones too."""
    query = select(NpcFactRow).where(NpcFactRow.world_id == world_id, NpcFactRow.npc_id == npc_id)
    if not history:
        query = query.where(col(NpcFactRow.invalid_at).is_(None))
    return list(session.exec(query.order_by(col(NpcFactRow.valid_at), col(NpcFactRow.id))))


def prepare(
    session: Session,
    world: World,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    recent: RecentMemory,
    memories: Sequence[Recalled],
    *,
    mood_cools_hours: int,
) -> Extraction:
    """Gather what the extraction may draw on: what was known when the two parted, however late the closing is."""
    npc = world.npc(conversation.npc_id)
    now = WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)
    learned = [row for row in learned_facts(session, world.id, npc.id) if row.valid_at <= now]
    memories = [memory for memory in memories if memory.fact.created_at <= now]
    authored = [KnownFact(ref=f"n{i}", statement=fact, authored=True) for i, fact in enumerate(npc.facts, 1)]
    own = [KnownFact(ref=f"n{i}", statement=row.statement) for i, row in enumerate(learned, len(authored) + 1)]
    known = [KnownFact(ref=f"m{i}", statement=m.fact.statement) for i, m in enumerate(memories, 1)]
    scene = ClosingScene(
        language=world.language,
        character_id=conversation.character_id,
        character_name=world.name_of(conversation.character_id),
        npc_id=npc.id,
        npc_name=npc.name,
        now=f"{clock_label(now, world.language)} ({iso(now)[:10]})",
        goal=conversation.goal or "",
        goal_achieved=conversation.goal_achieved,
        affinity=recent.relation.affinity,
        mood=mood_of(npc_row(session, world, npc), now, mood_cools_hours),
        npc_facts=(*authored, *own),
        memories=tuple(known),
        lines=tuple(
            # On one line each: nobody forges the other's line by a line break in his own.
            SpokenLine(turn=t.turn, speaker_id=t.speaker_id, speaker_name=t.speaker_name, text=" ".join(t.text.split()))
            for t in turns
        ),
    )
    return Extraction(
        scene=scene,
        npc_fact_ids={fact.ref: row.id for fact, row in zip(own, learned, strict=True)},
        memory_ids={fact.ref: m.fact.id for fact, m in zip(known, memories, strict=True)},
    )


def closing_prompt(scene: ClosingScene) -> Prompt[Recollection]:
    """The question as it is sent."""
    return Prompt(
        name="closing",
        role="closing",
        language=scene.language,
        messages=(
            Message(role="system", content=_templates.render("closing", "system", scene.language, scene)),
            Message(role="user", content=_templates.render("closing", "user", scene.language, scene)),
        ),
        answer=Recollection,
        given=scene,
        max_tokens=MAX_TOKENS,
    )


async def extract(model: ChatModel, scene: ClosingScene) -> Answer[Recollection]:
    """Ask.

    Raises:
        ModelError: also when the summary, which everything later starts from, is blank.
    """
    answer = await model.complete(closing_prompt(scene))
    if not answer.value.summary.strip():
        broken = ModelBroken(model=answer.model, reason="the summary is blank")
        broken.calls = answer.usage.calls
        broken.prompt_tokens, broken.completion_tokens = answer.usage.prompt_tokens, answer.usage.completion_tokens
        raise broken
    return answer
