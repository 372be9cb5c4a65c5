"""A Cluster for a test run, and namespaces that are spread over shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace import Client
from headrace.testing import Clock, open_with_clock
from tests.support import servers
from tests.support.clients import Location


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    with servers.cluster() as url:
        yield url


@pytest.fixture(params=["four shards", "cluster"])
def location(request: pytest.FixtureRequest) -> Location:
    """Four shards on one server, then eight on a Cluster of three primaries."""
    if request.param == "cluster":
        return Location(request.getfixturevalue("cluster_url"), shards=8)
    return Location(request.getfixturevalue("valkey_url"), shards=4)


@pytest.fixture
def hr(any_client: Any) -> Any:
    """The client under test."""
    return any_client


@pytest.fixture
def twin(valkey_url: str) -> Iterator[tuple[Client, Clock]]:
    """A namespace of one shard, for comparison."""
    client, clock = open_with_clock(valkey_url)
    with client:
        yield client, clock
