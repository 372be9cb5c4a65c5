"""What tests of shards say all the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import Client
from headrace.engine.call import Call, build
from headrace.operations.requests import ask
from headrace.transport.drive import drive


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
    return drive(
        hr.core.transport, ask(hr.core, [(shard, call) for shard in range(hr.core.shards)])
    )


def numbered_without_holes(hr: Client) -> bool:
    """Whether the events of every shard are numbered from 1."""
    numbers: dict[int, list[int]] = {}
    for event in hr.events():
        numbers.setdefault(event.shard, []).append(event.number)
    return all(found == list(range(1, len(found) + 1)) for found in numbers.values())
