"""Owns what Neo4j must have before anything is written: constraints, indexes, and the version that knows them.

Every query of ours starts from one of these; none scans the graph. Graphiti's own four full-text indexes are made
before Graphiti makes them, with the analyzer ``cjk``, for its searches while it takes in an episode; recall uses none
of them.
"""

from collections.abc import Mapping

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
    "kataribe_fact_revision": f"CREATE INDEX kataribe_fact_revision IF NOT EXISTS {_FACT} ON (e.group_id, e.revision)",
    "kataribe_episode_revision": "CREATE INDEX kataribe_episode_revision IF NOT EXISTS "
    "FOR (n:Episodic) ON (n.group_id, n.revision)",
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
