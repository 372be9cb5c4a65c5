"""What tests of shards say all the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import Client
from headrace.client.talk import ask, drive
from headrace.engine.call import Call, build


def ids_by_shard(hr: Client, ids: Iterable[str]) -> dict[int, list[str]]:
    """Which of these ids live on which shard, in their order."""
    found: dict[int, list[str]] = {}
    for job_id in ids:
        found.setdefault(hr.core.shard_of(job_id), []).append(job_id)
    return found


def one_for_each_shard(hr: Client) -> list[str]:
    """For each shard an id that lives there."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < hr.core.shards:
        found.setdefault(hr.core.shard_of(f"job {number}"), f"job {number}")
        number += 1
    return [found[shard] for shard in range(hr.core.shards)]


def on_each_shard(hr: Client, op: str, **arguments: Any) -> list[Any]:
    """What each shard by itself answers to an operation."""
    call: Call[Any] = build(op, lambda reply: reply, **arguments)
    return drive(hr.core.wire, ask(hr.core, [(shard, call) for shard in range(hr.core.shards)]))


def hash_on_each_shard(hr: Client, key: str) -> list[dict[bytes, bytes]]:
    """Return the hash at a key of each shard."""
    shards = range(hr.core.shards)
    replies = hr.core.wire.send([(at, ("HGETALL", hr.core.key(at, key))) for at in shards])
    return [dict(zip(reply[::2], reply[1::2], strict=True)) for reply in replies]


def numbered_without_holes(hr: Client) -> bool:
    """Whether the events of every shard are numbered from 1."""
    numbers: dict[int, list[int]] = {}
    for event in hr.events():
        numbers.setdefault(event.shard, []).append(event.number)
    return all(found == list(range(1, len(found) + 1)) for found in numbers.values())
