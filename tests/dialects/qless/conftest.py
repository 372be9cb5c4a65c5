"""The dialect in both colours, on a namespace whose clock stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from headrace import Client
from headrace.compat.qless import AsyncQless, Qless
from tests.support.clients import CLIENT_KINDS, opened

Open = Callable[..., Any]


@pytest.fixture(params=CLIENT_KINDS)
async def opening(request: pytest.FixtureRequest, url: str, hr: Client) -> AsyncIterator[Open]:
    """Opens the dialect with options; several share the namespace of hr, and so its clock."""
    kind = Qless if request.param == "sync" else AsyncQless
    async with opened(request.param, url, namespace=hr.core.namespace) as client:
        yield lambda *args, **options: kind(client, *args, **options)


@pytest.fixture
def qless(opening: Open) -> Any:
    """The dialect as it is by default, popping as worker w1."""
    return opening("w1")


@pytest.fixture
def other(opening: Open) -> Any:
    """Another client of the dialect, popping as worker w2."""
    return opening("w2")


@pytest.fixture
def queue(qless: Any) -> Any:
    """A queue of the dialect."""
    return qless.queues["testing"]
