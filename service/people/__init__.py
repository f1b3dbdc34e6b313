"""Content and rows together: the world as it is opened, where its people are, how they feel and stand to each other."""
