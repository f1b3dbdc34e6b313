"""The pure world: time, places, routes, people. No I/O, no model, no machine clock, no randomness of its own."""
