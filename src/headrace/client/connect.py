"""Connecting: from a URL to a client.

The URL names a server, a Sentinel service or a node of a Cluster. Without one, the embedded server
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from redis import asyncio as redis_asyncio
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.asyncio.connection import parse_url as parse_async_url
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool, parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from headrace.client.client import AsyncClient, Client
from headrace.codecs.codec import Codec, codec_of
from headrace.engine import check
from headrace.engine.check import Limits, Span, milliseconds
from headrace.engine.script import LIBRARY, Library
from headrace.errors import InvalidArgument, NamespaceMismatch
from headrace.local_server import embedded
from headrace.operations.core import Core
from headrace.operations.namespace import open_namespace, open_shards
from headrace.operations.requests import raw
from headrace.transport.drive import Operation, drive, drive_async
from headrace.transport.topology import Address, Topology
from headrace.transport.transport import AsyncTransport, Transport

T = TypeVar("T")

LAYOUT = 2
CONNECTIONS = 10_000

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")


@dataclass(frozen=True, slots=True, init=False)
class ConnectOptions:
    """The checked arguments of `connect` and `connect_async`.

    An empty `url` means the embedded server. Raises InvalidArgument for an invalid argument.
    """

    url: str
    namespace: str
    shards: int | None
    codec: Codec
    limits: Limits
    library: Library
    retry_for: float
    timeout: float

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
    ) -> None:
        check.namespace(namespace)
        if shards is not None:
            check.whole("shards", shards, 1, 1024)
        _check_url(url)
        checked = {
            "url": "" if url is None else url,
            "namespace": namespace,
            "shards": shards,
            "codec": codec_of(codec),
            "limits": _instance("limits", limits, Limits) or Limits(),
            "library": _instance("library", library, Library) or LIBRARY,
            "retry_for": milliseconds("retry_for", retry_for) / 1000,
            "timeout": milliseconds("timeout", timeout) / 1000,
        }
        if checked["timeout"] == 0:
            raise InvalidArgument("timeout must be at least a millisecond")
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _check_url(url: object) -> None:
    if url is None:
        return
    if not isinstance(url, str):
        raise InvalidArgument(f"the URL must be a str, not {type(url).__name__}")
    try:
        scheme = urlsplit(url).scheme
        if scheme.endswith("+sentinel"):
            _sentinels(url, parse_url)
            ConnectionPool(**dict(parse_url(_of_primary(url)))).make_connection()
        elif scheme in SCHEMES:
            ConnectionPool(**dict(parse_url(url))).make_connection()
    except InvalidArgument:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"invalid URL: {error}") from error
    if scheme not in SCHEMES:
        raise InvalidArgument(
            f"the URL must begin with {', '.join(f'{scheme}://' for scheme in SCHEMES)}, "
            f"not with {url.split(':', 1)[0]!r}"
        )


def _instance(what: str, value: T | None, kind: type[T]) -> T | None:
    if value is None or isinstance(value, kind):
        return value
    raise InvalidArgument(f"{what} must be a {kind.__name__}, not {type(value).__name__}")


def connect(options: ConnectOptions) -> Client:
    """Return a sync client of a namespace, which is created if it does not exist."""
    return open_client(connect_core(options), options)


def open_client(core: Core, options: ConnectOptions) -> Client:
    """Return a sync client of a namespace on a server that `connect_core` connected to."""
    try:
        drive(core.transport, _open(core, options))
    except BaseException:
        core.transport.close()
        raise
    return Client(core)


def connect_core(options: ConnectOptions) -> Core:
    """Connect to the server, or to the nodes of its Cluster, without opening a namespace."""
    url = options.url or embedded.start()
    core = _core(options, Transport(_topology(options, url)))
    try:
        seeds = drive(core.transport, _cluster_seeds(core, url))
        if seeds:
            core.transport.close()
            core.transport = Transport(_topology(options, url, seeds))
            core.transport.refresh()
    except BaseException:
        core.transport.close()
        raise
    return core


async def connect_async(options: ConnectOptions) -> AsyncClient:
    """Return an asyncio client of a namespace, which is created if it does not exist."""
    url = options.url or embedded.start()
    core = _core(options, AsyncTransport(_async_topology(options, url), options.timeout))
    try:
        seeds = await drive_async(core.transport, _cluster_seeds(core, url))
        if seeds:
            await core.transport.close()
            core.transport = AsyncTransport(_async_topology(options, url, seeds), options.timeout)
            await core.transport.refresh()
        await drive_async(core.transport, _open(core, options))
    except BaseException:
        await core.transport.close()
        raise
    return AsyncClient(core)


class PendingAsyncClient(Coroutine[Any, Any, AsyncClient]):
    """An asyncio client that is not connected yet, the result of `headrace.connect_async`.

    `await` connects and returns the client. `async with` connects, and closes the client at the end
    of the block. Like a coroutine, it can be used once.
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

    # asyncio.run and asyncio.create_task accept only coroutines.

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
    )


