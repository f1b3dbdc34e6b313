"""Owns the connection to Neo4j: one driver an event loop, the schema made once, every driver error in our words; and
whose a group there is: each bears the id of the installation that wrote it first, and no other one touches it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from neo4j import (
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncManagedTransaction,
    NotificationMinimumSeverity,
    Record,
)
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DatabaseUnavailable,
    DriverError,
    Neo4jError,
    UnsupportedServerProduct,
)
from pydantic import SecretStr

from service.errors import GraphUnavailable, MemoryOfAnother
from service.locales import Phrase
from service.memory.graphiti.vendor import Neo4jDriver
from service.memory.record import Group

MIN_VERSION = 5

_CJK = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'cjk'}}"
_FACT = "FOR ()-[e:RELATES_TO]-()"

# The constraints carry the names of Graphiti's indexes on the same property, so that it does not ask for a second one.
# They make two replicas that write the same thing at once write it once.
SCHEMA: Mapping[str, str] = {
    "kataribe_group": "CREATE CONSTRAINT kataribe_group IF NOT EXISTS FOR (g:KataribeGroup) REQUIRE g.id IS UNIQUE",
    "entity_uuid": "CREATE CONSTRAINT entity_uuid IF NOT EXISTS FOR (n:Entity) REQUIRE n.uuid IS UNIQUE",
    "episode_uuid": "CREATE CONSTRAINT episode_uuid IF NOT EXISTS FOR (n:Episodic) REQUIRE n.uuid IS UNIQUE",
    "relation_uuid": f"CREATE CONSTRAINT relation_uuid IF NOT EXISTS {_FACT} REQUIRE e.uuid IS UNIQUE",
    "entity_group_id": "CREATE INDEX entity_group_id IF NOT EXISTS FOR (n:Entity) ON (n.group_id)",
    "episode_group_id": "CREATE INDEX episode_group_id IF NOT EXISTS FOR (n:Episodic) ON (n.group_id)",
    "community_group_id": "CREATE INDEX community_group_id IF NOT EXISTS FOR (n:Community) ON (n.group_id)",
    "saga_group_id": "CREATE INDEX saga_group_id IF NOT EXISTS FOR (n:Saga) ON (n.group_id)",
    "relation_group_id": f"CREATE INDEX relation_group_id IF NOT EXISTS {_FACT} ON (e.group_id)",
    "kataribe_fact": f"CREATE INDEX kataribe_fact IF NOT EXISTS {_FACT} ON (e.group_id, e.fact_id)",
    "episode_content": "CREATE FULLTEXT INDEX episode_content IF NOT EXISTS FOR (e:Episodic) "
    f"ON EACH [e.content, e.source, e.source_description, e.group_id] {_CJK}",
    "node_name_and_summary": "CREATE FULLTEXT INDEX node_name_and_summary IF NOT EXISTS FOR (n:Entity) "
    f"ON EACH [n.name, n.summary, n.group_id] {_CJK}",
    "community_name": "CREATE FULLTEXT INDEX community_name IF NOT EXISTS FOR (n:Community) "
    f"ON EACH [n.name, n.group_id] {_CJK}",
    "edge_name_and_fact": f"CREATE FULLTEXT INDEX edge_name_and_fact IF NOT EXISTS {_FACT} "
    f"ON EACH [e.name, e.fact, e.group_id] {_CJK}",
}

SHOW = "SHOW INDEXES YIELD name, state RETURN name, state"
AWAIT = "CALL db.awaitIndexes($seconds)"


def major(agent: str) -> int:
    """Major version of a server that calls itself ``Neo4j/5.26.30``; 0 when it says nothing of the kind."""
    product, _, version = agent.partition("/")
    number = version.partition(".")[0]
    return int(number) if product == "Neo4j" and number.isdigit() else 0


URI = "KATARIBE_MEMORY__NEO4J_URI"
USER = "KATARIBE_MEMORY__NEO4J_USER"
PASSWORD = "KATARIBE_MEMORY__NEO4J_PASSWORD"  # noqa: S105 (the setting's name)
DATABASE = "KATARIBE_MEMORY__NEO4J_DATABASE"

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")

CONNECT_SECONDS = 3.0
RETRY_SECONDS = 2.0
INDEX_SECONDS = 30
REST_SECONDS = 3.0
"""After a failure nobody asks for so long: of many people who wait for the graph each would wait in vain."""

T = TypeVar("T")


@dataclass(kw_only=True)
class _PerLoop:
    """What belongs to one event loop. `ready`: version and schema have been seen to since the driver was made."""

    driver: AsyncDriver
    graphiti: Neo4jDriver | None = None
    ready: bool = False
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)


class Neo4jConnection:
    """Reads and writes in transactions that are retried for `RETRY_SECONDS` where a retry can help.

    A server that was away is not asked for `REST_SECONDS`: what failed fails again at once. `check` asks all the same.
    A driver reconnects by itself when the server is back. Nothing here ever puts the password into an error.
    `seconds` is the machine's clock.
    """

    def __init__(
        self,
        uri: str,
        user: str,
        password: SecretStr,
        database: str,
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._uri = uri
        self._auth = (user, password)
        self._database = database
        self._loops: dict[asyncio.AbstractEventLoop, _PerLoop] = {}
        self._seconds = seconds
        self._away: GraphUnavailable | None = None
        self._rests_until = 0.0

    @property
    def database(self) -> str:
        """Name of the database within the server."""
        return self._database

    async def read(self, query: str, **given: Any) -> list[Record]:
        """All records of one reading query.

        Raises:
            GraphUnavailable.
        """
        driver = await self.driver()
        with self._translated():
            async with driver.session(database=self._database) as session:
                return await session.execute_read(lambda tx: run(tx, query, **given))

    async def write(self, work: Callable[[AsyncManagedTransaction], Awaitable[T]]) -> T:
        """Do the work in one transaction: all of it or nothing.

        Raises:
            GraphUnavailable: nothing was written, or it is not known whether; the same work may be done again.
        """
        driver = await self.driver()
        with self._translated():
            async with driver.session(database=self._database) as session:
                return await session.execute_write(work)

    async def driver(self) -> AsyncDriver:
        """The running loop's driver, with version and schema seen to.

        Raises:
            GraphUnavailable.
        """
        mine = self._mine()
        async with mine.opening:
            if not mine.ready:
                with self._translated():
                    await self._prepare(mine.driver)
                mine.ready = True
        return mine.driver

    async def graphiti(self) -> Neo4jDriver:
        """Graphiti's driver over the running loop's own, with our time-outs and without its index building.

        Raises:
            GraphUnavailable.
        """
        driver = await self.driver()
        mine = self._mine()
        if mine.graphiti is None:
            user, password = self._auth
            graphiti = Neo4jDriver(self._uri, user, password.get_secret_value(), self._database)
            # It makes a driver and starts to build indexes at once: both are stopped before they reach the server.
            await graphiti.close()
            graphiti.client = driver
            mine.graphiti = graphiti
        return mine.graphiti

    async def check(self) -> None:
        """Ask the server again for version and schema, and make what is missing.

        Raises:
            GraphUnavailable.
        """
        self._mine().ready, self._away = False, None
        await self.driver()

    async def aclose(self) -> None:
        """Close the running loop's driver."""
        held = self._loops.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.driver.close()

    def _mine(self) -> _PerLoop:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            user, password = self._auth
            # The driver knows http too, as an experiment that is no Bolt.
            if urlsplit(self._uri).scheme not in SCHEMES:
                raise unavailable(Phrase("neo4j.no_address"), URI)
            try:
                driver = AsyncGraphDatabase.driver(
                    self._uri,
                    auth=(user, password.get_secret_value()),
                    connection_timeout=CONNECT_SECONDS,
                    connection_acquisition_timeout=2 * CONNECT_SECONDS,
                    max_transaction_retry_time=RETRY_SECONDS,
                    # Hints for whoever writes queries ("this property is not there yet") are no warnings for a game.
                    notifications_min_severity=NotificationMinimumSeverity.OFF,
                    telemetry_disabled=True,
                )
            except (ConfigurationError, ValueError) as error:
                raise translate(error) from error
            self._loops[loop] = _PerLoop(driver=driver)
        return self._loops[loop]

    async def _prepare(self, driver: AsyncDriver) -> None:
        agent = (await driver.get_server_info()).agent
        if major(agent) < MIN_VERSION:
            raise unavailable(Phrase("neo4j.too_old", agent=agent, version=MIN_VERSION), URI)
        found = {record["name"]: record for record in await self._query(driver, SHOW)}
        for name, record in found.items():
            if name in SCHEMA and record["state"] == "FAILED":
                raise unavailable(Phrase("neo4j.index_failed", name=name), DATABASE)
        missing = [statement for name, statement in SCHEMA.items() if name not in found]
        for statement in missing:
            await self._query(driver, statement)
        if missing or any(record["state"] != "ONLINE" for record in found.values()):
            await self._query(driver, AWAIT, seconds=INDEX_SECONDS)

    async def _query(self, driver: AsyncDriver, query: str, **given: Any) -> list[Record]:
        return (await driver.execute_query(query, parameters_=given, database_=self._database)).records

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the driver raises into GraphUnavailable, and let the server rest."""
        if self._away is not None and self._seconds() < self._rests_until:
            raise GraphUnavailable(**self._away.facts)
        try:
            yield
        except MemoryOfAnother:  # this holds of one group; the server answers for the others
            raise
        except GraphUnavailable as error:
            self._rest(error)
            raise
        except (Neo4jError, DriverError, OSError) as error:
            found = translate(error)
            self._rest(found)
            raise found from error

    def _rest(self, away: GraphUnavailable) -> None:
        if away.facts["setting"] == DATABASE:
            # It answers; an index may be missing: see to the schema again before the next query.
            self._mine().ready = False
        else:
            self._away, self._rests_until = away, self._seconds() + REST_SECONDS


async def run(tx: AsyncManagedTransaction, query: str, **given: Any) -> list[Record]:
    """All records of a query within a transaction."""
    return [record async for record in (await tx.run(query, given))]


def unavailable(reason: Phrase, setting: str) -> GraphUnavailable:
    """Our error, with the setting to look at."""
    return GraphUnavailable(backend="neo4j", reason=reason, setting=setting)


def translate(error: BaseException) -> GraphUnavailable:
    """What a driver's error means for the person who runs the service. Texts of the driver are not passed on."""
    code = getattr(error, "code", None) or type(error).__name__
    if isinstance(error, AuthError) or code == "Neo.ClientError.Security.AuthenticationRateLimit":
        return unavailable(Phrase("neo4j.login_refused"), f"{USER}, {PASSWORD}")
    if code == "Neo.ClientError.Security.Forbidden":
        return unavailable(Phrase("neo4j.rights_missing"), USER)
    if code == "Neo.ClientError.Database.DatabaseNotFound" or isinstance(error, DatabaseUnavailable):
        return unavailable(Phrase("neo4j.no_database"), DATABASE)
    if isinstance(error, UnsupportedServerProduct):
        return unavailable(Phrase("neo4j.no_bolt", version=MIN_VERSION), URI)
    if isinstance(error, ConfigurationError | ValueError):
        return unavailable(Phrase("neo4j.no_address"), URI)
    if isinstance(error, ClientError):
        # The one client error that our own queries can meet: an index that somebody dropped under a running service.
        return unavailable(Phrase("neo4j.query_refused", code=code), DATABASE)
    return unavailable(Phrase("neo4j.no_answer", code=code), URI)


PREFIX = "KATARIBE_MEMORY__GROUP_PREFIX"


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
        return f"{start_of(self.prefix, self.world_id)}{self.person_id}"

    def require_own(self, installation: str | None) -> None:
        """Raises: MemoryOfAnother: `installation` wrote the group, and not ours."""
        if installation != self.installation:
            raise another(self)


def another(group: GraphGroup) -> MemoryOfAnother:
    """What is told of a group of another installation's."""
    return MemoryOfAnother(
        backend="neo4j", reason="of another installation", setting=PREFIX, group_id=group.id, world_id=group.world_id
    )


def start_of(prefix: str, world_id: str) -> str:
    """How the ids of a world's groups begin; ids hold no ``--``."""
    return f"{prefix}--{world_id}--" if prefix else f"{world_id}--"
