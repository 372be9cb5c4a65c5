"""The `site` fixture of the worker tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.support.site import Site, site_on


@pytest.fixture
def site(valkey_url: str, tmp_path: Path) -> Iterator[Site]:
    """Return a site in a new namespace; its workers are killed after the test."""
    with site_on(valkey_url, tmp_path) as found:
        yield found
