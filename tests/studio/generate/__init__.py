"""Holds the making of data sets to what it promises."""
