"""An old installation: a database of its own, into which a test lays keys by plain commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.importing.old import Old


@pytest.fixture
def old(url: str) -> Iterator[Old]:
    """An empty database on the server of hr."""
    found = Old(url)
    yield found
    found.close()
