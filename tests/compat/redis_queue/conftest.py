"""A RedisQueue on the namespace of hr, whose clock stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace
from headrace import Client
from headrace.compat.redis_queue import RedisQueue
from headrace.compat.text_codec import TextCodec
from headrace.testing import settable_clock


@pytest.fixture
def rq(url: str, hr: Client) -> Iterator[RedisQueue]:
    """A RedisQueue that does not wait for ids."""
    options = {"namespace": hr.core.namespace, "codec": TextCodec(), "library": settable_clock()}
    with headrace.connect(url, **options) as client:
        yield RedisQueue(client, poptimeout=0)
