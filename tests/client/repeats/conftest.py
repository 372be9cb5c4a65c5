"""A client whose connection breaks, and a second client that inspects the result."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.operations.requests import load
from headrace.testing import open_with_clock
from headrace.transport.drive import drive
from tests.support.clients import Location
from tests.support.proxy import MOMENTS


@pytest.fixture(scope="session")
def _loaded_url(valkey_url: str) -> str:
    """A server that has loaded the library, so that no call is repeated to load it."""
    client, _ = open_with_clock(valkey_url)
    with client:
        drive(client.core.transport, load(client.core))
    return valkey_url


@pytest.fixture
def location(_loaded_url: str) -> Location:
    return Location(_loaded_url)


@pytest.fixture
def hr(far_client: Any) -> Any:
    """The client under test, whose connection the test cuts."""
    return far_client


@pytest.fixture(params=MOMENTS)
def moment(request: pytest.FixtureRequest) -> str:
    return str(request.param)
