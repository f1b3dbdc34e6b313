"""A closing: what those who took part in a conversation take away. One pipeline: ask, check, verify, write."""
