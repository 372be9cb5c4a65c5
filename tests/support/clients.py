"""Helpers to test the sync and the asyncio client in one test."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import headrace
from headrace.testing import settable_clock

CLIENT_KINDS = ("sync", "async")


async def got(value: Any) -> Any:
    """Return the result of a call of either client."""
    return await value if inspect.isawaitable(value) else value


async def listed(values: Any) -> list[Any]:
    """Return all that an iterator of either client yields."""
    if hasattr(values, "__aiter__"):
        return [value async for value in values]
    return list(values)


async def next_of(values: Any) -> Any:
    """Return the next value of an iterator of either client; None at its end."""
    if hasattr(values, "__aiter__"):
        return await anext(values, None)
    return await asyncio.to_thread(next, values, None)


@asynccontextmanager
async def opened(kind: str, url: str, **options: Any) -> AsyncIterator[Any]:
    """Open a client of either kind on a namespace whose clock can be set."""
    options.setdefault("library", settable_clock())
    connect = headrace.connect if kind == "sync" else headrace.connect_async
    client = await got(connect(url, **options))
    try:
        yield client
    finally:
        await got(client.close())


@dataclass(frozen=True)
class Location:
    """The server of a namespace, its number of shards, and whether it uses the server's clock."""

    url: str
    shards: int = 1
    server_clock: bool = False


@contextmanager
def opened_on(location: Location) -> Iterator[headrace.Client]:
    """Open a sync client on a new namespace."""
    options: dict[str, Any] = {} if location.server_clock else {"library": settable_clock()}
    namespace = f"test-{uuid4().hex[:12]}"
    with headrace.connect(
        location.url, namespace=namespace, shards=location.shards, **options
    ) as client:
        yield client
