"""A server for the random steps of the models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.support import servers


@pytest.fixture(scope="session")
def _model_server() -> Iterator[str]:
    with servers.valkey() as url:
        yield url


@pytest.fixture
def private_url(_model_server: str) -> str:
    """An empty server: random steps list all keys very often, so other tests must not add any."""
    with redis.Redis.from_url(_model_server) as server:
        server.flushall()
        server.function_flush()
    return _model_server
