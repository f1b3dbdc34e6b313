"""The author's files: maps.json, actions.json, npcs/ and characters/, their errors, and the values made of them."""
