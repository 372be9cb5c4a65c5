"""The table of events: the logs of all shards, as a batch between two offsets and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
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
from headrace.lake.columns import event_columns, gap_row
from headrace.operations.core import Core
from headrace.operations.event_log import (
    LogEnds,
    log_ends,
    newest_before,
    read_entries,
    seek_entries,
)
from headrace.spark import plan
from headrace.spark.filters import all_of, condition, time_bounds
from headrace.spark.options import Events, EventsBatch, EventsStream
from headrace.spark.plan import Offsets, Span
from headrace.transport.drive import Operation, drive

T = TypeVar("T")

FILTERED = ("shard", "number", "at", "kind", "job_id", "queue", "worker")

FIRST_PAGE = 200
PAGE = 5000
PAGE_BYTES = 8 << 20


class Part(InputPartition):
    """A span that one task reads."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)


class EventsReader(DataSourceReader):
    """Reads the events between two offsets."""

    def __init__(self, options: EventsBatch) -> None:
        self._options = options
        self._since = options.since
        self._conditions = [
            pc.field(column) == value
            for column, value in (("queue", options.queue), ("kind", options.kind))
            if value
        ]
        if options.since is not None:
            self._conditions.append(pc.field("at") >= options.since)

    def partitions(self) -> Sequence[InputPartition]:
        with self._options.open() as client:
            return [Part(span) for span in drive(client.core.transport, self._spans(client.core))]

    def _spans(self, core: Core) -> Operation[list[Span]]:
        ends = yield from log_ends(core)
        start = plan.beginning(self._options.starting, ends)
        end = plan.ending(self._options.ending, start, ends)
        spans = plan.spans_between(start, end)
        if self._since is not None:
            spans = yield from _since(core, spans, ends, self._since)
        return (yield from _parts(core, spans, ends, self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition, all_of(self._conditions))


class FilteredEventsReader(EventsReader):
    """Reads only the events that Spark wants, by its filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        for each in filters:
            found = condition(each, FILTERED)
            if found is None:
                yield each
                continue
            self._conditions.append(found)
            least, _ = time_bounds(each, "at")
            if least is not None:
                self._since = least if self._since is None else max(least, self._since)


class EventsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the events from an offset on, in bounded steps."""

    def __init__(self, options: EventsStream) -> None:
        self._options = options
        self._client: Client | None = None
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        return plan.offsets_to_json(plan.beginning(self._options.starting, self._ends()))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = plan.newest(self._ends())

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        end = self._drive(self._end(plan.offsets_from_json(start), limit))
        return plan.offsets_to_json(end)

    def _end(self, start: Offsets, limit: ReadLimit) -> Operation[Offsets]:
        ends = yield from log_ends(self._core)
        start = plan.beginning(start, ends)
        yield from _check_log(self._core, start, ends)
        end = start | (self._target or plan.newest(ends))
        if not isinstance(limit, ReadMaxRows):
            return end
        spans = plan.spans_between(start, end)
        return end | (yield from bounded(self._core, spans, ends, limit.max_rows))

    def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802
        return plan.offsets_to_json(plan.newest(self._ends()))

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        between = plan.offsets_from_json(start), plan.offsets_from_json(end)
        return [Part(span) for span in self._drive(self._parts(*between))]

    def _parts(self, start: Offsets, end: Offsets) -> Operation[list[Span]]:
        ends = yield from log_ends(self._core)
        # A batch that was planned before a restart is read without asking for the latest offset.
        yield from _check_log(self._core, plan.beginning(end, ends), ends)
        spans = plan.spans_between(start, end)
        return (yield from _parts(self._core, spans, ends, self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._options, partition, None)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def _core(self) -> Core:
        # Made when first needed: a reader is sent to executors before it is.
        if self._client is None:
            self._client = self._options.open()
        return self._client.core

    def _drive(self, operation: Operation[T]) -> T:
        return drive(self._core.transport, operation)

    def _ends(self) -> list[LogEnds]:
        return self._drive(log_ends(self._core))


def _check_log(core: Core, offsets: Offsets, ends: Sequence[LogEnds]) -> Operation[None]:
    """Raises NamespaceMismatch if this is not the log of which these are offsets."""
    sought = plan.to_be_found(offsets, ends)
    plan.check_found(offsets, (yield from seek_entries(core, sought)))


def bounded(
    core: Core, spans: Sequence[Span], ends: Sequence[LogEnds], most: int
) -> Operation[Offsets]:
    """Where spans end so that in all they have no more than so many events that are there."""
    known, sought = plan.ends_of_shares(spans, ends, most)
    found = yield from seek_entries(core, sought)
    # Where the log was emptied in the meantime the end stays where it was.
    reached = {shard: entries[0] for shard, entries in found.items() if entries}
    return {span.shard: span.upto for span in spans} | known | reached


def _since(
    core: Core, spans: list[Span], ends: Sequence[LogEnds], since: datetime
) -> Operation[list[Span]]:
    """Spans without what came before a time. An event may be older than its entry, never newer."""
    ms = int((since - EPOCH).total_seconds() * 1000)
    cut = [span.shard for span in spans if _is_older(ends[span.shard].oldest, ms)]
    before = (yield from newest_before(core, ms, cut)) if cut else {}
    found = [plan.later(span, before) for span in spans]
    return [span for span in found if span.first <= span.last]


def _is_older(oldest: str | None, ms: int) -> bool:
    # Otherwise what is gone may be of the time that is asked for.
    return oldest is not None and plan.milliseconds_of(oldest) < ms


def _parts(
    core: Core, spans: list[Span], ends: Sequence[LogEnds], options: Events
) -> Operation[list[Span]]:
    """Spans cut into parts for tasks."""
    for span in spans:
        missing = plan.missing_before(span, ends)
        if missing and options.fail_on_data_loss:
            raise EventsTrimmed(span.shard, span.first, missing)
    return (yield from cut(core, spans, ends, options.per_partition))


def cut(
    core: Core, spans: Sequence[Span], ends: Sequence[LogEnds], most: int
) -> Operation[list[Span]]:
    """Spans cut into parts that have no more than so many events each."""
    numbers = {span.shard: plan.cuts(span, ends, most) for span in spans}
    found = yield from seek_entries(core, numbers)
    return [part for span in spans for part in plan.parts_of(span, found[span.shard])]


def _read(
    options: Events, partition: InputPartition, wanted: pc.Expression | None
) -> Iterator[pa.RecordBatch]:
    # Where there is nothing to read, Spark has one task read a partition of its own.
    if not isinstance(partition, Part):
        return
    with options.open() as client:
        fail = options.fail_on_data_loss
        for batch in read_span(client.core, partition.value, fail_on_data_loss=fail):
            found = batch if wanted is None else batch.filter(wanted)
            if found.num_rows:
                yield found


def read_span(core: Core, span: Span, *, fail_on_data_loss: bool) -> Iterator[pa.RecordBatch]:
    """The events of a span; where some are gone a row that says so, or EventsTrimmed."""
    after, expected, count = span.after, span.first, FIRST_PAGE
    while expected <= span.last:
        entries = drive(core.transport, read_entries(core, span.shard, after, span.upto, count))
        batch = event_columns(span.shard, entries)
        found = batch["number"][0].as_py() if entries else span.last + 1
        if found > expected:
            if fail_on_data_loss:
                raise EventsTrimmed(span.shard, expected, found - expected)
            at = batch["at"][0].as_py() if entries else moment(plan.milliseconds_of(span.upto))
            yield gap_row(span.shard, expected, found - expected, at)
        if not entries:
            return
        yield batch
        after = entries[-1][0].decode()
        expected = entry_number(after) + 1
        count = min(PAGE, max(1, PAGE_BYTES * len(entries) // batch.nbytes))
