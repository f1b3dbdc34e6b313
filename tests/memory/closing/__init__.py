"""Tests of service/memory/closing/, the pipeline of a closing."""
