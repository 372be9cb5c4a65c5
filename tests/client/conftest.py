"""A place for an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.client import embedded
from headrace.client.scratch import scratch_directory


@pytest.fixture
def home() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path / "home"
        embedded.stop(path / "home")
