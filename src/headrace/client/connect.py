"""Connect to a namespace and return a client.

The URL names a server, a Sentinel service or a node of a Cluster. Without a URL, the client uses
the embedded server.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, NamedTuple, TypedDict, TypeVar
from urllib.parse import urlsplit

from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.asyncio.connection import parse_url as parse_async_url
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool, parse_url
from redis.driver_info import DriverInfo
from redis.retry import Retry
from redis.sentinel import Sentinel

from headrace.client.client import AsyncClient, Client
from headrace.client.server_url import SENTINEL, check_url, split_sentinel_url
from headrace.codecs.codec import Codec, codec_of
from headrace.engine import check
from headrace.engine.check import Durability, Limits, Span, milliseconds
from headrace.engine.script import LIBRARY, Library
from headrace.errors import InvalidArgument, NamespaceMismatch
from headrace.local_server import embedded
from headrace.operations.core import Core
from headrace.operations.namespace import open_namespace, open_shards
from headrace.operations.requests import raw
from headrace.operations.sessions import default_worker_name
from headrace.transport.drive import Operation, drive, drive_async
from headrace.transport.topology import Address, Topology
from headrace.transport.transport import AsyncTransport, Transport

T = TypeVar("T")

LAYOUT = 2
CONNECTIONS = 10_000


class ConnectArguments(TypedDict, total=False):
    """The keyword arguments of `connect` and `connect_async`."""

    shards: int | None
    codec: str | Codec
    limits: Limits | None
    library: Library | None
    retry_for: Span
    timeout: Span
    durability: Durability
    actor: str | None


class ConnectOptions:
    """The checked arguments of `connect` and `connect_async`.

    An empty `url` means the embedded server. Raises InvalidArgument for an invalid argument.
    """

    def __init__(
        self,
        url: str | None,
        namespace: str,
        *,
        shards: int | None = None,
        codec: str | Codec = "json",
        limits: Limits | None = None,
        library: Library | None = None,
        retry_for: Span = 15,
        timeout: Span = 5,
        durability: Durability = 0,
        actor: str | None = None,
    ) -> None:
        self.namespace = check.namespace(namespace)
        if shards is not None:
            check.whole("shards", shards, 1, 1024)
        if url is not None:
            check_url(url)
        self.url = "" if url is None else url
        self.shards = shards
        self.codec = codec_of(codec)
        self.limits = _instance("limits", limits, Limits) or Limits()
        self.library = _instance("library", library, Library) or LIBRARY
        self.retry_for = milliseconds("retry_for", retry_for) / 1000
        self.timeout = milliseconds("timeout", timeout) / 1000
        self.durability = check.durability(durability)
        self.actor = default_worker_name() if actor is None else actor
        check.text("actor", self.actor, self.limits.name)
        if self.timeout == 0:
            raise InvalidArgument("timeout must be at least a millisecond")

    def __repr__(self) -> str:
        """Return a text without the URL, which may contain a password."""
        return f"<ConnectOptions {self.namespace!r}>"


def _instance(what: str, value: T | None, kind: type[T]) -> T | None:
    if value is None or isinstance(value, kind):
        return value
    raise InvalidArgument(f"{what} must be a {kind.__name__}, not {type(value).__name__}")


def connect(options: ConnectOptions) -> Client:
    """Return a sync client of a namespace; create the namespace if it does not exist."""
    return open_client(connect_core(options), options)


def open_client(core: Core, options: ConnectOptions) -> Client:
    """Open or create the namespace, and return a sync client with the connections of `core`."""
    try:
        drive(core.transport, _open(core, options))
    except BaseException:
        core.transport.close()
        raise
    return Client(core)


def connect_core(options: ConnectOptions) -> Core:
    """Connect to the server or to the nodes of a Cluster, without opening a namespace."""
    url = options.url or embedded.start()
    core = _core(options, Transport(_topology(options, url, SYNC)))
    try:
        seeds = drive(core.transport, _cluster_seeds(core, url))
        if seeds:
            core.transport.close()
            core.transport = Transport(_topology(options, url, SYNC, seeds))
            core.transport.refresh()
    except BaseException:
        core.transport.close()
        raise
    return core


async def connect_async(options: ConnectOptions) -> AsyncClient:
    """Return an asyncio client of a namespace; create the namespace if it does not exist."""
    url = options.url or embedded.start()
    core = _core(options, AsyncTransport(_topology(options, url, ASYNC), options.timeout))
    try:
        seeds = await drive_async(core.transport, _cluster_seeds(core, url))
        if seeds:
            await core.transport.close()
            core.transport = AsyncTransport(_topology(options, url, ASYNC, seeds), options.timeout)
            await core.transport.refresh()
        await drive_async(core.transport, _open(core, options))
    except BaseException:
        await core.transport.close()
        raise
    return AsyncClient(core)


class PendingAsyncClient(Coroutine[Any, Any, AsyncClient]):
    """An asyncio client that is not connected yet, the result of `headrace.connect_async`.

    `await` connects and returns the client. `async with` connects, and closes the client at the end
    of the block. Like a coroutine, this object can be used only once.
    """

    __slots__ = ("_client", "_connecting")

    def __init__(self, options: ConnectOptions) -> None:
        self._connecting = connect_async(options)
        self._client: AsyncClient | None = None

    def __await__(self) -> Generator[Any, Any, AsyncClient]:
        return self._connecting.__await__()

    async def __aenter__(self) -> AsyncClient:
        self._client = await self._connecting
        return self._client

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()

    # These methods make the object a coroutine, because asyncio.run and asyncio.create_task accept
    # only coroutines.

    def send(self, value: Any, /) -> Any:
        """Continue the coroutine with a value."""
        return self._connecting.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an exception in the coroutine."""
        return self._connecting.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._connecting.close()


