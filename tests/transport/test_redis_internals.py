"""The private attributes of redis-py on which Headrace depends exist and behave as needed.

If a test fails after an upgrade of redis-py, adapt src/headrace/transport/redis_internals.py.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from redis.asyncio.connection import ConnectionPool as AsyncConnectionPool
from redis.connection import ConnectionPool
from redis.exceptions import NoScriptError

from headrace.transport import redis_internals
from headrace.transport.redis_internals import INCOMPLETE

PING = b"*1\r\n$4\r\nPING\r\n"
PONG = b"+PONG\r\n"
NO_SCRIPT = b"-NOSCRIPT No matching script.\r\n"


@contextmanager
def needs(attribute: str) -> Iterator[None]:
    """Name the attribute and the version of redis-py that changed, and the module to adapt."""
    try:
        yield
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        pytest.fail(
            f"redis-py {redis.__version__} changed {attribute}: "
            f"adapt transport/redis_internals.py ({type(error).__name__}: {error})"
        )


@pytest.fixture
def connection(valkey_url: str) -> Iterator[redis.Connection]:
    """An open sync connection."""
    found: Any = ConnectionPool.from_url(valkey_url, protocol=2).make_connection()
    found.connect()
    yield found
    found.disconnect()


@pytest.fixture
async def async_connection(valkey_url: str) -> AsyncIterator[redis.asyncio.Connection]:
    """An open asyncio connection."""
    found = AsyncConnectionPool.from_url(valkey_url, protocol=2).make_connection()
    await found.connect()
    yield found
    await found.disconnect()


def check_reader(connection: redis.Connection | redis.asyncio.Connection) -> None:
    with needs("Connection._parser.parse_error"):
        reader = redis_internals.reply_reader(connection)
        assert reader.gets() is INCOMPLETE
        reader.feed(PONG)
        assert reader.gets() == b"PONG"
        reader.feed(NO_SCRIPT)
        assert isinstance(reader.gets(), NoScriptError)


def test_reader_turns_error_replies_into_exceptions_of_redis(connection: redis.Connection) -> None:
    check_reader(connection)


async def test_async_reader_turns_error_replies_into_exceptions_of_redis(
    async_connection: redis.asyncio.Connection,
) -> None:
    check_reader(async_connection)


def test_socket_of_an_open_connection_sends_and_receives(connection: redis.Connection) -> None:
    with needs("Connection._sock"):
        sock = redis_internals.socket_of(connection)
        sock.sendall(PING)
        assert sock.recv(len(PONG)) == PONG


async def test_streams_of_an_open_connection_send_and_receive(
    async_connection: redis.asyncio.Connection,
) -> None:
    with needs("asyncio Connection._reader and _writer"):
        reader, writer = redis_internals.streams_of(async_connection)
        assert isinstance(reader, asyncio.StreamReader)
        assert isinstance(writer, asyncio.StreamWriter)
        writer.write(PING)
        await writer.drain()
        assert await reader.readexactly(len(PONG)) == PONG


async def test_connection_marked_closed_does_not_warn_when_collected(valkey_url: str) -> None:
    connection = AsyncConnectionPool.from_url(valkey_url, protocol=2).make_connection()
    await connection.connect()
    with needs("asyncio Connection._close"), warnings.catch_warnings():
        warnings.simplefilter("error")
        _, writer = redis_internals.streams_of(connection)
        writer.close()
        await writer.wait_closed()
        redis_internals.mark_closed(connection)
        assert not connection.is_connected
        connection.__del__()
