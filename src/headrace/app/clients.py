"""The clients of an app: one for all threads, one for each event loop, when first used."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client

# The client of a loop, and what closes it.
Connected = tuple[AsyncClient, AsyncGenerator[None, None]]


class Clients:
    """The clients for one place. However many ask at once, each is connected once."""

    def __init__(self, wanted: connecting.Wanted) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()
        self._blocking: Client | None = None
        self._awaiting: WeakKeyDictionary[Any, Connected] = WeakKeyDictionary()
        self._coming: dict[Any, asyncio.Task[Connected]] = {}

    def blocking(self) -> Client:
        found = self._blocking
        if found is None:
            with self._lock:
                found = self._blocking
                if found is None:
                    found = self._blocking = connecting.connect(self._wanted)
        return found

    async def awaiting(self) -> AsyncClient:
        loop = asyncio.get_running_loop()
        found = self._awaiting.get(loop)
        if found is None:
            coming = self._coming.get(loop)
            if coming is None:
                coming = self._coming[loop] = loop.create_task(self._connect())
                coming.add_done_callback(self._arrived)
            # One that no longer wants it must not take it from the others.
            found = await asyncio.shield(coming)
        return found[0]

    async def _connect(self) -> Connected:
        client = await connecting.connect_async(self._wanted)
        closing = _closing(client)
        await anext(closing)
        return client, closing

    def _arrived(self, coming: asyncio.Task[Connected]) -> None:
        loop = coming.get_loop()
        del self._coming[loop]
        # To ask for the error is to have seen it: perhaps nobody waits any more.
        if not coming.cancelled() and coming.exception() is None:
            self._awaiting[loop] = coming.result()

    def close(self) -> None:
        """Closes the connections of the client for code that blocks."""
        with self._lock:
            found, self._blocking = self._blocking, None
        if found is not None:
            found.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        loop = asyncio.get_running_loop()
        coming = self._coming.get(loop)
        if coming is not None:
            coming.cancel()
            await asyncio.wait([coming])
        found = self._awaiting.pop(loop, None)
        if found is not None:
            await found[1].aclose()


async def _closing(client: AsyncClient) -> AsyncGenerator[None, None]:
    """Begun in a loop, it closes the client when the loop ends: a loop ends its generators."""
    try:
        yield
    finally:
        await client.close()
