"""Instances of Worqr of either colour, on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from headrace import Client
from headrace.compat.plain import Plain
from headrace.compat.worqr import AsyncWorqr, Worqr
from tests.support.clients import CLIENT_KINDS, got, opened

KINDS: dict[str, Any] = {"sync": Worqr, "async": AsyncWorqr}
NEVER = 10**6


@pytest.fixture(params=CLIENT_KINDS)
async def new(
    request: pytest.FixtureRequest, url: str, hr: Client
) -> AsyncIterator[Callable[..., Any]]:
    """Makes instances, by the id of their worker; nothing keeps that alive unless it is said so."""
    made: list[Any] = []
    namespace = hr.core.namespace
    async with opened(request.param, url, namespace=namespace, codec=Plain()) as client:

        def make(worker: str = "W1", **options: Any) -> Any:
            given = {"workerHeartbeatInterval": NEVER, "workerCleanupInterval": NEVER, **options}
            made.append(KINDS[request.param](client, workerId=worker, **given))
            return made[-1]

        yield make
        for worqr in made:
            await got(worqr.close())


@pytest.fixture
def worqr(new: Callable[..., Any]) -> Any:
    """An instance whose worker is W1."""
    return new()
