"""The pytest plugin with Headrace's fixtures."""

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
    """Return the URL of a private server that ends with the test run."""
    from headrace.local_server.scratch import private_server

    with private_server() as url:
        yield url


@pytest.fixture
def headrace_client(headrace_url: str) -> Iterator[Client]:
    """Return a client on a new namespace. Only the test moves the clock of the namespace."""
    client, _ = open_with_clock(headrace_url)
    with client:
        yield client


@pytest.fixture
def headrace_clock(headrace_client: Client) -> Clock:
    """Return the clock of headrace_client and of the apps bound with headrace_app."""
    return Clock(headrace_client)


@pytest.fixture
def headrace_app(headrace_url: str, headrace_clock: Clock) -> Iterator[Callable[[App], App]]:
    """Return a function that connects an app to the private server and to headrace_clock."""
    with ExitStack() as bound:

        def bind(app: App) -> App:
            namespace = f"test-{uuid4().hex[:12]}"
            library = settable_clock()
            bound.enter_context(app.bound_to(headrace_url, namespace=namespace, library=library))
            headrace_clock.join(app.client)
            bound.callback(headrace_clock.leave, app.client)
            return app

        yield bind
