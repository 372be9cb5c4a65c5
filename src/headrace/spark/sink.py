"""df.write and df.writeStream of format("headrace"): one row one job, exactly once.

Executors stage rows; the driver decides and publishes. Spark makes every method run in a process of
its own, so that nothing is remembered between them but what is pickled: writers and messages.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from headrace.client.client import Client
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations import writes
from headrace.operations.core import Core
from headrace.operations.staging import Parcel, Staging, Write
from headrace.spark.options import Sink
from headrace.spark.rows import Columns, Rows, columns_of
from headrace.transport.drive import Operation, drive

log = logging.getLogger("headrace.spark")

T = TypeVar("T")

SHARDS_AT_ONCE = 8
QUERY = "sql.streaming.queryId"


@dataclass
class Staged(WriterCommitMessage):
    """What a task tells the driver. Only tasks are told of which query a batch is."""

    parcel: Parcel
    on_exists: str
    query: str


@dataclass(frozen=True)
class Target:
    """Where rows go, and how they are read; pickled, it goes to every executor."""

    options: Sink
    columns: Columns

    def stage(self, batches: Iterator[pa.RecordBatch], order: int) -> Parcel:
        """Lays the rows of one task down."""
        with self.options.open_sink() as client:
            core = client.core
            rows = Rows(core, self.columns, duplicates=self.options.on_exists == "duplicate")
            staging = Staging(core, uuid4().hex)
            for batch in batches:
                _say(core, staging.add(rows.items(batch)))
            return _say(core, staging.end(order))

    def staged(self, batches: Iterator[pa.RecordBatch], query: str = "") -> Staged:
        """The same, in a task."""
        task = cast(TaskContext, TaskContext.get())
        return Staged(self.stage(batches, task.partitionId()), self.options.on_exists, query)

    def commit(self, write: Write, messages: Sequence[Staged]) -> None:
        """Decides that these are the rows of the write, and publishes them."""
        with self.options.open_sink() as client:
            parcels = [message.parcel for message in messages]
            bundle = _say(client.core, writes.decide(client.core, write, parcels))
            if bundle is not None:
                publish(client, write, bundle)

    def abort(self, write: Write, messages: Sequence[Staged]) -> None:
        """Lets what was staged go, unless it was decided: Spark also aborts what it committed."""
        with self.options.open_sink() as client:
            parcels = [message.parcel for message in messages]
            _say(client.core, writes.abandon(client.core, write, parcels))


def publish(client: Client, write: Write, bundle: str) -> None:
    """Publishes on all shards at the same time."""
    core = client.core
    with ThreadPoolExecutor(min(core.shards, SHARDS_AT_ONCE)) as pool:
        counted = list(
            pool.map(
                lambda shard: _say(core, writes.publish_on(core, write.name, shard, bundle)),
                range(core.shards),
            )
        )
    written = _say(core, writes.conclude(core, write.name, bundle, counted))
    log.info("%s", written)
    writes.check_whole(written)


def finish_open(client: Client) -> None:
    """Brings to their end writes whose driver died."""
    for written in _say(client.core, writes.finish_open(client.core)):
        log.log(logging.ERROR if written.lost else logging.INFO, "was left open: %s", written)


def _say(core: Core, operation: Operation[T]) -> T:
    return drive(core.transport, operation)


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame."""

    def __init__(self, target: Target, write: Write) -> None:
        self.target = target
        self.write_of_all = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return self.target.staged(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.target.commit(self.write_of_all, _those_that_are(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.target.abort(self.write_of_all, _those_that_are(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        query = _query()
        return self.target.staged(iterator, query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        staged = _those_that_are(messages)
        if staged:
            self.target.commit(self._write_of(staged, batchId), staged)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        staged = _those_that_are(messages)
        if staged:
            self.target.abort(self._write_of(staged, batchId), staged)

    def _write_of(self, staged: Sequence[Staged], batch: int) -> Write:
        queue = self.target.options.queue
        return writes.stream_write(staged[0].query, batch, queue, staged[0].on_exists)


def _query() -> str:
    """Of which streaming query this task is."""
    query = cast(TaskContext, TaskContext.get()).getLocalProperty(QUERY)
    if not query:
        raise HeadraceError(
            "Spark does not say of which streaming query this batch is: the local property "
            f"{QUERY} is empty, so its batches could be taken for those of another. Write them in "
            "foreachBatch instead, with df.write and a writeId for each"
        )
    return query


def _those_that_are(messages: Iterable[WriterCommitMessage | None]) -> list[Staged]:
    return [message for message in messages if isinstance(message, Staged)]


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchWriter:  # noqa: FBT001
    """The writer for df.write."""
    target = _target(options, schema, overwrite=overwrite)
    wanted = target.options
    with wanted.open_sink() as client:
        finish_open(client)
        write_id = wanted.write_id or uuid4().hex
        settled = _settled(client, wanted)
    write = writes.batch_write(write_id, wanted.queue, settled.on_exists)
    return BatchWriter(Target(settled, target.columns), write)


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: FBT001
    """The writer for df.writeStream; Spark makes one on the driver for every batch and commit."""
    target = _target(options, schema, overwrite=overwrite)
    if target.options.write_id:
        raise InvalidArgument("option writeId is for df.write: batches of a stream have names")
    with target.options.open_sink() as client:
        finish_open(client)
        return StreamWriter(Target(_settled(client, target.options), target.columns))


def _target(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> Target:
    if overwrite:
        raise InvalidArgument(
            'mode("overwrite") would delete jobs: use mode("append"), and delete the queue first '
            "if that is what you want"
        )
    options = Sink.read(given).settled()
    if not options.queue:
        raise InvalidArgument('say into which queue: .option("queue", "mail")')
    return Target(options, columns_of(schema, origin=options.lineage))


def _settled(client: Client, options: Sink) -> Sink:
    """What holds when the write begins holds to its end."""
    if options.on_exists:
        return options
    return options.with_policy(str(client.queue(options.queue).settings()["on_exists"]))
