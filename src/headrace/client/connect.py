"""Connect a client: to one server, a Sentinel primary, a Cluster, or the embedded server."""

from __future__ import annotations

from collections.abc import Callable
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

# The version of the data layout on the server.
LAYOUT = 2
# The most connections of one pool.
CONNECTIONS = 10_000

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")


@dataclass(frozen=True, slots=True)
class ConnectSettings:
    """The checked arguments of connect."""

    url: str
    namespace: str
    shards: int | None
    codec: Codec
    limits: Limits
    library: Library
    retry_for: float
    timeout: float


def check_settings(
    url: str | None,
    namespace: str,
    shards: int | None,
    codec: str | Codec,
    limits: Limits | None,
    library: Library | None,
    retry_for: Span,
    timeout: Span,
) -> ConnectSettings:
    """Check the arguments of connect before anything is started or sent.

    Raises InvalidArgument if one of them cannot be used.
    """
    check.namespace(namespace)
    if shards is not None:
        check.whole("shards", shards, 1, 1024)
    _check_url(url)
    settings = ConnectSettings(
        url="" if url is None else url,
        namespace=namespace,
        shards=shards,
        codec=codec_of(codec),
        limits=_instance("limits", limits, Limits) or Limits(),
        library=_instance("library", library, Library) or LIBRARY,
        retry_for=milliseconds("retry_for", retry_for) / 1000,
        timeout=milliseconds("timeout", timeout) / 1000,
    )
    if settings.timeout == 0:
        raise InvalidArgument(
            "timeout must be at least a millisecond: a server needs time to answer"
        )
    return settings


def _check_url(url: object) -> None:
    if url is None:
        return
    if not isinstance(url, str):
        raise InvalidArgument(f"the URL must be a str, not {type(url).__name__}")
    try:
        scheme = urlsplit(url).scheme
        if scheme.endswith("+sentinel"):
            _sentinels(url, parse_url)
            ConnectionPool(**dict(parse_url(_primary_url(url)))).make_connection()
        elif scheme in SCHEMES:
            ConnectionPool(**dict(parse_url(url))).make_connection()
    except InvalidArgument:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"the URL is malformed: {error}") from error
    if scheme not in SCHEMES:
        raise InvalidArgument(
            f"a URL must begin with {', '.join(f'{scheme}://' for scheme in SCHEMES)}, "
            f"not with {url.split(':', 1)[0]!r}"
        )


def _instance(what: str, value: T | None, kind: type[T]) -> T | None:
    if value is None or isinstance(value, kind):
        return value
    raise InvalidArgument(f"{what} must be a {kind.__name__}, not {type(value).__name__}")


def connect(settings: ConnectSettings) -> Client:
    """Return a connected Client and create its namespace if it is new."""
    return open_client(connect_core(settings), settings)


def open_client(core: Core, settings: ConnectSettings) -> Client:
    """Create the namespace if it is new and return a Client of it."""
    try:
        drive(core.transport, _open(core, settings))
    except BaseException:
        core.transport.close()
        raise
    return Client(core)


def connect_core(settings: ConnectSettings) -> Core:
    """Connect to the server or to the nodes of its Cluster, without opening a namespace."""
    url = settings.url or embedded.start()
    core = _core(settings, Transport(_topology(settings, url)))
    try:
        seeds = drive(core.transport, _cluster_seeds(core, url))
        if seeds:
            core.transport.close()
            core.transport = Transport(_topology(settings, url, seeds))
            core.transport.refresh()
    except BaseException:
        core.transport.close()
        raise
    return core


async def connect_async(settings: ConnectSettings) -> AsyncClient:
    """Return a connected AsyncClient and create its namespace if it is new."""
    url = settings.url or embedded.start()
    core = _core(settings, AsyncTransport(_async_topology(settings, url), settings.timeout))
    try:
        seeds = await drive_async(core.transport, _cluster_seeds(core, url))
        if seeds:
            await core.transport.close()
            core.transport = AsyncTransport(_async_topology(settings, url, seeds), settings.timeout)
            await core.transport.refresh()
        await drive_async(core.transport, _open(core, settings))
    except BaseException:
        await core.transport.close()
        raise
    return AsyncClient(core)


