"""Base classes of the compatibility APIs: they use a given client or open one by its URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.closing import ClosesOnAsyncExit, ClosesOnExit
from headrace.codecs.codec import Codec
from headrace.compat.text_codec import TextCodec
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.method import AnyOperation, AsyncMethods, SyncMethods
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import configure
from headrace.operations.requests import raw
from headrace.transport.drive import Operation, drive_async

# The server sets these itself, so they do not show that a user configured the queue.
AUTOMATIC_SETTINGS = {b"created", b"paused"}


def _wanted(url: str, namespace: str, codec: str | Codec) -> connecting.ConnectOptions:
    return connecting.ConnectOptions(url, namespace, codec=codec)


class CompatClient(SyncMethods, ClosesOnExit):
    """Base of the sync compatibility APIs."""

    codec: ClassVar[str | Codec] = TextCodec()

    def __init__(self, client: Client | str, namespace: str = "default") -> None:
        if not isinstance(client, Client | str):
            raise InvalidArgument(f"pass a Client or a URL, not {type(client).__name__}")
        self._owns_client = isinstance(client, str)
        self.client = (
            connecting.connect(_wanted(client, namespace, self.codec))
            if isinstance(client, str)
            else client
        )

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self.client.core

    def close(self) -> None:
        """Close the client if this object opened it; leave a client that was passed in open."""
        if self._owns_client:
            self.client.close()


class OpeningMethods(AsyncMethods):
    """Base of async classes whose first awaited call opens the connection."""

    @staticmethod
    def _make_function(operation: AnyOperation) -> Callable[..., Any]:
        """Make a coroutine function that awaits `self.open()` before it runs the operation."""

        @wraps(operation)
        async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            await self.open()
            return await drive_async(self.core.transport, operation(self, *args, **kwargs))

        return call

    async def open(self) -> None:
        """Connect, unless that has happened already."""
        raise NotImplementedError


class AsyncCompatClient(OpeningMethods, ClosesOnAsyncExit):
    """Base of the async compatibility APIs. With a URL, the first awaited call connects."""

    codec: ClassVar[str | Codec] = TextCodec()

    def __init__(self, client: AsyncClient | str, namespace: str = "default") -> None:
        if not isinstance(client, AsyncClient | str):
            raise InvalidArgument(f"pass an AsyncClient or a URL, not {type(client).__name__}")
        self._wanted = _wanted(client, namespace, self.codec) if isinstance(client, str) else None
        self._client = None if isinstance(client, str) else client
        self._opening = asyncio.Lock()

    @property
    def client(self) -> AsyncClient:
        """The client that makes the calls. Raises InvalidArgument before the first call."""
        if self._client is None:
            raise InvalidArgument("the connection is not open: await a call or use `async with`")
        return self._client

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self.client.core

    async def open(self) -> None:
        """Connect, unless that has happened already."""
        async with self._opening:
            if self._client is None and self._wanted is not None:
                self._client = await connecting.connect_async(self._wanted)

    async def close(self) -> None:
        """Close the client if this object opened it; leave a client that was passed in open."""
        if self._client is not None and self._wanted is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self


def is_configured(queue: QueueLike) -> Operation[bool]:
    """Return whether the queue has settings of its own."""
    key = queue.core.key(0, f"settings:{queue.name}")
    [names] = yield from raw(queue.core, [(0, ("HKEYS", key))])
    return not AUTOMATIC_SETTINGS.issuperset(names)


def ensure_profile(queue: QueueLike, profile: str) -> Operation[None]:
    """Give the queue a profile, unless it has settings of its own."""
    if not (yield from is_configured(queue)):
        yield from configure(queue, profile)
