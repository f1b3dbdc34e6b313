"""Owns the tests of service/clock."""
