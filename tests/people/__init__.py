"""Tests of service/people."""
