"""Lakes: the server records how far each lake has read the event logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import Call, build, is_refusal
from headrace.engine.check import text, whole
from headrace.engine.events import entry_number
from headrace.errors import InvalidArgument, LakeRefused
from headrace.operations.event_log import is_entry_id, logs
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import on_all_shards
from headrace.operations.requests import ask, unchanged
from headrace.transport.drive import Operation


@dataclass(frozen=True, slots=True)
class LakeShard:
    """How far one lake has read the event log on one shard.

    `entry` is the last entry that the lake has, and `behind` is the number of newer events.
    `trimmed` is the number of events that were removed from the log. `dropped` counts the removed
    events that at least one lake had not read.
    """

    lake: str
    shard: int
    entry: str
    behind: int
    trimmed: int
    dropped: int


def lakes(client: ClientLike) -> Operation[list[LakeShard]]:
    """Return how far each lake has read the event log of each shard, sorted by lake and shard.

    Raises ServerUnavailable if the server does not answer.
    """
    found = yield from logs(client.core)
    rows = [
        LakeShard(
            lake=lake,
            shard=log.shard,
            entry=entry,
            behind=log.newest_number - entry_number(entry),
            trimmed=log.trimmed,
            dropped=log.dropped,
        )
        for log in found
        for lake, entry in log.marks.items()
    ]
    return sorted(rows, key=lambda row: (row.lake, row.shard))


def mark_lake(client: ClientLike, lake: str, offsets: Mapping[int, str]) -> Operation[None]:
    """Record the last log entry that a lake has on each shard.

    The server may trim entries up to the recorded entry. The recorded entry never moves back to an
    older entry. The entry 0-0 registers a lake that has no events yet. The server keeps events that
    a registered lake does not have, up to the setting `events_cap`. Raises LakeRefused if the log
    and the lake do not match.
    """
    core = client.core
    text("lake", lake, core.limits.name)
    for shard, entry in offsets.items():
        whole("shard", shard, 0, core.shards - 1)
        if not is_entry_id(str(entry)):
            raise InvalidArgument(f"an entry must be <milliseconds>-<number>, not {entry!r}")
    calls: list[tuple[int, Call[Any]]] = [
        (shard, build("mark_lake", unchanged, lake=lake, entry=entry))
        for shard, entry in offsets.items()
    ]
    for (shard, entry), answer in zip(offsets.items(), (yield from ask(core, calls)), strict=True):
        if is_refusal(answer):
            code, _, detail = answer.decode().partition(" ")
            raise LakeRefused(lake, _REFUSALS[code].format(shard=shard, entry=entry, detail=detail))


_REFUSALS = {
    "LAKE_AHEAD": "the lake has shard {shard} up to event {entry}, but the newest event on the "
    "server is number {detail}: this is another server, or the server lost events; use a new lake",
    "NOT_THIS_LOG": "the lake has shard {shard} up to event {entry}, which was never in the log of "
    "the server: this is another server, or the server lost events; use a new lake",
    "TOO_MANY_LAKES": "the server already has {detail} lakes: remove one with headrace lake forget",
}


def forget_lake(client: ClientLike, lake: str) -> Operation[bool]:
    """Stop keeping events for a lake; return whether the lake was registered.

    Raises InvalidArgument if the name is malformed.

        client.lakes.forget("old-lake")
    """
    text("lake", lake, client.core.limits.name)
    found = yield from on_all_shards(client.core, build("forget_lake", int, lake=lake))
    return any(found)
