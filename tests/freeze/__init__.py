"""What must survive a rebuild, on record. `python -m tests.freeze.record` writes the records anew."""
