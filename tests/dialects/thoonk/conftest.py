"""A Thoonk of either colour, beside hr, a client of the same namespace whose clock stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace import Client
from headrace.compat.thoonk import AsyncThoonk, Thoonk
from tests.support.clients import CLIENT_KINDS, got, opened

KINDS: dict[str, type[Any]] = {"sync": Thoonk, "async": AsyncThoonk}


@pytest.fixture(params=CLIENT_KINDS)
async def thoonk(request: pytest.FixtureRequest, url: str, hr: Client) -> AsyncIterator[Any]:
    async with opened(request.param, url, namespace=hr.core.namespace) as client:
        yield KINDS[request.param](client)


@pytest.fixture(params=CLIENT_KINDS)
async def listening(request: pytest.FixtureRequest, url: str, hr: Client) -> AsyncIterator[Any]:
    """One that listens."""
    async with opened(request.param, url, namespace=hr.core.namespace) as client:
        found = KINDS[request.param](client, listen=True)
        if request.param == "async":
            await found.open()
        yield found
        await got(found.close())


@pytest.fixture
def plain(hr: Client) -> Thoonk:
    """One on hr itself, for tests that need no other colour."""
    return Thoonk(hr)
