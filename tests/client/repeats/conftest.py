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


@pytest.fixture
def way(valkey_url: str) -> Iterator[Way]:
    with way_to(valkey_url) as way:
        yield way


@pytest.fixture
def calm(valkey_url: str) -> Iterator[Client]:
    """A client on the same namespace that nothing happens to."""
    client, _ = open_with_clock(valkey_url, namespace=f"repeats-{uuid4().hex}")
    scripts = [(0, ("SCRIPT", "LOAD", client.core.library[op].text)) for op in operations()]
    client.core.wire.send(scripts)
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
