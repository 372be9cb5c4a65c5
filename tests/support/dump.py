"""The whole content of a namespace, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import Client
from headrace.transport.transport import Words

Content = tuple[str, Any]
ANSWERS = ("answers", "older_answers")

_READERS: dict[str, Callable[[bytes], Words]] = {
    "string": lambda key: ("GET", key),
    "hash": lambda key: ("HGETALL", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "set": lambda key: ("SMEMBERS", key),
    "zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    "stream": lambda key: ("XRANGE", key, "-", "+"),
}


def dump(client: Client, *, with_answers: bool = False) -> dict[str, Content]:
    """Return type and value of every key of the client's namespace, by key.

    Some keys are left out: the clock, the libraries that other tests loaded on the server, and,
    unless `with_answers`, the remembered answers, whose names are random.
    """
    found: dict[str, Content] = {}
    for shard in range(client.core.shards):
        left_out = {client.core.key(shard, name).encode() for name in ("clock", "libraries")}
        if not with_answers:
            left_out |= {client.core.key(shard, name).encode() for name in ANSWERS}
        keys = sorted(_keys(client, shard) - left_out)
        kinds = [kind.decode() for kind in _send(client, shard, [("TYPE", key) for key in keys])]
        reads = [_READERS[kind](key) for kind, key in zip(kinds, keys, strict=True)]
        for key, kind, value in zip(keys, kinds, _send(client, shard, reads), strict=True):
            found[key.decode(errors="backslashreplace")] = kind, _comparable(kind, value)
        if not with_answers:
            _leave_out_answers(found, client.core.key(shard, "agenda"))
    return found


def _leave_out_answers(found: dict[str, Content], agenda: str) -> None:
    """Remove the task that deletes remembered answers."""
    _, entries = found.get(agenda, ("", []))
    tasks = zip(entries[::2], entries[1::2], strict=True)
    left = [word for task, due in tasks if task != b"answers:" for word in (task, due)]
    if left:
        found[agenda] = "zset", left
    else:
        found.pop(agenda, None)


def _keys(client: Client, shard: int) -> set[bytes]:
    found: set[bytes] = set()
    prefix = client.core.key(shard, "").encode()
    cursor = b"0"
    while True:
        [(cursor, some)] = _send(client, shard, [("SCAN", cursor, "COUNT", 1000)])
        found |= {key for key in some if key.startswith(prefix)}
        if cursor == b"0":
            return found


def _comparable(kind: str, value: Any) -> Any:
    if kind == "hash":
        return sorted(zip(value[::2], value[1::2], strict=True))
    return sorted(value) if kind == "set" else value


def _send(client: Client, shard: int, commands: list[Words]) -> list[Any]:
    if not commands:
        return []
    replies = list(client.core.transport.send([(shard, words) for words in commands]))
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies
