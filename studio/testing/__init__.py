"""Tests for writers: people of a game are spoken with, and their answers are checked."""
