"""The rehearsal's memory: what is kept of a conversation when no language model reads it."""
