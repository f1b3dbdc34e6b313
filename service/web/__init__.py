"""Pages for people's eyes."""
