"""Owns how two values are compared: the first place where they differ, and what is there in each."""

from typing import Any


def first_difference(recorded: Any, now: Any, path: str = "") -> str | None:
    """Where the two differ first and how, in the order of the record; None: they are the same."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in (*recorded, *(key for key in now if key not in recorded)):
            told = _member(recorded, now, key, f"{path}.{key}" if path else str(key))
            if told is not None:
                return told
        return None
    if isinstance(recorded, list) and isinstance(now, list) and any(isinstance(row, list) for row in recorded):
        return _rows(recorded, now, path)
    return None if recorded == now else f"{path}: {recorded!r} is on record, now it is {now!r}"


def _member(recorded: dict[str, Any], now: dict[str, Any], key: str, path: str) -> str | None:
    if key not in now:
        return f"{path}: {recorded[key]!r} is on record, now there is none"
    if key not in recorded:
        return f"{path}: none is on record, now it is {now[key]!r}"
    return first_difference(recorded[key], now[key], path)


def _rows(recorded: list[Any], now: list[Any], path: str) -> str | None:
    """Of two stories, where they part, and what came before that in both."""
    shorter = min(len(recorded), len(now))
    at = next((i for i in range(shorter) if recorded[i] != now[i]), shorter)
    if at == len(recorded) == len(now):
        return None
    lines = [f"{path} part at row {at} of {len(recorded)} on record and {len(now)} now"]
    lines += [f"  before it: {row}" for row in recorded[max(0, at - 3) : at]]
    lines += [f"  on record: {row}" for row in recorded[at : at + 2]] or ["  on record: the end"]
    lines += [f"  now:       {row}" for row in now[at : at + 2]] or ["  now:       the end"]
    return "\n".join(lines)
