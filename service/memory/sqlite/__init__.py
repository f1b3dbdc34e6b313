"""The memory graph in one SQLite file, without a server."""
