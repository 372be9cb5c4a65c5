"""Read the event logs of all shards as a table: a batch between two offsets, or a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import reduce
from operator import and_
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headrace.client.client import Client
from headrace.engine.events import entry_number
from headrace.engine.timestamps import EPOCH, moment
from headrace.errors import EventsTrimmed
from headrace.lake.event_columns import event_columns, gap_row
from headrace.lake.manifest import LogRange
from headrace.operations.core import Core
from headrace.operations.event_log import (
    ENTRIES_PER_READ,
    ShardLog,
    logs,
    newest_before,
    read_entries,
    seek_entries,
)
from headrace.spark import offsets
from headrace.spark.offsets import Offsets
from headrace.spark.options import EventsBatchOptions, EventsOptions, EventsStreamOptions
from headrace.transport.drive import Operation, drive

T = TypeVar("T")

FIRST_PAGE = 200
PAGE_BYTES = 8 << 20


def condition(**wanted: str) -> pc.Expression:
    """Return a filter for rows with these column values. An empty string matches any value."""
    equal = (pc.field(column) == value for column, value in wanted.items() if value)
    return reduce(and_, equal, pc.scalar(True))


def filtered(batches: Iterable[pa.RecordBatch], wanted: pc.Expression) -> Iterator[pa.RecordBatch]:
    """Yield the rows that match a condition, without empty batches."""
    return (found for batch in batches if (found := batch.filter(wanted)).num_rows)


class EventsReader(DataSourceReader):
    """Reads the events between two offsets."""

    def __init__(self, options: EventsBatchOptions) -> None:
        self._options = options
        self._condition = condition(queue=options.queue, kind=options.kind)
        if options.since is not None:
            self._condition &= pc.field("at") >= options.since

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each task, with the part of the log that the task reads."""
        with self._options.open() as client:
            parts = drive(client.core.transport, self._parts(client.core))
        return [InputPartition(part) for part in parts]

    def _parts(self, core: Core) -> Operation[list[LogRange]]:
        ends = yield from logs(core)
        start = offsets.beginning(self._options.starting, ends)
        end = offsets.ending(self._options.ending, start, ends)
        ranges = offsets.ranges_between(start, end)
        if self._options.since is not None:
            ranges = yield from _since(core, ranges, ends, self._options.since)
        return (yield from _parts(core, ranges, ends, self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of a partition."""
        return _read(self._options, partition, self._condition)


class EventsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the events after an offset as a stream, in batches of limited size."""

    def __init__(self, options: EventsStreamOptions) -> None:
        self._options = options
        self._client: Client | None = None
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        """Return the offset at which a new query starts."""
        return offsets.offsets_to_json(offsets.beginning(self._options.starting, self._ends()))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the option maxEventsPerTrigger as a read limit."""
        most = self._options.per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Store the current end of the log as the end of the query."""
        self._target = offsets.newest(self._ends())

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """Return the offset at which the next batch ends.

        Raises NamespaceMismatch if the start offset belongs to another log.
        """
        end = self._drive(self._end(offsets.offsets_from_json(start), limit))
        return offsets.offsets_to_json(end)

    def _end(self, start: Offsets, limit: ReadLimit) -> Operation[Offsets]:
        ends = yield from logs(self._core)
        start = offsets.beginning(start, ends)
        yield from _check_log(self._core, start, ends)
        end = start | (self._target or offsets.newest(ends))
        if not isinstance(limit, ReadMaxRows):
            return end
        ranges = offsets.ranges_between(start, end)
        return end | (yield from bounded(self._core, ranges, ends, limit.max_rows))

    def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802
        """Return the end of the log, for Spark's progress report."""
        return offsets.offsets_to_json(offsets.newest(self._ends()))

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """Return one partition for each task, with the part of the batch that the task reads."""
        between = offsets.offsets_from_json(start), offsets.offsets_from_json(end)
        return [InputPartition(part) for part in self._drive(self._parts(*between))]

    def _parts(self, start: Offsets, end: Offsets) -> Operation[list[LogRange]]:
        ends = yield from logs(self._core)
        # After a restart, Spark repeats the last planned batch without calling latestOffset.
        yield from _check_log(self._core, offsets.beginning(end, ends), ends)
        ranges = offsets.ranges_between(start, end)
        return (yield from _parts(self._core, ranges, ends, self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of a partition."""
        return _read(self._options, partition, condition())

    def stop(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    @property
    def _core(self) -> Core:
        # Open the client on first use, because Spark pickles the reader for the executors.
        if self._client is None:
            self._client = self._options.open()
        return self._client.core

    def _drive(self, operation: Operation[T]) -> T:
        return drive(self._core.transport, operation)

    def _ends(self) -> list[ShardLog]:
        return self._drive(logs(self._core))


def _check_log(core: Core, read: Offsets, ends: Sequence[ShardLog]) -> Operation[None]:
    """Raise NamespaceMismatch if the offsets do not belong to this log."""
    sought = offsets.to_be_found(read, ends)
    offsets.check_found(read, (yield from seek_entries(core, sought)))


def bounded(
    core: Core, ranges: Sequence[LogRange], ends: Sequence[ShardLog], most: int
) -> Operation[Offsets]:
    """Return a new end for each range, so that the ranges have at most `most` events in total."""
    known, sought = offsets.ends_of_shares(ranges, ends, most)
    found = yield from seek_entries(core, sought)
    # If the log of a shard was emptied in the meantime, the shard's range keeps the same end.
    reached = {shard: entries[0] for shard, entries in found.items() if entries}
    return {events.shard: events.to for events in ranges} | known | reached


def _since(
    core: Core, ranges: list[LogRange], ends: Sequence[ShardLog], since: datetime
) -> Operation[list[LogRange]]:
    """Return the ranges without the events before a time.

    The time of an event may be earlier than the time of its log entry, but never later.
    """
    ms = int((since - EPOCH).total_seconds() * 1000)
    older = [events.shard for events in ranges if _is_older(ends[events.shard].oldest, ms)]
    before = (yield from newest_before(core, ms, older)) if older else {}
    found = [offsets.later(events, before) for events in ranges]
    return [events for events in found if events.first <= events.last]


def _is_older(oldest: str | None, ms: int) -> bool:
    # If the oldest entry in the log is newer than `ms`, trimmed events may also be newer than `ms`.
    return oldest is not None and offsets.milliseconds_of(oldest) < ms


def _parts(
    core: Core, ranges: list[LogRange], ends: Sequence[ShardLog], options: EventsOptions
) -> Operation[list[LogRange]]:
    """Split the ranges into one part for each task. Raises EventsTrimmed if events are missing."""
    for events in ranges:
        missing = offsets.missing_before(events, ends)
        if missing and options.fail_on_data_loss:
            raise EventsTrimmed(events.shard, events.first, missing)
    return (yield from split(core, ranges, ends, options.per_partition))


def split(
    core: Core, ranges: Sequence[LogRange], ends: Sequence[ShardLog], most: int
) -> Operation[list[LogRange]]:
    """Split the ranges into parts of at most `most` events."""
    numbers = {events.shard: offsets.split_points(events, ends, most) for events in ranges}
    found = yield from seek_entries(core, numbers)
    return [part for events in ranges for part in offsets.split_at(events, found[events.shard])]


def _read(
    options: EventsOptions, partition: InputPartition, wanted: pc.Expression
) -> Iterator[pa.RecordBatch]:
    # If there is nothing to read, Spark runs one task with an empty partition.
    if partition.value is None:
        return
    with options.open() as client:
        core, fail = client.core, options.fail_on_data_loss
        yield from filtered(read_range(core, partition.value, fail_on_data_loss=fail), wanted)


def read_range(
    core: Core, events: LogRange, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a range, with a gap row where events were trimmed from the log.

    If fail_on_data_loss is set, raise EventsTrimmed instead of yielding a gap row.
    """
    after, expected, count = events.after, events.first, FIRST_PAGE
    while expected <= events.last:
        entries = drive(core.transport, read_entries(core, events.shard, after, events.to, count))
        batch = event_columns(events.shard, entries)
        found = batch["number"][0].as_py() if entries else events.last + 1
        if found > expected:
            if fail_on_data_loss:
                raise EventsTrimmed(events.shard, expected, found - expected)
            at = batch["at"][0].as_py() if entries else moment(offsets.milliseconds_of(events.to))
            yield gap_row(events.shard, expected, found - expected, at)
        if not entries:
            return
        yield batch
        after = entries[-1][0].decode()
        expected = entry_number(after) + 1
        count = min(ENTRIES_PER_READ, max(1, PAGE_BYTES * len(entries) // batch.nbytes))
