"""Owns the boundary to embedding models."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""Unit-length rows, shape (texts, dimensions)."""


class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their likeness."""

    @property
    def name(self) -> str:
        """Model name; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    async def query(self, text: str) -> Vectors:
        """Vector of a question, shape (1, dimensions)."""
        ...

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of things remembered, shape (len(texts), dimensions)."""
        ...
