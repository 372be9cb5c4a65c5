"""The event log of each shard: its ends, the positions of events, and its entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import build
from headrace.engine.check import whole
from headrace.engine.events import Event, entry_number, read_event
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, raw
from headrace.transport.drive import Operation

# The server finds each by about 30 reads of the log.
SOUGHT_A_CALL = 200

_ENTRY_ID = re.compile(r"[0-9]{1,15}-[0-9]{1,15}")


def is_entry_id(text: str) -> bool:
    """Return whether this is the id of a log entry, <milliseconds>-<number>."""
    return _ENTRY_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class ShardLog:
    """The event log of a shard. Entries are ids, <milliseconds>-<number>.

    trimmed is the number of events that were removed, and dropped the number of those that some
    lake missed. marks has the last entry of each lake.
    """

    shard: int
    oldest: str | None
    newest: str
    trimmed: int
    dropped: int
    begun_ms: int
    marks: dict[str, str]

    @property
    def newest_number(self) -> int:
        """The number of the newest event, and so of all events ever."""
        return entry_number(self.newest)

    @property
    def oldest_number(self) -> int:
        """The number of the oldest event in the log, or of the next event if it is empty."""
        return entry_number(self.oldest) if self.oldest else self.newest_number + 1


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The ids of the oldest entry in a log, None if it is empty, and of the newest ever.

    The newest is "0-0" before the first event.
    """

    oldest: str | None
    newest: str


def log_ends(core: Core) -> Operation[list[LogEnds]]:
    """Return the ends of the log of each shard."""
    return [LogEnds(log.oldest, log.newest) for log in (yield from logs(core))]


def logs(core: Core) -> Operation[list[ShardLog]]:
    """Return facts about the event log of each shard."""
    calls = [(shard, build("lake_marks", _log(shard))) for shard in range(core.shards)]
    return (yield from ask(core, calls))


def _log(shard: int) -> Callable[[Any], ShardLog]:
    def decode(reply: list[Any]) -> ShardLog:
        oldest, newest, trimmed, dropped, begun, marks = reply
        return ShardLog(
            shard=shard,
            oldest=oldest.decode() or None,
            newest=newest.decode(),
            trimmed=trimmed,
            dropped=dropped,
            begun_ms=begun,
            marks=text_map(marks),
        )

    return decode


def seek_entries(
    core: Core, numbers: Mapping[int, Sequence[int]]
) -> Operation[dict[int, list[str]]]:
    """Return the ids of the entries with these numbers, by shard.

    For trimmed entries see seek_events.lua. A shard with an empty log has none.
    """
    calls = [
        (shard, build("seek_events", list, [(number,) for number in part]))
        for shard, wanted in numbers.items()
        for part in (
            wanted[first : first + SOUGHT_A_CALL] for first in range(0, len(wanted), SOUGHT_A_CALL)
        )
    ]
    found: dict[int, list[str]] = {shard: [] for shard in numbers}
    for (shard, _), reply in zip(
        calls, (yield from ask(core, calls)) if calls else [], strict=True
    ):
        found[shard] += [entry_id.decode() for entry_id in reply[2:]]
    return found


def newest_before(core: Core, ms: int, shards: Sequence[int]) -> Operation[dict[int, str]]:
    """Return the id of the newest entry before a time, for each shard that has one."""
    replies = yield from raw(
        core,
        [
            (shard, ("XREVRANGE", core.key(shard, "events"), ms - 1, "-", "COUNT", 1))
            for shard in shards
        ],
    )
    return {
        shard: entries[0][0].decode()
        for shard, entries in zip(shards, replies, strict=True)
        if entries
    }


def read_entries(
    core: Core, shard: int, after: str, upto: str, count: int
) -> Operation[list[tuple[bytes, list[bytes]]]]:
    """Return up to `count` entries after one id and up to another.

    An entry is its id and a flat list of field names and values.
    """
    command = ("XRANGE", core.key(shard, "events"), f"({after}", upto, "COUNT", count)
    [entries] = yield from raw(core, [(shard, command)])
    found: list[tuple[bytes, list[bytes]]] = entries
    return found


def events(
    client: ClientLike, *, after: dict[int, str] | None = None, count: int = 1000
) -> Operation[list[Event]]:
    """Return up to `count` events of each shard, oldest first.

    after has, by shard, the id of the last entry that was read.
    """
    core = client.core
    whole("count", count, 1, 10_000)
    found: list[Event] = []
    for shard in range(core.shards):
        start = (after or {}).get(shard)
        found += yield from read_log(core, shard, f"({start}" if start else "-", count)
    return found


def read_log(core: Core, shard: int, start: str, count: int) -> Operation[list[Event]]:
    """Return up to `count` events of a shard from a stream position on."""
    key = core.key(shard, "events")
    [entries] = yield from raw(core, [(shard, ("XRANGE", key, start, "+", "COUNT", count))])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def wait_for_event(client: ClientLike, seen: dict[int, str], milliseconds: int) -> Operation[None]:
    """Wait until a shard has an event after the last one seen, or until the time is over."""
    core = client.core
    for shard in range(core.shards):
        # The server must answer before the connection counts as broken.
        block = max(1, round(min(milliseconds, 500 * core.timeout)) // core.shards)
        key = core.key(shard, "events")
        last = seen.get(shard, "0-0")
        words = ("XREAD", "BLOCK", block, "COUNT", 1, "STREAMS", key, last)
        [found] = yield from raw(core, [(shard, words)])
        if found:
            return
