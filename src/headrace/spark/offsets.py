"""Compute offsets and ranges of the event log, without I/O.

An offset has, for each shard, the id <milliseconds>-<number> of the last entry that was read.
Entries are numbered from 1 without gaps, so the size of a range follows from the ids at its ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from headrace.engine.check import shown
from headrace.engine.events import entry_number
from headrace.errors import InvalidArgument, NamespaceMismatch
from headrace.lake.manifest import START, LogRange
from headrace.operations.event_log import ShardLog, is_entry_id

EARLIEST = "earliest"
LATEST = "latest"

Offsets = dict[int, str]
Bound = str | Offsets


def milliseconds_of(entry_id: str) -> int:
    """Return the time of an entry in milliseconds."""
    return int(entry_id.partition("-")[0])


def entry_before(entry_id: str) -> str:
    """Return an id that sorts directly before this entry, and after all earlier entries."""
    ms, _, number = entry_id.partition("-")
    return f"{ms}-{int(number) - 1}"


# Offsets as text


def offsets_to_json(offsets: Offsets) -> dict[str, str]:
    """Return offsets as JSON for Spark, sorted by shard, because Spark compares the text."""
    return {str(shard): offsets[shard] for shard in sorted(offsets)}


def offsets_text(offsets: Offsets) -> str:
    """Return offsets as text for the options startingOffsets and endingOffsets."""
    return json.dumps(offsets_to_json(offsets))


def offsets_from_json(given: Any, called: str = "an offset") -> Offsets:
    """Return offsets from decoded JSON. Raises InvalidArgument if the JSON is not an offset."""
    if not isinstance(given, dict) or not all(map(_is_offset, given.items())):
        raise _no_offsets(called, given)
    return {int(shard): given[shard] for shard in sorted(given, key=int)}


def _is_offset(given: tuple[str, Any]) -> bool:
    shard, entry_id = given
    is_shard = shard.isascii() and shard.isdigit()
    return is_shard and isinstance(entry_id, str) and is_entry_id(entry_id)


def read_bound(called: str, text: str) -> Bound:
    """Read the option startingOffsets or endingOffsets."""
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    try:
        given = json.loads(text)
    except ValueError:
        raise _no_offsets(called, text) from None
    return offsets_from_json(given, called)


def _no_offsets(called: str, given: object) -> InvalidArgument:
    return InvalidArgument(
        f"{called} must be {EARLIEST}, {LATEST} or the id of an entry, <milliseconds>-<number>, "
        f'for each shard, such as {{"0": "1700000000000-42", "1": "0-0"}}; not {shown(given)}'
    )


# Start and end


def beginning(bound: Bound, ends: Sequence[ShardLog]) -> Offsets:
    """Return the offset at which to start.

    EARLIEST means the oldest event that is still in the log, so trimmed events do not count as
    lost.
    """
    if isinstance(bound, dict):
        return _of_shards(bound, ends)
    return {
        shard: entry_before(end.oldest) if bound == EARLIEST and end.oldest else end.newest
        for shard, end in enumerate(ends)
    }


def ending(bound: Bound, start: Offsets, ends: Sequence[ShardLog]) -> Offsets:
    """Return the offset at which to end. A shard without an offset in `bound` is not read."""
    if bound == EARLIEST:
        raise InvalidArgument(f"option endingOffsets cannot be {EARLIEST}")
    if isinstance(bound, dict):
        return start | _of_shards(start | bound, ends)
    return newest(ends)


def newest(ends: Sequence[ShardLog]) -> Offsets:
    """Return the offset at the end of the log."""
    return {shard: end.newest for shard, end in enumerate(ends)}


def _of_shards(offsets: Offsets, ends: Sequence[ShardLog]) -> Offsets:
    """Return an offset for every shard. A shard without an offset starts at its first event."""
    for shard, entry_id in offsets.items():
        if shard >= len(ends):
            raise NamespaceMismatch(
                f"the offset is for shard {shard}, but the namespace has {len(ends)} shards: the "
                "offset is from another namespace"
            )
        if entry_number(entry_id) > entry_number(ends[shard].newest):
            raise NamespaceMismatch(
                f"the offset of shard {shard} is event {entry_number(entry_id)}, but the log ends "
                f"with event {entry_number(ends[shard].newest)}: this is another log, or the "
                "server lost its newest events; start again with another checkpoint"
            )
    return {shard: offsets.get(shard, START) for shard in range(len(ends))}


def to_be_found(offsets: Offsets, ends: Sequence[ShardLog]) -> dict[int, list[int]]:
    """Return the entry numbers to look up in a log, to check that the offsets belong to the log.

    Raises NamespaceMismatch if the ends of the log already show that an offset belongs to another
    log.
    """
    sought: dict[int, list[int]] = {}
    for shard, entry_id in offsets.items():
        number, end = entry_number(entry_id), ends[shard]
        oldest = end.oldest or end.newest
        if number and (end.oldest is None or number < entry_number(oldest)):
            if milliseconds_of(entry_id) > milliseconds_of(oldest):
                raise _another_log(shard, entry_id)
        elif number:
            sought[shard] = [number]
    return sought


def check_found(offsets: Offsets, found: Mapping[int, Sequence[str]]) -> None:
    """Raise NamespaceMismatch if the log has a different entry at one of these offsets."""
    for shard, entries in found.items():
        if list(entries) not in ([], [offsets[shard]]):
            raise _another_log(shard, offsets[shard])


def _another_log(shard: int, entry_id: str) -> NamespaceMismatch:
    return NamespaceMismatch(
        f"the offset of shard {shard} is event {entry_id}, which was never in this log: the server "
        "was emptied or lost events, and has logged other events since; start again with another "
        "checkpoint"
    )


# Ranges


def ranges_between(start: Offsets, end: Offsets) -> list[LogRange]:
    """Return the ranges between two offsets, without empty ranges."""
    ranges = []
    for shard in sorted(end):
        found = LogRange(shard=shard, after=start.get(shard, START), to=end[shard])
        if found.size < 0:
            raise InvalidArgument(
                f"the range of shard {shard} starts after event {found.first - 1} and ends with "
                f"event {found.last}: endingOffsets must not be before startingOffsets"
            )
        if found.size:
            ranges.append(found)
    return ranges


def missing_before(events: LogRange, ends: Sequence[ShardLog]) -> int:
    """Return the number of events at the start of a range that were trimmed from the log."""
    oldest = ends[events.shard].oldest
    there = events.last + 1 if oldest is None else min(entry_number(oldest), events.last + 1)
    return max(0, there - events.first)


def fair_shares(ranges: Sequence[LogRange], ends: Sequence[ShardLog], most: int) -> dict[int, int]:
    """Return the number of events to read from each shard, at most `most` in total.

    If a shard has fewer events than its share, the other shards get larger shares. Trimmed events
    do not count towards the share of a shard.
    """
    there = {events.shard: _there(events, ends) for events in ranges}
    shares: dict[int, int] = {}
    for position, shard in enumerate(sorted(there, key=lambda shard: (there[shard], shard))):
        shares[shard] = min(there[shard], most // (len(there) - position))
        most -= shares[shard]
    return shares


def ends_of_shares(
    ranges: Sequence[LogRange], ends: Sequence[ShardLog], most: int
) -> tuple[Offsets, dict[int, list[int]]]:
    """Return new ends for the ranges, so that each range has only its shard's share of the events.

    The first dict has the ends whose entry ids are already known. The second dict has the event
    numbers of the other ends; their entry ids must be looked up.
    """
    known: Offsets = {}
    sought: dict[int, list[int]] = {}
    shares = fair_shares(ranges, ends, most)
    for events in ranges:
        share = shares[events.shard]
        if share == _there(events, ends):
            known[events.shard] = events.to
        elif share:
            sought[events.shard] = [events.first + missing_before(events, ends) + share - 1]
        else:
            known[events.shard] = events.after
    return known, sought


def _there(events: LogRange, ends: Sequence[ShardLog]) -> int:
    return events.size - missing_before(events, ends)


def split_points(events: LogRange, ends: Sequence[ShardLog], per_part: int) -> list[int]:
    """Return the event numbers that split a range into equal parts of at most `per_part` events."""
    there = _there(events, ends)
    parts = -(-there // per_part)
    return [events.last - there + there * part // parts for part in range(1, parts)]


def split_at(events: LogRange, at: Sequence[str]) -> list[LogRange]:
    """Split a range after the given entries, and return the parts."""
    bounds = [events.after, *at, events.to]
    return [LogRange(shard=events.shard, after=after, to=to) for after, to in pairwise(bounds)]


def later(events: LogRange, before: Mapping[int, str]) -> LogRange:
    """Return the part of a range after the offset `before`, which has one entry id per shard."""
    entry_id = before.get(events.shard, START)
    if entry_number(entry_id) <= entry_number(events.after):
        return events
    bound = min(entry_id, events.to, key=entry_number)
    return LogRange(shard=events.shard, after=bound, to=events.to)
