"""How a dialect is opened: on a client that is there, or by a URL on a client of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from types import TracebackType
from typing import ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec
from headrace.compat.plain import Plain
from headrace.engine.call import Call, build
from headrace.errors import InvalidArgument
from headrace.operations import method as bind
from headrace.operations.core import Core
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import configure
from headrace.operations.requests import ask_one
from headrace.transport.drive import Operation

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=bind.Face)
# What a queue may have without anybody having chosen how it is to behave.
UNCHOSEN = {b"created", b"paused"}


def _wanted(url: str, namespace: str, codec: str | Codec) -> connecting.Wanted:
    return connecting.wanted(url, namespace, None, codec, None, None, 15, 5)


class Opened:
    """A dialect for code that blocks. A client that it has opened itself, it closes."""

    codec: ClassVar[str | Codec] = Plain()

    def __init__(self, client: Client | str, namespace: str = "default") -> None:
        if not isinstance(client, Client | str):
            raise InvalidArgument(f"give a Client or a URL, not {type(client).__name__}")
        self._own = isinstance(client, str)
        self.client = (
            connecting.connect(_wanted(client, namespace, self.codec))
            if isinstance(client, str)
            else client
        )

    @property
    def core(self) -> Core:
        return self.client.core

    def close(self) -> None:
        """Closes the connections, unless they are those of a client that was given."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncOpened:
    """A dialect for code that awaits; by a URL it is opened with its first call."""

    codec: ClassVar[str | Codec] = Plain()

    def __init__(self, client: AsyncClient | str, namespace: str = "default") -> None:
        if not isinstance(client, AsyncClient | str):
            raise InvalidArgument(f"give an AsyncClient or a URL, not {type(client).__name__}")
        self._own = _wanted(client, namespace, self.codec) if isinstance(client, str) else None
        self._client = None if isinstance(client, str) else client
        self._opening = asyncio.Lock()

    @property
    def client(self) -> AsyncClient:
        if self._client is None:
            raise InvalidArgument("it is not open yet: await a call, or use it in an async with")
        return self._client

    @property
    def core(self) -> Core:
        return self.client.core

    async def open(self) -> None:
        """Connects, if that has not happened yet."""
        async with self._opening:
            if self._client is None and self._own is not None:
                self._client = await connecting.connect_async(self._own)

    async def close(self) -> None:
        """Closes the connections, unless they are those of a client that was given."""
        if self._client is not None and self._own is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()


def awaiting(
    operation: Callable[Concatenate[F, P], Operation[T]],
) -> Callable[Concatenate[F, P], Awaitable[T]]:
    """The talk as a method of what is an AsyncOpened too; it opens that if need be."""
    opened = bind.awaiting(operation)

    @wraps(opened)
    async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        await cast("AsyncOpened", self).open()
        return await opened(self, *args, **kwargs)

    return method


def chosen(queue: QueueLike) -> Operation[bool]:
    """Whether somebody has chosen how a queue is to behave."""
    call: Call[list[bytes]] = build("queue_settings", lambda reply: reply[0], queue=queue.name)
    own = yield from ask_one(queue.core, 0, call)
    return not UNCHOSEN.issuperset(own[::2])


def made(queue: QueueLike, profile: str) -> Operation[None]:
    """Gives a queue its profile, unless somebody has chosen how it is to behave already."""
    if not (yield from chosen(queue)):
        yield from configure(queue, profile)
