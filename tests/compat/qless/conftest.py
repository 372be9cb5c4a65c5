"""Qless clients on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from headrace import Client
from headrace.compat.qless import Qless
from headrace.testing import settable_clock

OpenQless = Callable[..., Any]


@pytest.fixture
def open_qless(url: str, hr: Client) -> Iterator[OpenQless]:
    """Open Qless clients with options; they share the namespace and the clock of hr."""
    namespace = hr.core.namespace
    with headrace.connect(url, namespace=namespace, library=settable_clock()) as client:
        yield lambda *args, **options: Qless(client, *args, **options)


@pytest.fixture
def qless(open_qless: OpenQless) -> Any:
    """A Qless with default options, whose worker is w1."""
    return open_qless("w1")


@pytest.fixture
def other(open_qless: OpenQless) -> Any:
    """Another Qless, whose worker is w2."""
    return open_qless("w2")


@pytest.fixture
def queue(qless: Any) -> Any:
    """A queue of qless."""
    return qless.queues["testing"]
