"""A RedisQueue on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace import Client
from headrace.compat.common import TextCodec
from headrace.compat.redis_queue import RedisQueue
from headrace.testing import settable_clock


@pytest.fixture
def rq(url: str, hr: Client) -> Iterator[RedisQueue]:
    """A RedisQueue that does not wait for ids."""
    options: dict[str, Any] = {"codec": TextCodec(), "library": settable_clock()}
    with headrace.connect(url, namespace=hr.core.namespace, **options) as client:
        yield RedisQueue(client, poptimeout=0)
