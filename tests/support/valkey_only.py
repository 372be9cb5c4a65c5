"""The fixture `location` for directories whose tests use the server of `valkey_url` directly."""

from __future__ import annotations

import pytest

from tests.support.clients import Location


@pytest.fixture
def location(request: pytest.FixtureRequest, valkey_url: str) -> Location:
    """Put the namespace of a test on the server of valkey_url."""
    marker = request.node.get_closest_marker("namespace")
    return Location(valkey_url, **(marker.kwargs if marker else {}))