def _open(core: Core, options: ConnectOptions) -> Operation[None]:
    """Create or open the namespace; raises NamespaceMismatch if its layout or shards differ."""
    layout, shards = yield from open_namespace(core, options.shards, LAYOUT)
    if layout != LAYOUT:
        raise NamespaceMismatch(
            f"namespace {options.namespace!r} has layout {layout}, but this version of Headrace "
            f"uses layout {LAYOUT}; upgrade the older of the two"
        )
    if options.shards is not None and options.shards != shards:
        raise NamespaceMismatch(
            f"namespace {options.namespace!r} was created with {shards} shards, not "
            f"{options.shards}; omit shards=, or use another namespace"
        )
    core.use_shards(shards)
    yield from open_shards(core, LAYOUT)


def _cluster_seeds(core: Core, url: str) -> Operation[list[Address]]:
    """Return the first node to query if the server is part of a Cluster, otherwise nothing."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss"):
        return []
    [about] = yield from raw(core, [(0, ("INFO", "cluster"))])
    if b"cluster_enabled:1" not in about:
        return []
    return [(parts.hostname or "localhost", parts.port or 6379)]


def _common(options: ConnectOptions) -> dict[str, Any]:
    return {
        "protocol": 2,
        "socket_timeout": options.timeout,
        "socket_connect_timeout": options.timeout,
        "health_check_interval": 0,
    }


def _topology(
    options: ConnectOptions, url: str, seeds: list[Address] | None = None
) -> Topology[ConnectionPool]:
    defaults = {**_common(options), "retry": Retry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = Sentinel(hosts, sentinel_kwargs=defaults | tls, **defaults)
        pool = manager.master_for(service, **given).connection_pool
        asking = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(options.namespace, lambda _: pool, sentinels=asking)
    parsed: dict[str, Any] = dict(parse_url(url))
    return Topology(
        options.namespace,
        lambda address: ConnectionPool(
            max_connections=CONNECTIONS, **{**defaults, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _async_topology(
    options: ConnectOptions, url: str, seeds: list[Address] | None = None
) -> Topology[AsyncConnectionPool]:
    defaults = {**_common(options), "retry": AsyncRetry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_async_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = AsyncSentinel(hosts, sentinel_kwargs=defaults | tls, **defaults)
        client: redis_asyncio.Redis = manager.master_for(service, **given)
        pool = client.connection_pool
        asking = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(options.namespace, lambda _: pool, sentinels=asking)
    parsed: dict[str, Any] = dict(parse_async_url(url))
    return Topology(
        options.namespace,
        lambda address: AsyncConnectionPool(
            max_connections=CONNECTIONS, **{**defaults, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _host(address: Address) -> dict[str, Any]:
    return {"host": address[0], "port": address[1]} if address[0] else {}


def _of_primary(url: str) -> str:
    """Return a URL with the login and options of a Sentinel URL, for the primary server."""
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme.removesuffix('+sentinel')}://{login}{at}localhost/?{parts.query}"


def _sentinels(url: str, parse: Callable[[str], Any]) -> tuple[list[Address], str, dict[str, Any]]:
    """Parse redis+sentinel://user:password@a:1,b:2/service: the hosts, service and options."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    service = parts.path.strip("/")
    hosts = [host.rpartition(":") for host in netloc.split(",")]
    if not service or not all(name and port.isdigit() for name, _, port in hosts):
        raise InvalidArgument(
            "a Sentinel URL must be like redis+sentinel://host:port,host:port/service, "
            f"not {parts.scheme}://.../{service}"
        )
    options = dict(parse(_of_primary(url)))
    if options.pop("connection_class", None) is not None:
        options["ssl"] = True
    del options["host"]
    return [(name, int(port)) for name, _, port in hosts], service, options
