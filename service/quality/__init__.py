"""How good what is said is: the checks by rule."""
