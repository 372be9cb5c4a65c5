"""The pytest plugin: fixtures that are there without an import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from headrace.testing.clock import Clock, open_with_clock, settable_clock

if TYPE_CHECKING:
    from headrace.app.app import App
    from headrace.client.client import Client


@pytest.fixture(scope="session")
def headrace_url() -> Iterator[str]:
    """The URL of a private server that is gone after the test run."""
    from headrace.local_server.scratch import private_server

    with private_server() as url:
        yield url


@pytest.fixture
def headrace_client(headrace_url: str) -> Iterator[Client]:
    """A client on a namespace of its own, whose clock stands still until it is moved."""
    client, _ = open_with_clock(headrace_url)
    with client:
        yield client


@pytest.fixture
def headrace_clock(headrace_client: Client) -> Clock:
    """The clock of headrace_client, and of the apps of headrace_app."""
    return Clock(headrace_client)


@pytest.fixture
def headrace_app(headrace_url: str, headrace_clock: Clock) -> Iterator[Callable[[App], App]]:
    """Called with an app of yours: for this test it has the private server and that clock."""
    with ExitStack() as bound:

        def bind(app: App) -> App:
            namespace = f"test-{uuid4().hex[:12]}"
            library = settable_clock()
            bound.enter_context(app.bound_to(headrace_url, namespace=namespace, library=library))
            headrace_clock.join(app.client)
            bound.callback(headrace_clock.leave, app.client)
            return app

        yield bind
