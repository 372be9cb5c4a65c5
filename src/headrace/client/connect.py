"""From a URL to a client: one server, the primary of a Sentinel, a Cluster, or the embedded one."""

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

LAYOUT = 2
CONNECTIONS = 10_000

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What connect was asked for, checked."""

    url: str
    namespace: str
    shards: int | None
    codec: Codec
    limits: Limits
    library: Library
    retry_for: float
    timeout: float


def wanted(
    url: str | None,
    namespace: str,
    shards: int | None,
    codec: str | Codec,
    limits: Limits | None,
    library: Library | None,
    retry_for: Span,
    timeout: Span,
) -> Wanted:
    """The arguments of connect, checked before anything is started or sent."""
    check.namespace(namespace)
    if shards is not None:
        check.whole("shards", shards, 1, 1024)
    _check_url(url)
    found = Wanted(
        url="" if url is None else url,
        namespace=namespace,
        shards=shards,
        codec=codec_of(codec),
        limits=_instance("limits", limits, Limits) or Limits(),
        library=_instance("library", library, Library) or LIBRARY,
        retry_for=milliseconds("retry_for", retry_for) / 1000,
        timeout=milliseconds("timeout", timeout) / 1000,
    )
    if found.timeout == 0:
        raise InvalidArgument("timeout must be at least a millisecond: no server answers at once")
    return found


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
        raise InvalidArgument(f"the URL cannot be read: {error}") from error
    if scheme not in SCHEMES:
        raise InvalidArgument(
            f"a URL begins with {', '.join(f'{scheme}://' for scheme in SCHEMES)}; "
            f"this one begins with {url.split(':', 1)[0]!r}"
        )


def _instance(what: str, value: T | None, kind: type[T]) -> T | None:
    if value is None or isinstance(value, kind):
        return value
    raise InvalidArgument(f"{what} must be a {kind.__name__}, not {type(value).__name__}")


def connect(asked: Wanted) -> Client:
    """A client for code that blocks."""
    return opened(reach(asked), asked)


def opened(core: Core, asked: Wanted) -> Client:
    """A client of the namespace on a server that was reached."""
    try:
        drive(core.transport, _open(core, asked))
    except BaseException:
        core.transport.close()
        raise
    return Client(core)


def reach(asked: Wanted) -> Core:
    """The server, or the nodes of its Cluster, before a namespace on it is opened."""
    url = asked.url or embedded.start()
    core = _core(asked, Transport(_topology(asked, url)))
    try:
        seeds = drive(core.transport, _cluster_seeds(core, url))
        if seeds:
            core.transport.close()
            core.transport = Transport(_topology(asked, url, seeds))
            core.transport.refresh()
    except BaseException:
        core.transport.close()
        raise
    return core


async def connect_async(asked: Wanted) -> AsyncClient:
    """A client for code that awaits."""
    url = asked.url or embedded.start()
    core = _core(asked, AsyncTransport(_async_topology(asked, url), asked.timeout))
    try:
        seeds = await drive_async(core.transport, _cluster_seeds(core, url))
        if seeds:
            await core.transport.close()
            core.transport = AsyncTransport(_async_topology(asked, url, seeds), asked.timeout)
            await core.transport.refresh()
        await drive_async(core.transport, _open(core, asked))
    except BaseException:
        await core.transport.close()
        raise
    return AsyncClient(core)


def _core(asked: Wanted, transport: Any) -> Core:
    return Core(
        transport,
        asked.namespace,
        codec=asked.codec,
        limits=asked.limits,
        library=asked.library,
        retry_for=asked.retry_for,
        timeout=asked.timeout,
    )


def _open(core: Core, asked: Wanted) -> Operation[None]:
    """Makes the namespace where it is new, and uses it if that can be."""
    layout, shards = yield from open_namespace(core, asked.shards, LAYOUT)
    if layout != LAYOUT:
        raise NamespaceMismatch(
            f"namespace {asked.namespace!r} has layout {layout}, this Headrace knows {LAYOUT}: "
            "upgrade the older of the two"
        )
    if asked.shards is not None and asked.shards != shards:
        raise NamespaceMismatch(
            f"namespace {asked.namespace!r} was made with {shards} shards, not {asked.shards}; "
            "leave shards= out, or use another namespace"
        )
    core.use_shards(shards)
    yield from open_shards(core, LAYOUT)


def _cluster_seeds(core: Core, url: str) -> Operation[list[Address]]:
    """The node to ask first if the server is part of a Cluster, else nothing."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss"):
        return []
    [about] = yield from raw(core, [(0, ("INFO", "cluster"))])
    if b"cluster_enabled:1" not in about:
        return []
    return [(parts.hostname or "localhost", parts.port or 6379)]


def _common(asked: Wanted) -> dict[str, Any]:
    return {
        "protocol": 2,
        "socket_timeout": asked.timeout,
        "socket_connect_timeout": asked.timeout,
        "health_check_interval": 0,
    }


def _topology(
    asked: Wanted, url: str, seeds: list[Address] | None = None
) -> Topology[ConnectionPool]:
    options = {**_common(asked), "retry": Retry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = Sentinel(hosts, sentinel_kwargs=options | tls, **options)
        pool = manager.master_for(service, **given).connection_pool
        asking = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(asked.namespace, lambda _: pool, sentinels=asking)
    parsed: dict[str, Any] = dict(parse_url(url))
    return Topology(
        asked.namespace,
        lambda address: ConnectionPool(
            max_connections=CONNECTIONS, **{**options, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _async_topology(
    asked: Wanted, url: str, seeds: list[Address] | None = None
) -> Topology[AsyncConnectionPool]:
    options = {**_common(asked), "retry": AsyncRetry(NoBackoff(), 0)}
    if "+sentinel" in url:
        hosts, service, given = _sentinels(url, parse_async_url)
        tls = {name: value for name, value in given.items() if name.startswith("ssl")}
        manager = AsyncSentinel(hosts, sentinel_kwargs=options | tls, **options)
        client: redis_asyncio.Redis = manager.master_for(service, **given)
        pool = client.connection_pool
        asking = [sentinel.connection_pool for sentinel in manager.sentinels]
        return Topology(asked.namespace, lambda _: pool, sentinels=asking)
    parsed: dict[str, Any] = dict(parse_async_url(url))
    return Topology(
        asked.namespace,
        lambda address: AsyncConnectionPool(
            max_connections=CONNECTIONS, **{**options, **parsed, **_host(address)}
        ),
        seeds or (),
    )


def _host(address: Address) -> dict[str, Any]:
    return {"host": address[0], "port": address[1]} if address[0] else {}


def _of_primary(url: str) -> str:
    """What a Sentinel URL says of the server itself, which is not known yet."""
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme.removesuffix('+sentinel')}://{login}{at}localhost/?{parts.query}"


def _sentinels(url: str, parse: Callable[[str], Any]) -> tuple[list[Address], str, dict[str, Any]]:
    """The hosts, the service and the options of redis+sentinel://user:password@a:1,b:2/service."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    service = parts.path.strip("/")
    hosts = [host.rpartition(":") for host in netloc.split(",")]
    if not service or not all(name and port.isdigit() for name, _, port in hosts):
        raise InvalidArgument(
            "a Sentinel URL is redis+sentinel://host:port,host:port/service, "
            f"not {parts.scheme}://.../{service}"
        )
    options = dict(parse(_of_primary(url)))
    if options.pop("connection_class", None) is not None:
        options["ssl"] = True
    del options["host"]
    return [(name, int(port)) for name, _, port in hosts], service, options
