"""The memory graph on graphiti-core and Neo4j."""
