"""Base classes of the compatibility APIs: they use a given client or open one by its URL."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sized
from functools import wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.closing import ClosesOnAsyncExit, ClosesOnExit
from headrace.codecs.codec import Codec
from headrace.engine.call import Call, build
from headrace.engine.check import PAGE, text
from headrace.engine.record import Record, decode_record
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.jobs import queue_jobs
from headrace.operations.method import AnyOperation, AsyncMethods, SyncMethods
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import configure
from headrace.operations.requests import ask_one, raw
from headrace.operations.values import Job, payload_of
from headrace.transport.drive import Operation, drive_async

# The server sets these itself, so they do not show that a user configured the queue.
AUTOMATIC_SETTINGS = {b"created", b"paused"}

AnyClient = TypeVar("AnyClient", Client, AsyncClient)
AnyPage = TypeVar("AnyPage", bound=Sized)


class TextCodec:
    """Encode text as UTF-8 and bytes unchanged; decode to text.

    Bytes that are not valid UTF-8 survive the round trip as surrogates.
    """

    def encode(self, value: object) -> bytes:
        """Return the bytes of a str or bytes. Raises InvalidArgument for any other type."""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if not isinstance(value, str):
            raise InvalidArgument(
                f"data must be a str or bytes, not {type(value).__name__}; to queue other data, "
                "pass a client from headrace.connect(url), which encodes as JSON"
            )
        try:
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"data must be valid Unicode: {error}") from error

    def decode(self, payload: bytes) -> str:
        """Return the text of a payload."""
        return payload.decode(errors="surrogateescape")


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


def all_pages(
    read: Callable[..., Operation[AnyPage]], *args: Any, size: int | None = None
) -> Operation[list[AnyPage]]:
    """Return all pages of an operation that takes an offset and a count."""
    count = PAGE if size is None else size
    pages: list[AnyPage] = []
    offset = 0
    while True:
        pages.append((yield from read(*args, offset=offset, count=count)))
        offset += len(pages[-1])
        if len(pages[-1]) < count:
            return pages


def all_jobs(queue: QueueLike, state: str, size: int | None = None) -> Operation[list[Job]]:
    """Return all jobs of a queue in a state."""

    def read(*, offset: int, count: int) -> Operation[list[Job]]:
        return (yield from queue_jobs(queue, state, offset=offset, count=count)).jobs

    return [job for page in (yield from all_pages(read, size=size)) for job in page]


class RunningJob(NamedTuple):
    """A running job that is finished by its id, with the token of its present delivery."""

    core: Core
    id: str
    token: str


def read_record(core: Core, job_id: str) -> Operation[tuple[Record, bytes] | None]:
    """Return the record and the payload of a job, or None if there is none."""
    call: Call[list[Any]] = build("get", list, [(text("id", job_id, core.limits.name),)])
    for _, packed, stored_apart, *_ in (yield from ask_one(core, core.shard_of(job_id), call)):
        record = decode_record(packed)
        return record, payload_of(record, stored_apart)
    return None


def process_name() -> str:
    """Return <hostname>-<pid>, the default name of a worker."""
    return f"{socket.gethostname()}-{os.getpid()}"
