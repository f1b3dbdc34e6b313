"""The world's clock: advancing it, and what a client makes a character do on it."""
