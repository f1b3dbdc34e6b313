"""Who is there: profiles of characters and NPCs as their author wrote them, and how they stand to each other."""
