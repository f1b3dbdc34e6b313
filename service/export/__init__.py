"""The story of a world as a file of JSON lines, written and read back."""
