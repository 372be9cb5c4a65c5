"""A site with workers for each test, and spans that are kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.worker.site import Site, site_on


@pytest.fixture
def site(valkey_url: str, tmp_path: Path) -> Iterator[Site]:
    """A namespace of its own, and workers that are gone with the test."""
    with site_on(valkey_url, tmp_path) as found:
        yield found


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Where spans are found when they are over."""
    return InMemorySpanExporter()
