"""Owns the tests of service/store."""
