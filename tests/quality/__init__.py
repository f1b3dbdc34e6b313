"""Holds the checks of what is said."""
