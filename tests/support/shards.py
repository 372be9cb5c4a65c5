"""Helpers for tests of several shards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from headrace import AsyncClient, AsyncListener, Client
from headrace.engine.call import Call, build
from headrace.operations.requests import ask
from headrace.transport.drive import drive

SOON = 4.0  # seconds; shorter than the interval after which a waiting pop checks without a notice


def ids_by_shard(hr: Client, ids: Iterable[str]) -> dict[int, list[str]]:
    """Return the ids by the shard on which they live, in their order."""
    found: dict[int, list[str]] = {}
    for job_id in ids:
        found.setdefault(hr.core.shard_of(job_id), []).append(job_id)
    return found


def one_for_each_shard(hr: Client) -> list[str]:
    """Return one id for each shard."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < hr.core.shards:
        found.setdefault(hr.core.shard_of(f"job {number}"), f"job {number}")
        number += 1
    return [found[shard] for shard in range(hr.core.shards)]


def on_each_shard(hr: Client, op: str, **arguments: Any) -> list[Any]:
    """Return the answer of each shard to an operation."""
    call: Call[Any] = build(op, lambda reply: reply, **arguments)
    return drive(
        hr.core.transport, ask(hr.core, [(shard, call) for shard in range(hr.core.shards)])
    )


def hash_on_each_shard(hr: Client, key: str) -> list[dict[bytes, bytes]]:
    """Return the hash at a key of each shard."""
    shards = range(hr.core.shards)
    replies = hr.core.transport.send([(at, ("HGETALL", hr.core.key(at, key))) for at in shards])
    return [dict(zip(reply[::2], reply[1::2], strict=True)) for reply in replies]


def numbered_without_holes(hr: Client) -> bool:
    """Return whether the events of every shard are numbered from 1 without a gap."""
    numbers: dict[int, list[int]] = {}
    for event in hr.events():
        numbers.setdefault(event.shard, []).append(event.number)
    return all(found == list(range(1, len(found) + 1)) for found in numbers.values())


def is_listened_to(hr: Client, role: str, name: str) -> bool:
    """Return whether a client is subscribed to the channel on every shard."""
    channels = [hr.core.channel(shard, role, name) for shard in range(hr.core.shards)]
    commands: list[Any] = [(shard, ("PUBSUB", "SHARDNUMSUB", name)) for shard, name in channels]
    return all(reply[1] > 0 for reply in hr.core.transport.send(commands))


async def waiting_pop(hr: Any) -> Any:
    """Pop with a long wait; a sync client waits in a thread."""
    if isinstance(hr, AsyncClient):
        return await hr.queue("mail").pop("w", wait=20)
    return await asyncio.to_thread(hr.queue("mail").pop, "w", wait=20)


async def next_events(listening: Any, count: int) -> list[Any]:
    """Return the next events of a listener; a sync listener waits in a thread."""
    if isinstance(listening, AsyncListener):
        return [await anext(listening) for _ in range(count)]
    return await asyncio.to_thread(lambda: [next(listening) for _ in range(count)])
