"""Read the jobs of a namespace as a table, through the sorted sets of their states and tags."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime
from typing import Any, get_type_hints

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headrace.engine import keys
from headrace.lake.arrow_types import arrow_field
from headrace.operations.batches import chunks_by_size
from headrace.operations.core import Core
from headrace.operations.job_sets import JobSet, job_sets, read_jobs
from headrace.operations.queues import all_queues
from headrace.operations.values import Job
from headrace.spark.events import condition, filtered
from headrace.spark.options import JobsOptions
from headrace.transport.drive import Operation, drive

PER_PARTITION = 10_000

# The columns

_RENAMED = {"payload": "data"}
_LEFT_OUT = ("_codec",)


_OF_JOB = [each.name for each in fields(Job) if each.name not in _LEFT_OUT]
_HINTS = get_type_hints(Job) | {"queue": str}

JOBS: pa.Schema = to_arrow_schema(
    from_arrow_schema(
        pa.schema(
            [
                arrow_field("shard", int),
                *(arrow_field(_RENAMED.get(name, name), _HINTS[name]) for name in _OF_JOB),
                # The time at which the job was completed or failed.
                arrow_field("ended", datetime | None),
            ]
        )
    ),
    timezone="UTC",
)


def job_columns(shard: int, jobs: Sequence[Job]) -> pa.RecordBatch:
    """Return jobs of a shard as a record batch with the schema JOBS."""
    values: dict[str, list[Any]] = {
        _RENAMED.get(name, name): [_plain(getattr(job, name)) for job in jobs] for name in _OF_JOB
    }
    values["shard"] = [shard] * len(jobs)
    values["queue"] = [job.queue or job.history[-1].queue for job in jobs]
    values["ended"] = [_ended(job) for job in jobs]
    return pa.RecordBatch.from_pydict(values, schema=JOBS)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, tuple):
        return dict(zip(("at", "line"), value, strict=True))
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _ended(job: Job) -> datetime | None:
    if job.failure is not None and job.state == "failed":
        return job.failure.at
    return job.history[-1].ended if job.state == "complete" else None


# The reader


class JobsReader(DataSourceReader):
    """Reads the current jobs. Each row has the state of the job at the time of the read."""

    def __init__(self, options: JobsOptions) -> None:
        self._options = options
        self._condition = condition(queue=options.queue, state=options.state)

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each group of job sets."""
        with self._options.open() as client:
            sets = drive(client.core.transport, self._sets(client.core))
        # Group small job sets, so that no task reads only a few jobs.
        groups = chunks_by_size(sets, lambda each: each.size, PER_PARTITION)
        return [InputPartition(group) for group in groups]

    def _sets(self, core: Core) -> Operation[list[JobSet]]:
        options = self._options
        if options.tag:
            shards = range(core.shards)
            return [JobSet(shard, keys.tag, options.tag, PER_PARTITION) for shard in shards]
        names = [options.queue] if options.queue else (yield from all_queues(core))
        found = yield from job_sets(core, names)
        return [each for each in found if options.state in ("", each.role)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the jobs of a partition."""
        # If there is nothing to read, Spark runs one task with an empty partition.
        if partition.value is None:
            return
        with self._options.open() as client:
            for job_set in partition.value:
                yield from filtered(_batches(client.core, job_set), self._condition)


def _batches(core: Core, job_set: JobSet) -> Iterator[pa.RecordBatch]:
    cursor: bytes | None = None
    while cursor != b"":
        page = read_jobs(core, job_set, -math.inf, math.inf, cursor)
        cursor, jobs = drive(core.transport, page)
        yield job_columns(job_set.shard, jobs)
