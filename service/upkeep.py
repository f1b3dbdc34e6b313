"""Owns what is done to a long-term memory by hand: other installations' groups are taken over or removed, and what
another embedder has embedded is embedded anew.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from service.app import opened_database
from service.errors import Misconfigured
from service.locales import Phrase
from service.memory.choose import choose_graphiti, choose_sql
from service.memory.embedding.choose import choose_embedder
from service.memory.indexed import Reembedded
from service.settings import Settings

if TYPE_CHECKING:
    from service.memory.graphiti.graph import GraphitiMemory

T = TypeVar("T")


async def adopt(settings: Settings, world_id: str) -> int:
    """Make the groups of a world that another installation wrote into Neo4j this one's; answers how many.

    Raises:
        Misconfigured: the memory is not on Neo4j, or a service runs on the data.
        GraphUnavailable.
    """
    return await _on_neo4j(settings, lambda graph: graph.adopt(world_id))


async def purge(settings: Settings, world_id: str) -> int:
    """Remove the groups of a world that another installation wrote into Neo4j; answers how many.

    Raises:
        Misconfigured: the memory is not on Neo4j, or a service runs on the data.
        GraphUnavailable: some may be left; the same call may be made again.
    """
    return await _on_neo4j(settings, lambda graph: graph.purge(world_id))


async def reembed(settings: Settings) -> Reembedded:
    """Give what another embedder has embedded the vectors of the one that is set.

    Raises:
        Misconfigured: no embedder is set, or a service runs on the data.
        GraphUnavailable: what was done until then stays; the same call goes on from there.
    """
    if choose_embedder(settings) is None:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.nothing_embeds"))
    if settings.memory.backend == "graphiti":
        return await _on_neo4j(settings, lambda graph: graph.reembed())
    with opened_database(settings) as database:
        return await choose_sql(settings, database).reembed()


async def _on_neo4j(settings: Settings, work: Callable[["GraphitiMemory"], Awaitable[T]]) -> T:
    if settings.memory.backend != "graphiti":
        raise Misconfigured(setting="KATARIBE_MEMORY__BACKEND", reason=Phrase("settings.not_on_neo4j"))
    with opened_database(settings) as database:
        graph = choose_graphiti(settings, database)
        try:
            return await work(graph)
        finally:
            await graph.aclose()
