"""What is remembered: recall before a conversation, one extraction after it, gates, writes, expiry, the graph."""
