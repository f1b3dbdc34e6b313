"""Owns how far something may be relied on that went from hand to hand. Pure."""

from collections.abc import Sequence

KEPT_BY_A_HAND = 0.8
"""What is left of the confidence after each person who told it on."""
KEPT_BY_DOUBT = 0.5
"""What is left of it where the last one was joking, or only supposed it."""


def confidence(chain: Sequence[str], mode: str) -> float:
    """0..1, in hundredths: 1 for one's own words, 0.8 for what somebody told, 0.64 for what that one had from another.

    `chain` are the people through whose hands it came. Hearsay that nobody is known to have begun came through one more
    hand than is known.
    """
    hands = max(len(chain), 2) if mode == "hearsay" else len(chain)
    doubt = KEPT_BY_DOUBT if mode in ("hypothetical", "joking") else 1.0
    return round(KEPT_BY_A_HAND**hands * doubt, 2)
