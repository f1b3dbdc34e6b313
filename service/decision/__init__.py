"""Owns what a character does next: by its model from all it perceives and remembers, or by its routine at no cost."""
