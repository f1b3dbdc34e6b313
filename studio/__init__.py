"""What is done with a game beside playing it: commands, files of other programs, scenes and runs at the terminal."""
