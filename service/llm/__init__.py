"""The language-model boundary: a prompt goes in, a checked answer and its cost come out."""
