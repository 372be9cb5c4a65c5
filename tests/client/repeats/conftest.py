"""A client whose way to the server breaks, and a calm one beside it that sees what happened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest

from headrace import Client
from headrace.engine.script import operations
from headrace.testing import Clock, open_with_clock
from tests.colours import COLOURS, opened
from tests.proxy import MOMENTS, Way, way_to
from tests.servers import valkey


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server that has all scripts, so that the first call of each is carried out at once."""
    with valkey() as url:
        client, _ = open_with_clock(url)
        with client:
            texts = [client.core.library[op].text for op in operations()]
            client.core.transport.send([(0, ("SCRIPT", "LOAD", text)) for text in texts])
        yield url


@pytest.fixture
def way(server_url: str) -> Iterator[Way]:
    with way_to(server_url) as way:
        yield way


@pytest.fixture
def calm(server_url: str) -> Iterator[Client]:
    """A client on the same namespace that nothing happens to."""
    client, _ = open_with_clock(server_url, namespace=f"repeats-{uuid4().hex}")
    with client:
        yield client


@pytest.fixture
def clock(calm: Client) -> Clock:
    return Clock(calm)


@pytest.fixture(params=COLOURS)
async def hr(request: pytest.FixtureRequest, way: Way, calm: Client) -> AsyncIterator[Any]:
    async with opened(request.param, way.url, namespace=calm.core.namespace) as client:
        yield client


@pytest.fixture(params=MOMENTS)
def moment(request: pytest.FixtureRequest) -> str:
    return str(request.param)
