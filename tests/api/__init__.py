"""Tests of the HTTP surface, from the outside, as other people's clients would use it."""
