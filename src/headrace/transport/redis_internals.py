"""The private parts of redis-py on which Headrace depends, in one place.

redis-py opens connections (TLS, login, Sentinel). From then on Headrace reads and writes bytes
itself, which takes half the time of a call. For that it needs these attributes, which redis-py does
not promise to keep. tests/transport/test_redis_internals.py fails if a release changes them.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import hiredis
from redis.asyncio.connection import Connection as AsyncRedisConnection
from redis.connection import Connection as RedisConnection
from redis.exceptions import InvalidResponse

# Returned by a reader whose buffer holds no complete reply.
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


def mark_closed(connection: AsyncRedisConnection) -> None:
    """Tell a connection that its streams are closed, so that it does not warn when collected."""
    connection._close()  # noqa: SLF001
