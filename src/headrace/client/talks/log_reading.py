"""The log, read in bulk: where it begins and ends, where events stand in it, and its entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.client.core import Core
from headrace.client.lake_values import Log
from headrace.client.talk import Talk, ask, raw
from headrace.client.talks.queues import text_map
from headrace.engine.call import build

# Each is found by some thirty looks at the log.
SOUGHT_A_CALL = 200


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The id of the oldest entry that is there, None if none is, and of the newest that ever was.

    The newest is "0-0" where nothing has happened yet.
    """

    oldest: str | None
    newest: str


def log_ends(core: Core) -> Talk[list[LogEnds]]:
    """The ends of the log of each shard."""
    return [LogEnds(log.oldest, log.newest) for log in (yield from logs(core))]


def logs(core: Core) -> Talk[list[Log]]:
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


def seek_entries(core: Core, numbers: Mapping[int, Sequence[int]]) -> Talk[dict[int, list[str]]]:
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


def newest_before(core: Core, ms: int, shards: Sequence[int]) -> Talk[dict[int, str]]:
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
) -> Talk[list[tuple[bytes, list[bytes]]]]:
    """Up to count entries after one and up to another, each its id, then names and values."""
    command = ("XRANGE", core.key(shard, "events"), f"({after}", upto, "COUNT", count)
    [entries] = yield from raw(core, [(shard, command)])
    found: list[tuple[bytes, list[bytes]]] = entries
    return found
