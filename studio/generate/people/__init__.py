"""People made from a wish or a demography: a plan of them first, then each one, then their place in the world."""
