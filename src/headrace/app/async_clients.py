"""The asyncio clients of an app: one for each event loop, connected on first use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient

# The client of an event loop, and the generator that closes the client.
Connected = tuple[AsyncClient, AsyncGenerator[None, None]]


class AsyncClients:
    """The asyncio clients of one namespace, one for each event loop.

    Concurrent first calls in one event loop share a single connection attempt.
    """

    def __init__(self, options: connecting.ConnectOptions) -> None:
        self._options = options
        self._connected: WeakKeyDictionary[Any, Connected] = WeakKeyDictionary()
        self._connecting: dict[Any, asyncio.Task[Connected]] = {}

    async def get(self) -> AsyncClient:
        """Return the client of the running loop.

        Raises ServerUnavailable if the client cannot connect.
        """
        loop = asyncio.get_running_loop()
        found = self._connected.get(loop)
        if found is None:
            attempt = self._connecting.get(loop)
            if attempt is None:
                attempt = self._connecting[loop] = loop.create_task(self._connect())
                attempt.add_done_callback(self._done)
            # The cancellation of one caller must not cancel the shared connection attempt.
            found = await asyncio.shield(attempt)
        return found[0]

    async def close(self) -> None:
        """Close the client of the running loop."""
        loop = asyncio.get_running_loop()
        attempt = self._connecting.get(loop)
        if attempt is not None:
            attempt.cancel()
            await asyncio.wait([attempt])
        found = self._connected.pop(loop, None)
        if found is not None:
            await found[1].aclose()

    async def _connect(self) -> Connected:
        client = await connecting.connect_async(self._options)
        closing = _close_with_loop(client)
        await anext(closing)
        return client, closing

    def _done(self, attempt: asyncio.Task[Connected]) -> None:
        loop = attempt.get_loop()
        del self._connecting[loop]
        # Read the exception here. Otherwise asyncio logs it if all callers have stopped waiting.
        if not attempt.cancelled() and attempt.exception() is None:
            self._connected[loop] = attempt.result()


async def _close_with_loop(client: AsyncClient) -> AsyncGenerator[None, None]:
    """Close the client when asyncio closes this generator at the end of the event loop."""
    try:
        yield
    finally:
        await client.close()
