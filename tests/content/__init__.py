"""Tests of service/content."""
