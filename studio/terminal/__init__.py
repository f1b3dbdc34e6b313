"""A world living for some days in a terminal: what happens, what is said, and what it came to."""