def _core(settings: ConnectSettings, transport: Any) -> Core:
    return Core(
        transport,
        settings.namespace,
        codec=settings.codec,
        limits=settings.limits,
        library=settings.library,
        retry_for=settings.retry_for,
        timeout=settings.timeout,
    )


def _open(core: Core, settings: ConnectSettings) -> Operation[None]:
    """Create the namespace if it is new; raise NamespaceMismatch if it does not fit."""
    layout, shards = yield from open_namespace(core, settings.shards, LAYOUT)
    if layout != LAYOUT:
        raise NamespaceMismatch(
            f"namespace {settings.namespace!r} has layout {layout}, this Headrace supports "
            f"{LAYOUT}: upgrade the older of the two"
        )
    if settings.shards is not None and settings.shards != shards:
        raise NamespaceMismatch(
            f"namespace {settings.namespace!r} has {shards} shards, not {settings.shards}; "
            "omit shards= or use another namespace"
        )
    core.use_shards(shards)
    yield from open_shards(core, LAYOUT)


def _cluster_seeds(core: Core, url: str) -> Operation[list[Address]]:
    """Return the node to ask first if the server is part of a Cluster, otherwise nothing."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss"):
        return []
    [info] = yield from raw(core, [(0, ("INFO", "cluster"))])
    if b"cluster_enabled:1" not in info:
        return []
    return [(parts.hostname or "localhost", parts.port or 6379)]


def _common(settings: ConnectSettings) -> dict[str, Any]:
    return {
        "protocol": 2,
        "socket_timeout": settings.timeout,
        "socket_connect_timeout": settings.timeout,
        "health_check_interval": 0,
    }


def _topology(
    settings: ConnectSettings, url: str, seeds: list[Address] | None = None
) -> Topology[ConnectionPool]:
    options = {**_common(settings), "retry": Retry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = Sentinel(hosts, sentinel_kwargs=options | tls, **options)
        pool = manager.master_for(service, **given).connection_pool
        sentinels = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(settings.namespace, lambda _: pool, sentinels=sentinels)
    parsed: dict[str, Any] = dict(parse_url(url))
    return Topology(
        settings.namespace,
        lambda address: ConnectionPool(
            max_connections=CONNECTIONS, **{**options, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _async_topology(
    settings: ConnectSettings, url: str, seeds: list[Address] | None = None
) -> Topology[AsyncConnectionPool]:
    options = {**_common(settings), "retry": AsyncRetry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_async_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = AsyncSentinel(hosts, sentinel_kwargs=options | tls, **options)
        client: redis_asyncio.Redis = manager.master_for(service, **given)
        pool = client.connection_pool
        sentinels = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(settings.namespace, lambda _: pool, sentinels=sentinels)
    parsed: dict[str, Any] = dict(parse_async_url(url))
    return Topology(
        settings.namespace,
        lambda address: AsyncConnectionPool(
            max_connections=CONNECTIONS, **{**options, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _host(address: Address) -> dict[str, Any]:
    return {"host": address[0], "port": address[1]} if address[0] else {}


def _primary_url(url: str) -> str:
    """Return a URL with the options of a Sentinel URL for the primary, whose host is unknown."""
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme.removesuffix('+sentinel')}://{login}{at}localhost/?{parts.query}"


def _sentinels(url: str, parse: Callable[[str], Any]) -> tuple[list[Address], str, dict[str, Any]]:
    """Split redis+sentinel://user:password@a:1,b:2/service into hosts, service and options."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    service = parts.path.strip("/")
    hosts = [host.rpartition(":") for host in netloc.split(",")]
    if not service or not all(name and port.isdigit() for name, _, port in hosts):
        raise InvalidArgument(
            "a Sentinel URL must be redis+sentinel://host:port,host:port/service, "
            f"not {parts.scheme}://.../{service}"
        )
    options = dict(parse(_primary_url(url)))
    if options.pop("connection_class", None) is not None:
        options["ssl"] = True
    del options["host"]
    return [(name, int(port)) for name, _, port in hosts], service, options
