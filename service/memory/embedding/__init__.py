"""Embedding models: what turns a text into a vector."""
