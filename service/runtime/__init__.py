"""What runs worlds and jobs: actors and their clocks, commands and edits, snapshots, work in the background."""
