"""A RedisQueue of either colour, on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace import Client
from headrace.compat.plain import Plain
from headrace.compat.redis_queue import AsyncRedisQueue, RedisQueue
from tests.support.clients import CLIENT_KINDS, opened

KINDS: dict[str, Any] = {"sync": RedisQueue, "async": AsyncRedisQueue}


@pytest.fixture(params=CLIENT_KINDS)
async def rq(request: pytest.FixtureRequest, url: str, hr: Client) -> AsyncIterator[Any]:
    namespace = hr.core.namespace
    async with opened(request.param, url, namespace=namespace, codec=Plain()) as client:
        yield KINDS[request.param](client, poptimeout=0)
