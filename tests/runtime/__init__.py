"""Owns the tests of service/runtime."""
