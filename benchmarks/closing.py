"""Measures what a closed conversation costs the two ways into the graph: model calls, embedding calls, tokens, time.

The same scripted transcripts are closed with `ingestion: direct` and `ingestion: episode` on the same real Neo4j. The
model is a fake OpenAI-compatible server that waits 200 ms before each answer, and answers each of Graphiti's questions
with what the transcript holds: five entities and four facts, the facts new in each.
"""

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlmodel import Session

from benchmarks.neo4j import Neo4j, neo4j_server
from benchmarks.recall import TableEmbedder
from service.content.files import bundled_content
from service.content.load import load_content
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import Goal
from service.conversation.start import Start, start
from service.conversation.stream import Stream
from service.conversation.transcript import end
from service.llm.choose import ROLES, Models
from service.llm.openai import OpenAIChat
from service.memory.embedding.embedder import Vectors
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.episode import EpisodeReader, ExtractionModel
from service.memory.graphiti.projection import GraphitiProjection
from service.memory.memory_store import MemoryStore
from service.memory.record import Group
from service.people.person import move
from service.people.worlds import WorldRepository
from service.runtime.carried import Deliveries
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.jobs import JobKind
from service.store.phase import EndReason, Phase
from service.store.session import Database
from service.store.tables import ConversationKey, TurnRow
from tests.memory.answers import memory, plain
from tests.servers.fake_openai import FakeOpenAI, Reply
from tests.servers.neo4j import Neo4jServer
from world.life import Segment
from world.time import LATEST

LATENCY_SECONDS = 0.2
CONVERSATIONS = 5
MODEL = "fake"

_LINES = (
    ("aoi", "Good evening, Taro. I wanted to ask how your family is."),
    (
        "npc_taro",
        "My daughter Mio wants to leave for the city in {n} days, and my son Riku asks me for a boat of {n} feet.",
    ),
    ("aoi", "A boat? Would you build him one yourself?"),
    ("npc_taro", "If Shiho lets me fell {n} cedars on the hill. My wife Harue says no to {n} boats."),
    ("aoi", "Thank you for telling me. I will ask Shiho about the cedar."),
    ("npc_taro", "Would you? Then I owe you a bun from Harue's oven."),
)
_FACTS = (
    ("Taro", "has_daughter", "Mio", "Taro's daughter Mio wants to leave for the city in {n} days", 1),
    ("Taro", "has_son", "Riku", "Taro's son Riku asks him for a boat of {n} feet", 1),
    ("Taro", "needs", "Shiho", "Taro can build a boat if Shiho lets him fell {n} cedars", 3),
    ("Taro", "married_to", "Harue", "Taro's wife Harue says no to {n} boats", 3),
)
_ENTITIES = ("Taro", "Mio", "Riku", "Shiho", "Harue")


class CountingEmbedder(TableEmbedder):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    async def query(self, text: str) -> Vectors:
        """See TableEmbedder."""
        self.calls += 1
        return await super().query(text)

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """See TableEmbedder."""
        self.calls += 1
        return await super().passages(texts)


def run(*, conversations: int = CONVERSATIONS, on: Neo4j = neo4j_server) -> dict[str, float]:
    """Figures per closed conversation: ``direct_…`` and ``episode_…`` calls, embedding_calls, prompt_tokens, ms."""
    with on() as server:
        direct, episode = (asyncio.run(_measure(way, server, conversations)) for way in ("direct", "episode"))
        return {**direct, **episode}


async def _measure(ingestion: str, server: Neo4jServer, conversations: int) -> dict[str, float]:
    embedder = CountingEmbedder()
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(body)
        return _answer(body)

    with (
        FakeOpenAI(*[Reply(latency_seconds=LATENCY_SECONDS)] * 500, answer=answer) as fake,
        tempfile.TemporaryDirectory() as directory,
    ):
        deps = _deps(Path(directory), ingestion, server, embedder, fake.base_url)
        relay = Deliveries(deps)
        group = Group(world_id=ingestion, person_id="aoi")
        warm_up = await deps.database.write(lambda s: _talk(s, deps, ingestion, 2))
        await close(deps, ConversationKey(ingestion, warm_up))
        await relay.work(group.job(JobKind.DELIVERY))
        asked.clear()
        embedder.calls = 0
        spent = 0.0
        for n in range(3, conversations + 3):
            conversation_id = await deps.database.write(partial(_talk, deps=deps, world_id=ingestion, n=n))
            begun = time.perf_counter()
            row = await close(deps, ConversationKey(ingestion, conversation_id))
            await relay.work(group.job(JobKind.DELIVERY))
            spent += time.perf_counter() - begun
            if row.phase != Phase.CLOSED:
                raise RuntimeError(f"the closing failed: {row.failure}")
        remembered = await deps.memory.recall(group, "boat", at=LATEST, limit=20)
        if not remembered:
            raise RuntimeError("nothing was remembered")
        await deps.models.for_role("closing").aclose()
        await deps.memory.aclose()
        if deps.projection is not None:
            await deps.projection.aclose()
        deps.database.close()
    return {
        f"{ingestion}_calls": len(asked) / conversations,
        f"{ingestion}_embedding_calls": embedder.calls / conversations,
        f"{ingestion}_prompt_tokens": sum(_tokens(body) for body in asked) / conversations,
        f"{ingestion}_ms": spent / conversations * 1000,
    }


