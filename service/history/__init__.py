"""Owns a world's past: what it held at an earlier moment, why something happened in it, how two worlds went apart."""
