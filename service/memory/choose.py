"""Owns the choice of the memory graph."""

from service.memory.embed_choose import choose_embedder
from service.memory.graph import MemoryGraph
from service.memory.sqlite import SqliteGraph
from service.settings import Settings


def choose_graph(settings: Settings) -> MemoryGraph:
    """The memory graph the settings name.

    Raises:
        Misconfigured: the embedder it is to use cannot be had.
    """
    embedder = choose_embedder(settings)
    return SqliteGraph(settings.data_dir / "memory.db", embedder)
