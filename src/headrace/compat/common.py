"""The base classes of the compatibility APIs, and operations that the APIs share.

Internal: the API may change without notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import msgspec

from headrace.client import connect as connecting
from headrace.client.client import AsyncClient, Client
from headrace.close_on_exit import ClosesOnAsyncExit, ClosesOnExit
from headrace.codecs.codec import Codec
from headrace.engine import keys
from headrace.engine.call import Call, build
from headrace.engine.check import PAGE, text
from headrace.engine.record import Record, decode_record
from headrace.engine.settings import Value
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.jobs import queue_jobs
from headrace.operations.method import AnyOperation, AsyncMethods, SyncMethods
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import configure
from headrace.operations.requests import ask_one, raw
from headrace.operations.values import Job, payload_of
from headrace.transport.drive import Operation, drive_async

# The server sets these fields itself, so they do not show that a user configured the queue.
AUTOMATIC_SETTINGS = {b"created", b"paused"}

AnyClient = TypeVar("AnyClient", Client, AsyncClient)


class TextCodec:
    """Encode text as UTF-8, pass bytes through unchanged, and decode payloads to text.

    Bytes that are not valid UTF-8 become surrogates, which are encoded to the same bytes again.
    """

    def encode(self, value: object) -> bytes:
        """Return a str as UTF-8 or bytes unchanged. Raises InvalidArgument for any other type."""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if not isinstance(value, str):
            raise InvalidArgument(
                f"data must be a str or bytes, not {type(value).__name__}; to queue other data, "
                "pass a client from headrace.connect(url): that client encodes data as JSON"
            )
        try:
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"data must be valid Unicode: {error}") from error

    def decode(self, payload: bytes) -> str:
        """Return the text of a payload."""
        return payload.decode(errors="surrogateescape")


class CompatClient(SyncMethods, ClosesOnExit):
    """Base class of the sync compatibility APIs."""

    codec: ClassVar[str | Codec] = TextCodec()

    def __init__(self, client: Client | str, namespace: str = "default") -> None:
        if not isinstance(client, Client | str):
            raise InvalidArgument(f"pass a Client or a URL, not {type(client).__name__}")
        self._owns_client = isinstance(client, str)
        if isinstance(client, str):
            wanted = connecting.ConnectOptions(client, namespace, codec=self.codec)
            client = connecting.connect(wanted)
        self.client = client
        self.core = client.core

    def close(self) -> None:
        """Close the client if this object opened it; do not close a client that was passed in."""
        if self._owns_client:
            self.client.close()


class OpeningMethods(AsyncMethods):
    """Base class of the async classes whose first awaited call opens the connection."""

    @staticmethod
    def _make_function(operation: AnyOperation) -> Callable[..., Any]:
        """Make a coroutine function that awaits `self.open()` before it runs the operation."""

        @wraps(operation)
        async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            await self.open()
            return await drive_async(self.core.transport, operation(self, *args, **kwargs))

        return call


class AsyncCompatClient(OpeningMethods, ClosesOnAsyncExit):
    """Base class of the async compatibility APIs.

    If `client` is a URL, the first awaited call connects.
    """

    codec: ClassVar[str | Codec] = TextCodec()

    def __init__(self, client: AsyncClient | str, namespace: str = "default") -> None:
        if not isinstance(client, AsyncClient | str):
            raise InvalidArgument(f"pass an AsyncClient or a URL, not {type(client).__name__}")
        self._client = None if isinstance(client, str) else client
        self._wanted = None
        if isinstance(client, str):
            self._wanted = connecting.ConnectOptions(client, namespace, codec=self.codec)
        self._opening = asyncio.Lock()

    @property
    def client(self) -> AsyncClient:
        """The client that makes the calls. Raises InvalidArgument if the client is not open yet."""
        if self._client is None:
            raise InvalidArgument(
                "the connection is not open: first await open(), or use `async with`"
            )
        return self._client

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self.client.core

    async def open(self) -> None:
        """Connect unless the connection is already open."""
        async with self._opening:
            if self._client is None and self._wanted is not None:
                self._client = await connecting.connect_async(self._wanted)

    async def close(self) -> None:
        """Close the client if this object opened it; do not close a client that was passed in."""
        if self._client is not None and self._wanted is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self


def is_configured(queue: QueueLike) -> Operation[bool]:
    """Return whether the queue has settings of its own."""
    key = queue.core.key(0, keys.settings(queue.name))
    [names] = yield from raw(queue.core, [(0, ("HKEYS", key))])
    return not AUTOMATIC_SETTINGS.issuperset(names)


def ensure_profile(queue: QueueLike, profile: str, **settings: Value) -> Operation[None]:
    """Give the queue a profile and settings, unless the queue has settings of its own."""
    if not (yield from is_configured(queue)):
        yield from configure(queue, profile, **settings)


def all_jobs(queue: QueueLike, state: str, size: int = PAGE) -> Operation[list[Job]]:
    """Return all jobs of a queue that are in one state."""
    found: list[Job] = []
    offset, total = 0, 1
    while offset < total:
        page = yield from queue_jobs(queue, state, offset=offset, count=size)
        found += page.jobs
        offset, total = offset + size, page.total
    return found


class RunningJob(NamedTuple):
    """A substitute for the lease of a running job, for callers that know only the job's id.

    `token` identifies the current delivery of the job.
    """

    core: Core
    id: str
    token: str


def read_record(core: Core, job_id: str) -> Operation[tuple[Record, bytes] | None]:
    """Return the record and the payload of a job, or None if the job does not exist."""
    call: Call[list[Any]] = build("get", list, [(text("id", job_id, core.limits.name),)])
    for _, packed, stored_apart, *_ in (yield from ask_one(core, core.shard_of(job_id), call)):
        record = decode_record(packed)
        return record, payload_of(record, stored_apart)
    return None


def decode_json(name: str, blob: str | bytes) -> Any:
    """Decode a JSON argument. Raises InvalidArgument if the argument is not JSON."""
    if not isinstance(blob, str | bytes):
        raise InvalidArgument(f"{name} must be JSON text, not {type(blob).__name__}")
    try:
        return msgspec.json.decode(blob)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"{name} must be JSON: {error}") from error
