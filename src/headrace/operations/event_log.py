"""Read the event logs of the shards; find entries by number, by time, or at either end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.engine import keys
from headrace.engine.call import build
from headrace.engine.check import whole
from headrace.engine.events import Event, entry_number, read_event
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, ask_all, raw
from headrace.transport.drive import Operation
from headrace.transport.transport import Command

# The maximum number of events to look up in one call. The server needs about 30 reads per event.
SOUGHT_A_CALL = 200
# The maximum number of entries that a reader of the whole log reads in one call.
ENTRIES_PER_READ = 5000
# The maximum time that one command waits for the next event.
FOLLOW_MS = 1000

_ENTRY_ID = re.compile(r"[0-9]{1,15}-[0-9]{1,15}")


def is_entry_id(text: str) -> bool:
    """Return whether a text is the id of a log entry, <milliseconds>-<number>."""
    return _ENTRY_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class ShardLog:
    """The event log of a shard.

    `oldest` and `newest` are entry ids, <milliseconds>-<number>. `oldest` is None if the log is
    empty. `newest` is the newest entry ever written, or "0-0" before the first event. `trimmed` is
    the number of events that were removed. `dropped` counts the removed events that at least one
    lake had not read. `marks` maps each lake to the id of the last entry that the lake has read.
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
        """The number of the newest event. This number equals the number of events ever written."""
        return entry_number(self.newest)

    @property
    def oldest_number(self) -> int:
        """The number of the oldest event in the log, or of the next event if the log is empty."""
        return entry_number(self.oldest) if self.oldest else self.newest_number + 1


def logs(core: Core) -> Operation[list[ShardLog]]:
    """Return the state of each event log: its ends, its counts, and how far each lake has read."""
    replies = yield from ask_all(core, build("lake_marks", list))
    return [_read_log_state(shard, reply) for shard, reply in enumerate(replies)]


def _read_log_state(shard: int, reply: list[Any]) -> ShardLog:
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


def seek_entries(
    core: Core, numbers: Mapping[int, Sequence[int]]
) -> Operation[dict[int, list[str]]]:
    """Return the ids of the log entries with these event numbers, by shard.

    The list of a shard with an empty log is empty. seek_events.lua explains the result for trimmed
    entries.
    """
    calls = [
        (shard, build("seek_events", list, [(number,) for number in part]))
        for shard, wanted in numbers.items()
        for part in chunks(wanted, SOUGHT_A_CALL)
    ]
    found: dict[int, list[str]] = {shard: [] for shard in numbers}
    for (shard, _), reply in zip(calls, (yield from ask(core, calls)), strict=True):
        found[shard] += [entry_id.decode() for entry_id in reply[2:]]
    return found


def newest_before(core: Core, ms: int, shards: Sequence[int]) -> Operation[dict[int, str]]:
    """Return, by shard, the id of the newest entry before a time.

    A shard without such an entry is left out.
    """
    commands: list[Command] = [
        (shard, ("XREVRANGE", core.key(shard, keys.EVENTS), ms - 1, "-", "COUNT", 1))
        for shard in shards
    ]
    replies = yield from raw(core, commands)
    return {
        shard: entries[0][0].decode()
        for shard, entries in zip(shards, replies, strict=True)
        if entries
    }


def read_entries(
    core: Core, shard: int, after: str, upto: str, count: int
) -> Operation[list[tuple[bytes, list[bytes]]]]:
    """Return up to `count` entries after the id `after`, up to and including the id `upto`.

    An entry is a tuple of its id and a flat list of field names and values.
    """
    command = ("XRANGE", core.key(shard, keys.EVENTS), f"({after}", upto, "COUNT", count)
    [entries] = yield from raw(core, [(shard, command)])
    found: list[tuple[bytes, list[bytes]]] = entries
    return found


def events(
    client: ClientLike, *, after: dict[int, str] | None = None, count: int = 1000
) -> Operation[list[Event]]:
    """Return up to `count` events of each shard, oldest first.

    `after` maps each shard to the id of the last entry that was read.
    """
    core = client.core
    whole("count", count, 1, 10_000)
    found: list[Event] = []
    for shard in range(core.shards):
        start = (after or {}).get(shard)
        found += yield from read_log(core, shard, f"({start}" if start else "-", count)
    return found


def reader(
    client: ClientLike, count: int, *, follow: bool, seen: Mapping[int, str] | None = None
) -> Callable[[], Operation[list[Event]]]:
    """Return a function that creates operations, each of which returns the next events.

    An operation returns up to `count` events of each shard.

    `seen` maps each shard to the id of the entry after which the first call starts. If there are no
    new events, the operation returns an empty list. With `follow`, the operation first waits for
    new events until the client is closed.
    """
    transport = client.core.transport
    closings = transport.closings
    last = dict(seen or {})

    def read() -> Operation[list[Event]]:
        while not (found := (yield from events(client, after=last, count=count))):
            if not follow or transport.closings > closings:
                return []
            yield from wait_for_event(client, last, FOLLOW_MS)
        last.update((event.shard, event.entry_id) for event in found)
        return found

    return read


def read_log(
    core: Core, shard: int, start: str, count: int, *, newest_first: bool = False
) -> Operation[list[Event]]:
    """Return up to `count` events of a shard, starting at a position in the stream.

    With `newest_first`, return the events before this position, newest first.
    """
    order, end = ("XREVRANGE", "-") if newest_first else ("XRANGE", "+")
    command = (order, core.key(shard, keys.EVENTS), start, end, "COUNT", count)
    [entries] = yield from raw(core, [(shard, command)])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def wait_for_event(client: ClientLike, seen: dict[int, str], milliseconds: int) -> Operation[None]:
    """Wait until a shard has an event after its entry in `seen`, or until the time is over."""
    core = client.core
    for shard in range(core.shards):
        # Block for less than the connection's timeout. Otherwise the connection would count as
        # broken.
        block = max(1, round(min(milliseconds, 500 * core.timeout)) // core.shards)
        key = core.key(shard, keys.EVENTS)
        last = seen.get(shard, "0-0")
        words = ("XREAD", "BLOCK", block, "COUNT", 1, "STREAMS", key, last)
        [found] = yield from raw(core, [(shard, words)])
        if found:
            return
