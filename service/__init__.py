"""Kataribe: a service that gives a game's characters a life and a memory."""
