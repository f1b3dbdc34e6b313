"""Owns the pages: the world with its map and people, and a conversation as it is spoken."""

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
