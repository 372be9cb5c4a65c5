"""Fixtures of the telemetry tests: a site for workers, and spans in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.worker.support.site import Site, site_on


@pytest.fixture
def site(valkey_url: str, tmp_path: Path) -> Iterator[Site]:
    """Return a site in a new namespace; its workers are killed after the test."""
    with site_on(valkey_url, tmp_path) as found:
        yield found


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Return an exporter that keeps finished spans in memory."""
    return InMemorySpanExporter()