def _graph(ingestion: str, server: Neo4jServer, memory: MemoryStore, base_url: str) -> GraphitiProjection:
    connection = Neo4jConnection(server.uri, server.user, SecretStr(server.password), server.database)
    asked = ExtractionModel(model=MODEL, base_url=base_url, api_key=None)
    reader = EpisodeReader(connection, memory.embed, asked) if ingestion == "episode" else None

    async def worlds() -> set[str]:
        return {ingestion}

    return GraphitiProjection(connection, "bench", "", memory.embed, worlds, reader)


def _deps(
    directory: Path, ingestion: str, server: Neo4jServer, embedder: CountingEmbedder, base_url: str
) -> ConversationDependencies:
    settings = Settings(data_dir=directory, world={"language": "en"})
    model = OpenAIChat(base_url=base_url, api_key="none", model=MODEL)
    database = Database(f"sqlite:///{directory / 'kataribe.db'}")
    database.migrate()
    worlds = WorldRepository(load_content(bundled_content()), settings.world)
    memory = MemoryStore(database, embedder)
    return ConversationDependencies(
        settings=settings,
        worlds=worlds,
        database=database,
        memory=memory,
        models=Models(dict.fromkeys(ROLES, model)),
        budget=DailyBudget(database, settings.llm),
        stream=Stream(),
        projection=_graph(ingestion, server, memory, base_url),
    )


def _talk(session: Session, deps: ConversationDependencies, world_id: str, n: int) -> str:
    """A conversation whose turns are said and whose closing is due."""
    world = deps.worlds.open(session, world_id, lock=True)
    beside = world.map.beside(world.map.posts["npc_taro"])[0]
    move(session, world, "aoi", Segment.stay(beside, world.now))
    goal = Goal(goal="Hear how his family is", success_criteria="He told one thing about it")
    wanted = Start(opener_id="aoi", partner_id="npc_taro", goal=goal, max_turns=10)
    row = start(session, world, wanted, deps.models.names())
    for turn, (speaker_id, text) in enumerate(_LINES):
        session.add(
            TurnRow(
                world_id=row.world_id,
                conversation_id=row.id,
                turn=turn,
                speaker_id=speaker_id,
                speaker_name=world.name_of(speaker_id),
                text=text.format(n=n),
                emotion="neutral",
                at=world.now,
                model=MODEL,
                calls=1,
                prompt_tokens=0,
                completion_tokens=0,
                duration_ms=0,
            )
        )
    session.flush()
    end(session, deps.worlds, world_id, row.id, EndReason.TURN_LIMIT)
    return row.id


def _number(text: str, pattern: str) -> int:
    """The number of the talk a question is about: the last one it names."""
    return int(re.findall(pattern, text)[-1])


def _tokens(body: dict[str, Any]) -> int:
    """Prompt tokens as the fake server reports them: a fourth of the characters."""
    return sum(len(str(message["content"])) for message in body["messages"]) // 4


def _answer(body: dict[str, Any]) -> str:
    """What a model would say to our closing and to each of Graphiti's questions about the transcript above."""
    schema = body["response_format"]["json_schema"]["schema"]
    fields = set(schema["properties"])
    text = "\n".join(str(message["content"]) for message in body["messages"])
    if "people" in fields:
        return json.dumps(_recollection(_number(text, r"boat of (\d+) feet")))
    if "verdicts" in fields:
        numbers = re.findall(r"^(\d+) ", text.partition("<notes>")[2], re.MULTILINE)
        return json.dumps({"verdicts": [{"n": int(one), "finding": "supported"} for one in numbers]})
    if "extracted_entities" in fields:
        named = [{"name": name, "entity_type_id": 0, "episode_indices": [0]} for name in _ENTITIES]
        return json.dumps({"extracted_entities": named})
    if "edges" in fields:
        return json.dumps({"edges": [_edge(_number(text, r"boat of (\d+) feet"), *fact) for fact in _FACTS]})
    if "entity_resolutions" in fields:
        ids = sorted({int(found) for found in re.findall(r'"id": (\d+)', text)})
        same = [{"id": i, "name": _ENTITIES[i % len(_ENTITIES)], "duplicate_candidate_id": -1} for i in ids]
        return json.dumps({"entity_resolutions": same})
    if "duplicate_facts" in fields:
        return json.dumps({"duplicate_facts": [], "contradicted_facts": []})
    if "summaries" in fields:
        return json.dumps({"summaries": [{"name": name, "summary": f"{name} of Shione"} for name in _ENTITIES]})
    if "summary" in fields:
        return json.dumps({"summary": "One of the people of Shione"})
    if "timestamps" in fields:
        return json.dumps({"timestamps": []})
    return json.dumps({"valid_at": None, "invalid_at": None})


def _edge(n: int, subject: str, relation: str, obj: str, statement: str, _turn: int) -> dict[str, Any]:
    return {
        "source_entity_name": subject,
        "target_entity_name": obj,
        "relation_type": relation.upper(),
        "fact": statement.format(n=n),
        "valid_at": None,
        "invalid_at": None,
        "episode_indices": [0],
    }


def _recollection(n: int) -> dict[str, Any]:
    facts = [memory(fact.format(n=n), turn, about=about, teller="b") for about, _, _, fact, turn in _FACTS]
    told = f"Taro's daughter Mio wants to leave for the city in {n} days, and his son Riku asks for a boat of {n} feet."
    felt = {"mood": "happy", "intimacy": 2}
    return plain(told, topics=("family", "boat"), first={**felt, "memories": facts}, second={**felt, "affinity": 10})
