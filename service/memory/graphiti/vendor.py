"""Owns the import of graphiti-core: what we use of it, with its telemetry off and its hands off the environment.

graphiti-core reports every start to its makers unless this variable is set before its first import; whom a game's
players talk to is nobody's business. It also loads the nearest .env file into the process: our settings read theirs.
"""

import os
import warnings

from pydantic import PydanticDeprecatedSince20

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
_dotenv = os.environ.get("PYTHON_DOTENV_DISABLED")
os.environ["PYTHON_DOTENV_DISABLED"] = "1"
try:
    with warnings.catch_warnings():
        # One of its models is declared in pydantic's old way; ours to know, not for who runs the service.
        warnings.simplefilter("ignore", PydanticDeprecatedSince20)
        from graphiti_core import Graphiti
        from graphiti_core.cross_encoder.client import CrossEncoderClient
        from graphiti_core.driver.driver import GraphDriver
        from graphiti_core.driver.neo4j_driver import Neo4jDriver
        from graphiti_core.edges import EntityEdge
        from graphiti_core.embedder.client import EmbedderClient
        from graphiti_core.llm_client.config import LLMConfig
        from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
        from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode
        from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk_tx
finally:
    if _dotenv is None:
        del os.environ["PYTHON_DOTENV_DISABLED"]
    else:
        os.environ["PYTHON_DOTENV_DISABLED"] = _dotenv

__all__ = [
    "CrossEncoderClient",
    "EmbedderClient",
    "EntityEdge",
    "EntityNode",
    "EpisodeType",
    "EpisodicNode",
    "GraphDriver",
    "Graphiti",
    "LLMConfig",
    "Neo4jDriver",
    "OpenAIGenericClient",
    "add_nodes_and_edges_bulk_tx",
]
