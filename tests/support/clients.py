"""One test for both clients: what blocks is simply called, what awaits is awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import headrace
from headrace.testing import settable_clock

COLOURS = ("blocking", "awaiting")


async def got(value: Any) -> Any:
    """What a call of either client came to."""
    return await value if inspect.isawaitable(value) else value


async def listed(values: Any) -> list[Any]:
    """What an iterator of either client yields."""
    if hasattr(values, "__aiter__"):
        return [value async for value in values]
    return list(values)


async def next_of(values: Any) -> Any:
    """The next of what an iterator of either client yields; None at its end."""
    if hasattr(values, "__aiter__"):
        return await anext(values, None)
    return await asyncio.to_thread(next, values, None)


@asynccontextmanager
async def opened(colour: str, url: str, **options: Any) -> AsyncIterator[Any]:
    """A client of either colour, on a namespace whose clock can be set."""
    options.setdefault("library", settable_clock())
    connect = headrace.connect if colour == "blocking" else headrace.connect_async
    client = await got(connect(url, **options))
    try:
        yield client
    finally:
        await got(client.close())
