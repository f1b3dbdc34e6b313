"""Work that outlives a request: conversations carried from phase to phase, memories delivered to the graph."""