def _core(options: ConnectOptions, transport: Any) -> Core:
    return Core(
        transport,
        options.namespace,
        codec=options.codec,
        limits=options.limits,
        library=options.library,
        retry_for=options.retry_for,
        timeout=options.timeout,
        durability=options.durability,
        actor=options.actor,
    )


def _open(core: Core, options: ConnectOptions) -> Operation[None]:
    """Open or create the namespace; raise NamespaceMismatch if layout or shard count differs."""
    layout, shards = yield from open_namespace(core, options.shards, LAYOUT)
    if layout != LAYOUT:
        raise NamespaceMismatch(
            f"namespace {options.namespace!r} has layout {layout}, but this version of Headrace "
            f"uses layout {LAYOUT}; upgrade the older version of Headrace"
        )
    if options.shards is not None and options.shards != shards:
        raise NamespaceMismatch(
            f"namespace {options.namespace!r} was created with {shards} shards, not "
            f"{options.shards}; omit shards=, or use another namespace"
        )
    core.use_shards(shards)
    yield from open_shards(core, LAYOUT)


def _cluster_seeds(core: Core, url: str) -> Operation[list[Address]]:
    """Return the address in the URL if it belongs to a node of a Cluster, otherwise [].

    The client asks this node for the addresses of the other nodes.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss"):
        return []
    [about] = yield from raw(core, [(0, ("INFO", "cluster"))])
    if b"cluster_enabled:1" not in about:
        return []
    return [(parts.hostname or "localhost", parts.port or 6379)]


class RedisClasses(NamedTuple):
    """The redis-py classes that open connections, either sync or asyncio."""

    pool: Any
    sentinel: Any
    retry: Any
    parse_url: Callable[[str], Any]


SYNC = RedisClasses(ConnectionPool, Sentinel, Retry, parse_url)
ASYNC = RedisClasses(AsyncConnectionPool, AsyncSentinel, AsyncRetry, parse_async_url)


def _topology(
    options: ConnectOptions, url: str, classes: RedisClasses, seeds: list[Address] | None = None
) -> Topology[Any]:
    defaults = {
        "protocol": 2,
        "socket_timeout": options.timeout,
        "socket_connect_timeout": options.timeout,
        "health_check_interval": 0,
        # CLIENT LIST shows this name; `sweep` keeps the function libraries of connected clients.
        "driver_info": DriverInfo(name=f"redis-py({options.library.name})"),
        "retry": classes.retry(NoBackoff(), 0),
    }
    if urlsplit(url).scheme.endswith(SENTINEL):
        hosts, service, given = split_sentinel_url(url, classes.parse_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = classes.sentinel(hosts, sentinel_kwargs=defaults | tls, **defaults)
        pool = manager.master_for(service, **given).connection_pool
        asking = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(options.namespace, lambda _: pool, sentinels=asking)
    parsed: dict[str, Any] = dict(classes.parse_url(url))
    return Topology(
        options.namespace,
        lambda address: classes.pool(
            max_connections=CONNECTIONS, **{**defaults, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _host(address: Address) -> dict[str, Any]:
    return {"host": address[0], "port": address[1]} if address[0] else {}
