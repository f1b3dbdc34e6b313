"""Owns the tests of service/cast."""
