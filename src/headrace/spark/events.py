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
    LogEnds,
    log_ends,
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
PAGE = 5000
PAGE_BYTES = 8 << 20


def condition(**wanted: str) -> pc.Expression:
    """Return the condition that columns have these values; an empty text stands for any value."""
    equal = (pc.field(column) == value for column, value in wanted.items() if value)
    return reduce(and_, equal, pc.scalar(True))


def filtered(batches: Iterable[pa.RecordBatch], wanted: pc.Expression) -> Iterator[pa.RecordBatch]:
    """Yield the rows that match a condition, without empty batches."""
    return (found for batch in batches if (found := batch.filter(wanted)).num_rows)


class EventsPartition(InputPartition):
    """The range of events that one task reads."""

    def __init__(self, events: LogRange) -> None:
        super().__init__(events)


class EventsReader(DataSourceReader):
    """Reads the events between two offsets."""

    def __init__(self, options: EventsBatchOptions) -> None:
        self._options = options
        self._condition = condition(queue=options.queue, kind=options.kind)
        if options.since is not None:
            self._condition &= pc.field("at") >= options.since

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each part of the log that one task reads."""
        with self._options.open() as client:
            parts = drive(client.core.transport, self._parts(client.core))
        return [EventsPartition(part) for part in parts]

    def _parts(self, core: Core) -> Operation[list[LogRange]]:
        ends = yield from log_ends(core)
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
    """Reads the events from an offset on, in bounded steps."""

    def __init__(self, options: EventsStreamOptions) -> None:
        self._options = options
        self._client: Client | None = None
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        """Return where a new query starts."""
        return offsets.offsets_to_json(offsets.beginning(self._options.starting, self._ends()))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the option maxEventsPerTrigger as a limit."""
        most = self._options.per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Remember the present end of the log as the end of the query."""
        self._target = offsets.newest(self._ends())

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """Return where the next batch ends. Raises NamespaceMismatch if the log is another one."""
        end = self._drive(self._end(offsets.offsets_from_json(start), limit))
        return offsets.offsets_to_json(end)

    def _end(self, start: Offsets, limit: ReadLimit) -> Operation[Offsets]:
        ends = yield from log_ends(self._core)
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
        """Return one partition for each part of a batch that one task reads."""
        between = offsets.offsets_from_json(start), offsets.offsets_from_json(end)
        return [EventsPartition(part) for part in self._drive(self._parts(*between))]

    def _parts(self, start: Offsets, end: Offsets) -> Operation[list[LogRange]]:
        ends = yield from log_ends(self._core)
        # Spark repeats a batch that was planned before a restart without calling latestOffset.
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
        # Opened on first use, because Spark pickles the reader and sends it to executors.
        if self._client is None:
            self._client = self._options.open()
        return self._client.core

    def _drive(self, operation: Operation[T]) -> T:
        return drive(self._core.transport, operation)

    def _ends(self) -> list[LogEnds]:
        return self._drive(log_ends(self._core))


def _check_log(core: Core, read: Offsets, ends: Sequence[LogEnds]) -> Operation[None]:
    """Raise NamespaceMismatch if the offsets do not belong to this log."""
    sought = offsets.to_be_found(read, ends)
    offsets.check_found(read, (yield from seek_entries(core, sought)))


def bounded(
    core: Core, ranges: Sequence[LogRange], ends: Sequence[LogEnds], most: int
) -> Operation[Offsets]:
    """Return where ranges end so that they have at most `most` events in total."""
    known, sought = offsets.ends_of_shares(ranges, ends, most)
    found = yield from seek_entries(core, sought)
    # If the log was emptied in the meantime, the end stays the same.
    reached = {shard: entries[0] for shard, entries in found.items() if entries}
    return {events.shard: events.to for events in ranges} | known | reached


def _since(
    core: Core, ranges: list[LogRange], ends: Sequence[LogEnds], since: datetime
) -> Operation[list[LogRange]]:
    """Return the ranges without the events before a time.

    An event may be older than its entry, but never newer.
    """
    ms = int((since - EPOCH).total_seconds() * 1000)
    older = [events.shard for events in ranges if _is_older(ends[events.shard].oldest, ms)]
    before = (yield from newest_before(core, ms, older)) if older else {}
    found = [offsets.later(events, before) for events in ranges]
    return [events for events in found if events.first <= events.last]


def _is_older(oldest: str | None, ms: int) -> bool:
    # Otherwise trimmed events may be newer than this time.
    return oldest is not None and offsets.milliseconds_of(oldest) < ms


def _parts(
    core: Core, ranges: list[LogRange], ends: Sequence[LogEnds], options: EventsOptions
) -> Operation[list[LogRange]]:
    """Return the ranges split for tasks. Raises EventsTrimmed if events are missing."""
    for events in ranges:
        missing = offsets.missing_before(events, ends)
        if missing and options.fail_on_data_loss:
            raise EventsTrimmed(events.shard, events.first, missing)
    return (yield from split(core, ranges, ends, options.per_partition))


def split(
    core: Core, ranges: Sequence[LogRange], ends: Sequence[LogEnds], most: int
) -> Operation[list[LogRange]]:
    """Return the ranges split into parts of at most `most` events."""
    numbers = {events.shard: offsets.split_points(events, ends, most) for events in ranges}
    found = yield from seek_entries(core, numbers)
    return [part for events in ranges for part in offsets.split_at(events, found[events.shard])]


def _read(
    options: EventsOptions, partition: InputPartition, wanted: pc.Expression
) -> Iterator[pa.RecordBatch]:
    # If there is nothing to read, Spark runs one task with a partition of its own.
    if not isinstance(partition, EventsPartition):
        return
    with options.open() as client:
        fail = options.fail_on_data_loss
        batches = read_range(client.core, partition.value, fail_on_data_loss=fail)
        yield from filtered(batches, wanted)


def read_range(
    core: Core, events: LogRange, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a range, with a gap row for trimmed events.

    Raises EventsTrimmed instead if fail_on_data_loss is set.
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
        count = min(PAGE, max(1, PAGE_BYTES * len(entries) // batch.nbytes))
