"""Measurements: ``make bench`` runs all, ``make bench ONLY=turn`` one. Each prints a table and writes its figures."""
