"""Lakes: how far each has come with the event logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headrace.engine.call import build, is_refusal
from headrace.engine.check import text, whole
from headrace.engine.events import entry_number
from headrace.errors import InvalidArgument, LakeRefused
from headrace.operations.event_log import logs
from headrace.operations.lake_values import LakeShard
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import on_all_shards
from headrace.operations.requests import ask
from headrace.transport.drive import Operation

_ENTRY = re.compile(r"[0-9]{1,15}-[0-9]{1,15}")


def lakes(client: ClientLike) -> Operation[list[LakeShard]]:
    """How far each lake is with the event log of each shard, by lake and shard."""
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
    """Tells the server up to which entry of each shard a lake has the events: they may be trimmed.

    A mark never falls. 0-0 says that the lake has none yet, and that none may go without it.
    """
    core = client.core
    text("lake", lake, core.limits.name)
    for shard, entry in offsets.items():
        whole("shard", shard, 0, core.shards - 1)
        _check_entry(entry)
    calls = [
        (shard, build("mark_lake", _marked(lake, shard, entry), lake=lake, entry=entry))
        for shard, entry in offsets.items()
    ]
    yield from ask(core, calls)


def _check_entry(entry: object) -> None:
    if not isinstance(entry, str) or not _ENTRY.fullmatch(entry):
        raise InvalidArgument(f"an entry must be <milliseconds>-<number>, not {entry!r}")


def _marked(lake: str, shard: int, entry: str) -> Callable[[Any], None]:
    def decode(answer: Any) -> None:
        if is_refusal(answer):
            code, _, told = answer.decode().partition(" ")
            raise LakeRefused(lake, _REFUSALS[code].format(shard=shard, entry=entry, told=told))

    return decode


_REFUSALS = {
    "LAKE_AHEAD": "it has shard {shard} up to event {entry}, and the newest of the server is "
    "number {told}: this is another server, or it has lost events; give it a new lake",
    "NOT_THIS_LOG": "it has shard {shard} up to event {entry}, which never was in the log of the "
    "server: this is another server, or it has lost events; give it a new lake",
    "TOO_MANY_LAKES": "the server knows {told} lakes already: headrace lake forget ends one",
}


def forget_lake(client: ClientLike, lake: str) -> Operation[bool]:
    """The server no longer keeps events for this lake. Whether it did."""
    text("lake", lake, client.core.limits.name)
    found = yield from on_all_shards(client.core, build("forget_lake", int, lake=lake))
    return any(found)
