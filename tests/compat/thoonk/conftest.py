"""Thoonk clients on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace
from headrace import Client
from headrace.compat.thoonk import Thoonk
from headrace.testing import settable_clock


@pytest.fixture
def thoonk(url: str, hr: Client) -> Iterator[Thoonk]:
    """A Thoonk on a connection of its own."""
    namespace = hr.core.namespace
    with headrace.connect(url, namespace=namespace, library=settable_clock()) as client:
        yield Thoonk(client)


@pytest.fixture
def listening(url: str, hr: Client) -> Iterator[Thoonk]:
    """A Thoonk that calls handlers."""
    namespace = hr.core.namespace
    with (
        headrace.connect(url, namespace=namespace, library=settable_clock()) as client,
        Thoonk(client, listen=True) as found,
    ):
        yield found


@pytest.fixture
def plain(hr: Client) -> Thoonk:
    """A Thoonk on hr itself."""
    return Thoonk(hr)
