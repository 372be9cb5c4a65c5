"""The private parts of redis-py on which Headrace depends, in one place.

redis-py opens connections (TLS, login, Sentinel). After that, Headrace reads and writes bytes
itself. This direct I/O halves the time of a call, but needs private attributes of redis-py. These
attributes may change in any release of redis-py. tests/transport/test_redis_internals.py fails if
these attributes change.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import hiredis
from redis.asyncio.connection import Connection as AsyncRedisConnection
from redis.connection import Connection as RedisConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse

# The value that a reader returns if its buffer holds no complete reply.
INCOMPLETE = object()


def reply_reader(connection: RedisConnection | AsyncRedisConnection) -> Any:
    """Return a hiredis reader that turns error replies into the exceptions of redis-py."""
    return hiredis.Reader(
        protocolError=InvalidResponse,
        replyError=connection._parser.parse_error,  # noqa: SLF001
        notEnoughData=INCOMPLETE,
    )


def socket_of(connection: RedisConnection) -> Any:
    """Return the socket of an open connection, plain or TLS."""
    return connection._sock  # noqa: SLF001


def streams_of(
    connection: AsyncRedisConnection,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the asyncio streams of an open connection."""
    reader, writer = connection._reader, connection._writer  # noqa: SLF001
    return cast(asyncio.StreamReader, reader), cast(asyncio.StreamWriter, writer)


def is_watched_by_sentinel(connection: RedisConnection | AsyncRedisConnection | None) -> bool:
    """Return whether redis-py asks a Sentinel for the address of this connection."""
    return hasattr(connection, "connection_pool")


def leads_to_primary(connection: Any) -> bool:
    """Ask Sentinel whether a connection leads to the primary; assume so if no Sentinel answers."""
    try:
        found = connection.connection_pool.get_master_address()
    except RedisConnectionError:
        return True
    return bool(found == (connection.host, connection.port))


async def leads_to_primary_async(connection: Any) -> bool:
    """Ask Sentinel like `leads_to_primary`, for an asyncio connection."""
    try:
        found = await connection.connection_pool.get_master_address()
    except RedisConnectionError:
        return True
    return bool(found == (connection.host, connection.port))


def mark_closed(connection: AsyncRedisConnection) -> None:
    """Tell redis-py that the streams are closed, so that redis-py emits no ResourceWarning."""
    connection._close()  # noqa: SLF001
