"""Owns the tests of the pure world."""
