"""The log, read in bulk: where it begins and ends, where events stand in it, and its entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import build
from headrace.engine.check import whole
from headrace.engine.events import Event, read_event
from headrace.operations.core import Core
from headrace.operations.lake_values import Log
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, raw
from headrace.transport.drive import Operation

# Each is found by some thirty looks at the log.
SOUGHT_A_CALL = 200


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The id of the oldest entry that is there, None if none is, and of the newest that ever was.

    The newest is "0-0" where nothing has happened yet.
    """

    oldest: str | None
    newest: str


def log_ends(core: Core) -> Operation[list[LogEnds]]:
    """The ends of the log of each shard."""
    return [LogEnds(log.oldest, log.newest) for log in (yield from logs(core))]


def logs(core: Core) -> Operation[list[Log]]:
    """The event log of each shard."""
    calls = [(shard, build("lake_marks", _log(shard))) for shard in range(core.shards)]
    return (yield from ask(core, calls))


def _log(shard: int) -> Callable[[Any], Log]:
    def decode(reply: list[Any]) -> Log:
        oldest, newest, trimmed, dropped, begun, marks = reply
        return Log(
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
    """The ids of the entries of these numbers, by shard; see seek_events for those that are gone.

    Of a shard whose log is empty there are none.
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
    """The id of the newest entry before a time, of each of these shards that has one."""
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
    """Up to count entries after one and up to another, each its id, then names and values."""
    command = ("XRANGE", core.key(shard, "events"), f"({after}", upto, "COUNT", count)
    [entries] = yield from raw(core, [(shard, command)])
    found: list[tuple[bytes, list[bytes]]] = entries
    return found


def events(
    client: ClientLike, *, after: dict[int, str] | None = None, count: int = 1000
) -> Operation[list[Event]]:
    """Up to count events of each shard, oldest first, after the last entry ids that were seen."""
    core = client.core
    whole("count", count, 1, 10_000)
    found: list[Event] = []
    for shard in range(core.shards):
        start = (after or {}).get(shard)
        found += yield from read_log(core, shard, f"({start}" if start else "-", count)
    return found


def read_log(core: Core, shard: int, start: str, count: int) -> Operation[list[Event]]:
    """Return up to count events of a shard from a stream position on."""
    key = core.key(shard, "events")
    [entries] = yield from raw(core, [(shard, ("XRANGE", key, start, "+", "COUNT", count))])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def wait_for_event(client: ClientLike, seen: dict[int, str], milliseconds: int) -> Operation[None]:
    """Waits until a shard has an event beyond the last one seen, but not for long."""
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
