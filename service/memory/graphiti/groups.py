"""Owns whose a group is: each bears the id of the installation that wrote it first, and no other one touches it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j import AsyncManagedTransaction

from service.errors import MemoryOfAnother
from service.memory.embedding.embedder import VectorSpace
from service.memory.graphiti.connection import Neo4jConnection, run
from service.memory.record import Group
from service.store.ids import new_id

PREFIX = "KATARIBE_MEMORY__GROUP_PREFIX"

# By the beginning of the id, which is indexed; a prefix may be called like a world, so the rest is compared too.
_OF_OTHERS = """
    UNWIND $starts AS start
    MATCH (g:KataribeGroup) WHERE g.id STARTS WITH start AND g.id = start + g.person_id
        AND coalesce(g.installation, '') <> $installation
    RETURN g.id AS id, g.world_id AS world_id, g.person_id AS person_id ORDER BY g.id
"""
_TAKE_OVER = """
    MATCH (g:KataribeGroup {id: $group}) SET g.installation = $installation, g.epoch = $epoch
"""

_EMBEDDED_OTHERWISE = """
    UNWIND $starts AS start
    MATCH (g:KataribeGroup) WHERE g.id STARTS WITH start AND g.id = start + g.person_id
        AND g.installation = $installation AND g.embedder <> ''
        AND (g.embedder <> $embedder OR g.dimensions <> $dimensions)
    RETURN g.world_id AS world_id, g.person_id AS person_id, g.embedder AS embedder, g.dimensions AS dimensions
    ORDER BY g.id
"""

QUERIES: Mapping[str, str] = {"groups of others": _OF_OTHERS, "embedded otherwise": _EMBEDDED_OTHERWISE}
"""Every reading query by name; a test asks Neo4j for their plans."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphGroup(Group):
    """A person's group in Neo4j. `installation` is the one that may write it; `prefix` keeps apart the groups of those
    that share a server.
    """

    installation: str
    prefix: str = ""

    @property
    def id(self) -> str:
        """``world--person``, after the prefix and ``--`` where there is one."""
        return f"{_start(self.prefix, self.world_id)}{self.person_id}"

    def require_own(self, installation: str | None) -> None:
        """Raises: MemoryOfAnother: `installation` wrote the group, and not ours."""
        if installation != self.installation:
            raise another(self)


class Groups:
    """The groups of one installation among those of others."""

    def __init__(self, connection: Neo4jConnection, installation: str, prefix: str) -> None:
        self._connection = connection
        self._installation = installation
        self._prefix = prefix

    def of(self, group: Group) -> GraphGroup:
        """The person's group, as it has to be."""
        return GraphGroup(
            world_id=group.world_id,
            person_id=group.person_id,
            installation=self._installation,
            prefix=self._prefix,
        )

    async def of_others(self, worlds: Iterable[str]) -> list[GraphGroup]:
        """Groups in the place of ours in these worlds that another installation wrote, by their ids.

        Raises:
            GraphUnavailable.
        """
        rows = await self._read(_OF_OTHERS, worlds)
        return [self.of(Group(world_id=row["world_id"], person_id=row["person_id"])) for row in rows]

    async def embedded_otherwise(self, worlds: Iterable[str], space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
        """Those in these worlds whose memories have vectors of another space, and that space.

        Raises:
            GraphUnavailable.
        """
        rows = await self._read(_EMBEDDED_OTHERWISE, worlds, embedder=space.model, dimensions=space.dimensions)
        found = [
            (
                Group(world_id=row["world_id"], person_id=row["person_id"]),
                VectorSpace(row["embedder"], row["dimensions"]),
            )
            for row in rows
        ]
        return [(group, had) for group, had in found if not had.takes(space)]

    async def require_own(self, worlds: Iterable[str]) -> None:
        """Raises: MemoryOfAnother: one of these worlds' groups is another installation's."""
        for group in await self.of_others(worlds):
            raise another(group)

    async def adopt(self, worlds: Iterable[str]) -> Sequence[GraphGroup]:
        """Make other installations' groups of these worlds ours; answers which."""
        groups = await self.of_others(worlds)

        async def work(tx: AsyncManagedTransaction) -> None:
            for group in groups:
                given: dict[str, Any] = {"installation": self._installation, "epoch": new_id()}
                await run(tx, _TAKE_OVER, group=group.id, **given)

        await self._connection.write(work)
        return groups

    async def _read(self, query: str, worlds: Iterable[str], **given: Any) -> Sequence[Mapping[str, Any]]:
        starts = [_start(self._prefix, world) for world in worlds]
        return await self._connection.read(query, starts=starts, installation=self._installation, **given)


def another(group: GraphGroup) -> MemoryOfAnother:
    """What is told of a group of another installation's."""
    return MemoryOfAnother(
        backend="neo4j", reason="of another installation", setting=PREFIX, group_id=group.id, world_id=group.world_id
    )


def _start(prefix: str, world_id: str) -> str:
    """How the ids of a world's groups begin; ids hold no ``--``."""
    return f"{prefix}--{world_id}--" if prefix else f"{world_id}--"
