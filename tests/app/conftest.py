"""An app on a private server, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from headrace import App
from headrace.testing import Clock, settable_clock
from tests.support.valkey_only import location

__all__ = ["location"]


@pytest.fixture
def app(valkey_url: str) -> Iterator[App]:
    """Return an app in a new namespace."""
    found = App(f"test-{uuid4().hex[:12]}", url=valkey_url, library=settable_clock())
    yield found
    found.close()


@pytest.fixture
def app_clock(app: App) -> Clock:
    """Return the clock of the app fixture."""
    return Clock(app.client)
