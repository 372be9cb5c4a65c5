"""The ACL rules of the users of a namespace, by role.

The server checks each command of a function against the permissions of the user. So a role is a set
of commands and keys: no ACL rule can name a function of Headrace.
"""

from __future__ import annotations

from headrace.engine import keys
from headrace.engine.shard import prefix

ROLES = ("producer", "worker", "observer")

# Commands that a client sends to read.
_CLIENT_READS = (
    *("fcall_ro", "evalsha_ro", "script|load", "info", "cluster|slots", "ssubscribe", "ping"),
    *("xrange", "xrevrange", "xread"),
)
# Commands of functions that only read.
_READS = (
    *("time", "exists", "get", "mget", "strlen", "hget", "hmget", "hgetall", "hlen", "hexists"),
    *("lrange", "zcard", "zcount", "zscore", "zrank", "zrange", "zrevrange"),
)
# Commands of a put. None of them can change or delete the record of a job.
_ADDS = (
    *("fcall", "evalsha", "setnx", "msetnx", "hset", "hincrby", "zadd", "zincrby", "xadd"),
    "spublish",
)
_CHANGES = (
    *("function|load", "function|list", "function|delete", "client|list"),
    *("set", "mset", "rename", "renamenx", "del", "unlink", "type", "hsetnx", "hdel"),
    *("rpush", "rpop", "lpop", "llen", "ltrim", "lindex"),
    *("zrem", "zremrangebyrank", "zunionstore", "xtrim"),
)
# The keys that a put writes.
_PUT_KEYS = (keys.AGENDA, keys.ANSWERS, keys.EVENTS, keys.LOG, keys.QUEUES, keys.TAGS)
_PUT_FAMILIES = (
    *(keys.job, keys.data, keys.unique, keys.group, keys.depends, keys.dependents, keys.tag),
    *(keys.settings, keys.books, keys.waiting, keys.scheduled, keys.blocked),
    *(keys.lane, keys.lanes, keys.turns, keys.parked, keys.gated),
)
# A put that changes the first job of a lane removes the lane from its old position.
_MOVED_LANES = (keys.turns, keys.parked)


def acl_rules(role: str, namespace: str, shards: int = 1) -> list[str]:
    """Return the ACL rules of a user with this role, for the command ACL SETUSER."""
    prefixes = _prefixes(namespace, shards)
    if role == "worker":
        commands = (*_CLIENT_READS, *_READS, *_ADDS, *_CHANGES)
        return _patterns("~", prefixes, ["*"]) + _patterns("&", prefixes, ["*"]) + _allow(commands)
    reads = _patterns("%R~", prefixes, ["*"])
    if role == "observer":
        return reads + _patterns("&", prefixes, ["*"]) + _allow((*_CLIENT_READS, *_READS))
    # Every call names the prefix of its shard as the key that it changes.
    written = ["", *_PUT_KEYS, *(family("*") for family in _PUT_FAMILIES)]
    moved = _patterns("~", prefixes, [family("*") for family in _MOVED_LANES])
    listened = _patterns("&", prefixes, ["*"])
    return [
        *reads,
        *_patterns("~", prefixes, written),
        *_patterns("&", prefixes, [keys.queue_channel("*")]),
        *_allow((*_CLIENT_READS, *_READS, *_ADDS)),
        f"({' '.join(['+zrem', *moved])})",
        f"({' '.join(['+ssubscribe', *listened])})",
    ]


def _prefixes(namespace: str, shards: int) -> list[str]:
    """Return patterns for the prefixes of all shards; they match no other namespace."""
    if shards == 1:
        return [prefix(namespace, 0)]
    digits = range(1, len(str(shards - 1)) + 1)
    return [prefix(namespace, "[0-9]" * count) for count in digits]


def _patterns(kind: str, prefixes: list[str], names: list[str]) -> list[str]:
    return [f"{kind}{start}{name}" for name in names for start in prefixes]


def _allow(commands: tuple[str, ...]) -> list[str]:
    return [f"+{command}" for command in commands]
