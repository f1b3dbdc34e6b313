"""What is remembered: recall before a conversation, one extraction after it, its validation, the write, and expiry."""
