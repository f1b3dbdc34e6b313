"""Owns the rehearsal of decisions: a believable village day by rules and authored words, without a language model."""
