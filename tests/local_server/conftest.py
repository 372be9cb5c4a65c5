"""A directory for an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.support.valkey_only import location

__all__ = ["home", "location"]


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a directory for an embedded server, which is stopped after the test."""
    with scratch_directory() as path:
        yield path / "home"
        embedded.stop(path / "home")
