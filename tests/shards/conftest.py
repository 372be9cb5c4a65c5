"""A Cluster for a test run, and clients on a namespace that is spread over shards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from headrace import Client
from headrace.testing import Clock, open_with_clock
from tests.support import servers
from tests.support.clients import COLOURS, opened


@dataclass(frozen=True)
class Place:
    """Where the shards of a test are."""

    url: str
    shards: int


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    with servers.cluster() as url:
        yield url


@pytest.fixture
def calm(place: Place) -> Iterator[Client]:
    """A client that blocks, to prepare and to look."""
    namespace = f"spread-{uuid4().hex[:12]}"
    client, _ = open_with_clock(place.url, namespace=namespace, shards=place.shards)
    with client:
        yield client


@pytest.fixture
def clock(calm: Client) -> Clock:
    return Clock(calm)


@pytest.fixture(params=COLOURS)
async def hr(request: pytest.FixtureRequest, place: Place, calm: Client) -> AsyncIterator[Any]:
    """A client of either colour on the same namespace."""
    async with opened(request.param, place.url, namespace=calm.core.namespace) as client:
        yield client


@pytest.fixture
def twin(valkey_url: str) -> Iterator[tuple[Client, Clock]]:
    """A namespace of one shard, to do the same on."""
    client, clock = open_with_clock(valkey_url)
    with client:
        yield client, clock
