"""Owns the tests of service/jobs."""
