"""Owns what Neo4j must have before anything is written: constraints, indexes, and the version that knows them.

Every query of ours starts from one of these; none scans the graph. The full text that recall searches is
``kataribe_fact_text``: our own tokens (lexical.py) under the analyzer ``whitespace``, so that Japanese bigrams, a lone
kanji (妻) and English plurals are found alike; each token bears its group's id, so a group is searched by itself.
Graphiti's own four full-text indexes are made before Graphiti makes them, with the analyzer ``cjk``, for its searches
while it takes in an episode.
"""

from collections.abc import Mapping

MIN_VERSION = 5
FACT_TEXT = "kataribe_fact_text"

_CJK = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'cjk'}}"
_WHITESPACE = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}"
_FACT = "FOR ()-[e:RELATES_TO]-()"

# The constraints carry the names of Graphiti's indexes on the same property, so that it does not ask for a second one.
# They make two replicas that write the same thing at once write it once.
SCHEMA: Mapping[str, str] = {
    "kataribe_group": "CREATE CONSTRAINT kataribe_group IF NOT EXISTS FOR (g:KataribeGroup) REQUIRE g.id IS UNIQUE",
    "kataribe_world": "CREATE INDEX kataribe_world IF NOT EXISTS FOR (g:KataribeGroup) ON (g.world_id)",
    "entity_uuid": "CREATE CONSTRAINT entity_uuid IF NOT EXISTS FOR (n:Entity) REQUIRE n.uuid IS UNIQUE",
    "episode_uuid": "CREATE CONSTRAINT episode_uuid IF NOT EXISTS FOR (n:Episodic) REQUIRE n.uuid IS UNIQUE",
    "relation_uuid": f"CREATE CONSTRAINT relation_uuid IF NOT EXISTS {_FACT} REQUIRE e.uuid IS UNIQUE",
    "entity_group_id": "CREATE INDEX entity_group_id IF NOT EXISTS FOR (n:Entity) ON (n.group_id)",
    "episode_group_id": "CREATE INDEX episode_group_id IF NOT EXISTS FOR (n:Episodic) ON (n.group_id)",
    "community_group_id": "CREATE INDEX community_group_id IF NOT EXISTS FOR (n:Community) ON (n.group_id)",
    "saga_group_id": "CREATE INDEX saga_group_id IF NOT EXISTS FOR (n:Saga) ON (n.group_id)",
    "relation_group_id": f"CREATE INDEX relation_group_id IF NOT EXISTS {_FACT} ON (e.group_id)",
    "kataribe_fact": f"CREATE INDEX kataribe_fact IF NOT EXISTS {_FACT} ON (e.group_id, e.fact_id)",
    "kataribe_fact_seq": f"CREATE INDEX kataribe_fact_seq IF NOT EXISTS {_FACT} ON (e.group_id, e.seq)",
    "kataribe_fact_revision": f"CREATE INDEX kataribe_fact_revision IF NOT EXISTS {_FACT} ON (e.group_id, e.revision)",
    "kataribe_fact_replaced": f"CREATE INDEX kataribe_fact_replaced IF NOT EXISTS {_FACT} ON (e.group_id, e.replaced_by)",
    FACT_TEXT: f"CREATE FULLTEXT INDEX {FACT_TEXT} IF NOT EXISTS {_FACT} ON EACH [e.lexical] {_WHITESPACE}",
    "episode_content": "CREATE FULLTEXT INDEX episode_content IF NOT EXISTS FOR (e:Episodic) "
    f"ON EACH [e.content, e.source, e.source_description, e.group_id] {_CJK}",
    "node_name_and_summary": "CREATE FULLTEXT INDEX node_name_and_summary IF NOT EXISTS FOR (n:Entity) "
    f"ON EACH [n.name, n.summary, n.group_id] {_CJK}",
    "community_name": "CREATE FULLTEXT INDEX community_name IF NOT EXISTS FOR (n:Community) "
    f"ON EACH [n.name, n.group_id] {_CJK}",
    "edge_name_and_fact": f"CREATE FULLTEXT INDEX edge_name_and_fact IF NOT EXISTS {_FACT} "
    f"ON EACH [e.name, e.fact, e.group_id] {_CJK}",
}

SHOW = "SHOW INDEXES YIELD name, state, type, options RETURN name, state, type, options"
AWAIT = "CALL db.awaitIndexes($seconds)"


def wrong(name: str, state: str, kind: str, options: Mapping[str, Mapping[str, object]]) -> str:
    """What is wrong with an index that exists under one of our names; "" when nothing is."""
    if state == "FAILED":
        return f"the index {name} has failed; drop it, and it is made again"
    if name == FACT_TEXT and (
        kind != "FULLTEXT" or options.get("indexConfig", {}).get("fulltext.analyzer") != "whitespace"
    ):
        return f"the index {name} is not the full-text index with analyzer 'whitespace' that recall needs; drop it"
    return ""


def major(agent: str) -> int:
    """Major version of a server that calls itself ``Neo4j/5.26.30``; 0 when it says nothing of the kind."""
    product, _, version = agent.partition("/")
    number = version.partition(".")[0]
    return int(number) if product == "Neo4j" and number.isdigit() else 0
