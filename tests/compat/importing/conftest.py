"""An installation of another system: a database of its own on the server of hr."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.importing.support.installation import Installation


@pytest.fixture
def old(url: str) -> Iterator[Installation]:
    """An empty database."""
    with Installation(url) as found:
        yield found
