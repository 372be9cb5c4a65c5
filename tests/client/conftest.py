"""A place for an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory


@pytest.fixture
def home() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path / "home"
        embedded.stop(path / "home")
