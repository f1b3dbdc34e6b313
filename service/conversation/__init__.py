"""A conversation from its start through its turns to its end."""
