"""Holds the tests for writers to what they find, and to what they let pass."""
