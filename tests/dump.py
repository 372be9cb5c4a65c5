"""Everything a namespace holds, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Client
from headrace.transport.transport import Words

Content = tuple[str, Any]

_READERS: dict[str, Callable[[bytes], Words]] = {
    "string": lambda key: ("GET", key),
    "hash": lambda key: ("HGETALL", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "set": lambda key: ("SMEMBERS", key),
    "zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    "stream": lambda key: ("XRANGE", key, "-", "+"),
}


def dump(client: Client) -> dict[str, Content]:
    """The type and the value of every key of the client's namespace, by key; not the clock."""
    return {
        key.decode(errors="backslashreplace"): _content(client, shard, key)
        for shard in range(client.core.shards)
        for key in sorted(_keys(client, shard))
    }


def _keys(client: Client, shard: int) -> set[bytes]:
    found: set[bytes] = set()
    prefix = client.core.key(shard, "").encode()
    cursor = b"0"
    while True:
        cursor, some = _send(client, shard, "SCAN", cursor, "COUNT", 1000)
        found |= {key for key in some if key.startswith(prefix) and key != prefix + b"clock"}
        if cursor == b"0":
            return found


def _content(client: Client, shard: int, key: bytes) -> Content:
    kind = _send(client, shard, "TYPE", key).decode()
    value = _send(client, shard, *_READERS[kind](key))
    if kind == "hash":
        value = sorted(zip(value[::2], value[1::2], strict=True))
    elif kind == "set":
        value = sorted(value)
    return kind, value


def _send(client: Client, shard: int, *words: str | bytes | float) -> Any:
    [reply] = client.core.transport.send([(shard, words)])
    if isinstance(reply, Exception):
        raise reply
    return reply
