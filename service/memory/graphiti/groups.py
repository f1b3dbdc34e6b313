"""Owns whose a group is: each bears the id of the installation that wrote it first, and no other one touches it."""

from collections.abc import Iterable
from dataclasses import dataclass

from neo4j import AsyncManagedTransaction

from service.errors import MemoryOfAnother
from service.memory.graphiti.connection import Neo4jConnection, run
from service.memory.record import Group

PREFIX = "KATARIBE_MEMORY__GROUP_PREFIX"

# By the beginning of the id, which is indexed; a prefix may be called like a world, so the rest is compared too.
OF_OTHERS = """
    UNWIND $starts AS start
    MATCH (g:KataribeGroup) WHERE g.id STARTS WITH start AND g.id = start + g.person_id
        AND coalesce(g.installation, '') <> $installation
    RETURN g.world_id AS world_id, g.person_id AS person_id ORDER BY g.id
"""
_TAKE_OVER = "UNWIND $groups AS id MATCH (g:KataribeGroup {id: id}) SET g.installation = $installation, g.revision = -1"


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
        starts = [_start(self._prefix, world) for world in worlds]
        rows = await self._connection.read(OF_OTHERS, starts=starts, installation=self._installation)
        return [self.of(Group(world_id=row["world_id"], person_id=row["person_id"])) for row in rows]

    async def require_own(self, worlds: Iterable[str]) -> None:
        """Raises: MemoryOfAnother: one of these worlds' groups is another installation's."""
        for group in await self.of_others(worlds):
            raise another(group)

    async def take_over(self, world_id: str) -> int:
        """Make other installations' groups of the world ours, to be written anew; answers how many.

        Raises:
            GraphUnavailable.
        """
        groups = [group.id for group in await self.of_others([world_id])]

        async def work(tx: AsyncManagedTransaction) -> None:
            await run(tx, _TAKE_OVER, groups=groups, installation=self._installation)

        await self._connection.write(work)
        return len(groups)


def another(group: GraphGroup) -> MemoryOfAnother:
    """What is told of a group of another installation's."""
    return MemoryOfAnother(
        backend="neo4j", reason="of another installation", setting=PREFIX, group_id=group.id, world_id=group.world_id
    )


def _start(prefix: str, world_id: str) -> str:
    """How the ids of a world's groups begin; ids hold no ``--``."""
    return f"{prefix}--{world_id}--" if prefix else f"{world_id}--"
