"""Owns the tests; the tree mirrors the source."""
