"""A place for an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.support.clients import Location


@pytest.fixture
def home() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path / "home"
        embedded.stop(path / "home")


@pytest.fixture
def location(request: pytest.FixtureRequest, valkey_url: str) -> Location:
    """Use the server of valkey_url, which the tests of this directory name themselves."""
    marker = request.node.get_closest_marker("namespace")
    return Location(valkey_url, **(marker.kwargs if marker else {}))
