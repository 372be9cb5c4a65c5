"""The table of jobs: all that are there now, found through the sets of their states and tags."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from headrace.engine.timestamps import EPOCH
from headrace.operations.core import Core
from headrace.operations.job_sets import JobSet, job_sets, read_jobs
from headrace.operations.queues import all_queues
from headrace.spark.filters import all_of, condition, time_bounds, values_wanted
from headrace.spark.job_columns import job_columns
from headrace.spark.options import Jobs
from headrace.transport.drive import Operation, drive

# Times by which jobs are ordered, in sets of these states.
ORDERED_BY = {"due": ("scheduled",), "expires": ("running",), "ended": ("failed", "complete")}
FILTERED = ("shard", "id", "state", "queue", "put_at", *ORDERED_BY)
PER_PARTITION = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sets are read, and between which scores; None is all."""

    queues: frozenset[str] | None = None
    states: frozenset[str] | None = None
    lowest: float = -math.inf
    highest: float = math.inf

    def of_queues(self, names: Iterable[str]) -> Wanted:
        return replace(self, queues=_both(self.queues, names))

    def of_states(self, names: Iterable[str]) -> Wanted:
        return replace(self, states=_both(self.states, names))

    def between(self, least: datetime | None, most: datetime | None) -> Wanted:
        lowest = -math.inf if least is None else math.floor(_ms(least))
        highest = math.inf if most is None else math.ceil(_ms(most))
        return replace(self, lowest=max(self.lowest, lowest), highest=min(self.highest, highest))

    def narrowed(self, asked: Filter) -> Wanted:
        """What a filter leaves of it."""
        for column, narrow in (("queue", self.of_queues), ("state", self.of_states)):
            values = values_wanted(asked, column)
            if values is not None:
                return narrow(values)
        for column, states in ORDERED_BY.items():
            least, most = time_bounds(asked, column)
            if least is not None or most is not None:
                return self.of_states(states).between(least, most)
        return self


def _both(some: frozenset[str] | None, others: Iterable[str]) -> frozenset[str]:
    return frozenset(others) if some is None else some.intersection(others)


def _ms(at: datetime) -> float:
    return (at - EPOCH).total_seconds() * 1000


class Part(InputPartition):
    """Sets that one task reads."""

    def __init__(self, sets: list[JobSet]) -> None:
        super().__init__(sets)


class JobsReader(DataSourceReader):
    """Reads the jobs that are there, each as it is when it is read."""

    def __init__(self, options: Jobs) -> None:
        self._options = options
        self._wanted = Wanted()
        self._conditions: list[pc.Expression] = []
        if options.queue:
            self._wanted = self._wanted.of_queues([options.queue])
            self._conditions.append(pc.field("queue") == options.queue)
        if options.state:
            self._wanted = self._wanted.of_states([options.state])
            self._conditions.append(pc.field("state") == options.state)

    def partitions(self) -> Sequence[InputPartition]:
        with self._options.open() as client:
            sets = drive(client.core.transport, self._sets(client.core))
        return [Part(part) for part in _packed(sets)]

    def _sets(self, core: Core) -> Operation[list[JobSet]]:
        if self._options.tag:
            sets = [
                JobSet(shard, "tag", self._options.tag, PER_PARTITION)
                for shard in range(core.shards)
            ]
            return sets
        queues = self._wanted.queues
        names = sorted(queues) if queues is not None else (yield from all_queues(core))
        found = yield from job_sets(core, names)
        states = self._wanted.states
        return [each for each in found if states is None or each.role in states]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Where there is nothing to read, Spark has one task read a partition of its own.
        if not isinstance(partition, Part):
            return
        wanted = all_of(self._conditions)
        with self._options.open() as client:
            for where in partition.value:
                for batch in self._batches(client.core, where):
                    found = batch if wanted is None else batch.filter(wanted)
                    if found.num_rows:
                        yield found

    def _batches(self, core: Core, where: JobSet) -> Iterator[pa.RecordBatch]:
        # The set of a tag is ordered by when jobs got it.
        wanted = Wanted() if where.role == "tag" else self._wanted
        cursor: bytes | None = None
        while cursor != b"":
            page = read_jobs(core, where, wanted.lowest, wanted.highest, cursor)
            cursor, jobs = drive(core.transport, page)
            yield job_columns(where.shard, jobs)


class FilteredJobsReader(JobsReader):
    """Reads only the jobs that Spark wants, by its filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        for each in filters:
            found = condition(each, FILTERED)
            if found is None:
                yield each
            else:
                self._conditions.append(found)
                self._wanted = self._wanted.narrowed(each)


def _packed(sets: Iterable[JobSet]) -> list[list[JobSet]]:
    """Small sets together, so that there are not many tasks that do little."""
    parts: list[list[JobSet]] = []
    room = 0
    for each in sets:
        if each.size > room:
            parts.append([])
            room = PER_PARTITION
        parts[-1].append(each)
        room -= each.size
    return parts
