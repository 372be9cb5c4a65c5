"""The sink of format("headrace"): df.write and df.writeStream put each row as a job exactly once.

Executors stage rows. The driver commits the staged rows and publishes them as jobs. Spark runs the
methods in different processes, so writers and commit messages are pickled and sent between
processes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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
from headrace.operations.staging import SparkWrite, StagedAttempt, Staging
from headrace.spark.options import SinkOptions
from headrace.spark.row_items import RowColumns, RowEncoder, columns_of
from headrace.transport.drive import Operation, drive

log = logging.getLogger("headrace.spark")

T = TypeVar("T")

SHARDS_AT_ONCE = 8
QUERY = "sql.streaming.queryId"


@dataclass
class StagedMessage(WriterCommitMessage):
    """The commit message from a task to the driver; `query` is the id of the streaming query."""

    attempt: StagedAttempt
    on_exists: str
    query: str


@dataclass(frozen=True)
class SinkTarget:
    """The destination and the columns of rows. Spark pickles this object for the executors."""

    options: SinkOptions
    columns: RowColumns

    def stage(self, batches: Iterator[pa.RecordBatch], order: int) -> StagedAttempt:
        """Stage the rows of one attempt of a task."""
        with self.options.open_sink() as client:
            core = client.core
            rows = RowEncoder(core, self.columns, duplicates=self.options.on_exists == "duplicate")
            staging = Staging(core, uuid4().hex)
            for batch in batches:
                _drive(core, staging.add(rows.items(batch)))
            return _drive(core, staging.end(order))

    def staged(self, batches: Iterator[pa.RecordBatch], query: str = "") -> StagedMessage:
        """Stage the rows of a Spark task, and return the commit message of the task."""
        task = cast(TaskContext, TaskContext.get())
        return StagedMessage(self.stage(batches, task.partitionId()), self.options.on_exists, query)

    def commit(self, write: SparkWrite, messages: Sequence[StagedMessage]) -> None:
        """Commit the staged rows of these messages as one write, and publish the write."""
        with self.options.open_sink() as client:
            attempts = [message.attempt for message in messages]
            transaction = _drive(client.core, writes.commit(client.core, write, attempts))
            if transaction is not None:
                publish(client, write, transaction)

    def abort(self, write: SparkWrite, messages: Sequence[StagedMessage]) -> None:
        """Drop the staged rows of a write, unless the write is committed.

        Spark may call abort after a commit.
        """
        with self.options.open_sink() as client:
            attempts = [message.attempt for message in messages]
            _drive(client.core, writes.abort(client.core, write, attempts))


def publish(client: Client, write: SparkWrite, transaction: str) -> None:
    """Publish a transaction on all shards at the same time. Raises WriteLost if rows are lost."""
    core = client.core
    with ThreadPoolExecutor(min(core.shards, SHARDS_AT_ONCE)) as pool:
        counted = list(
            pool.map(
                lambda shard: _drive(core, writes.publish_on(core, write.name, shard, transaction)),
                range(core.shards),
            )
        )
    status = _drive(core, writes.finalize(core, write.name, transaction, counted))
    log.info("write published: %s", status)
    writes.check_complete(status)


def recover_transactions(client: Client) -> None:
    """Finish the writes whose driver died."""
    for status in _drive(client.core, writes.recover_transactions(client.core)):
        level = logging.ERROR if status.lost else logging.INFO
        log.log(level, "finished the write of a dead driver: %s", status)


def _drive(core: Core, operation: Operation[T]) -> T:
    return drive(core.transport, operation)


class BatchWriter(DataSourceArrowWriter):
    """Writes the rows of a DataFrame as jobs."""

    def __init__(self, target: SinkTarget, write: SparkWrite) -> None:
        self.target = target
        self.spark_write = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedMessage:
        """Stage the rows of a task."""
        return self.target.staged(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit and publish the rows of all tasks."""
        self.target.commit(self.spark_write, _staged(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Drop the rows of all tasks."""
        self.target.abort(self.spark_write, _staged(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each batch of a streaming query as jobs."""

    def __init__(self, target: SinkTarget) -> None:
        self.target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedMessage:
        """Stage the rows of a task."""
        query = _query()
        return self.target.staged(iterator, query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit and publish the rows of a batch."""
        staged = _staged(messages)
        if staged:
            self.target.commit(self._write_of(staged, batchId), staged)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Drop the rows of a batch."""
        staged = _staged(messages)
        if staged:
            self.target.abort(self._write_of(staged, batchId), staged)

    def _write_of(self, staged: Sequence[StagedMessage], batch: int) -> SparkWrite:
        queue = self.target.options.queue
        return writes.stream_write(staged[0].query, batch, queue, staged[0].on_exists)


def _query() -> str:
    """Return the id of the streaming query of this task."""
    query = cast(TaskContext, TaskContext.get()).getLocalProperty(QUERY)
    if not query:
        raise HeadraceError(
            f"Spark did not set the local property {QUERY}, so the batches of this streaming query "
            "could be confused with the batches of another query. Write the batches in "
            "foreachBatch instead, with df.write and a writeId for each batch"
        )
    return query


def _staged(messages: Iterable[WriterCommitMessage | None]) -> list[StagedMessage]:
    return [message for message in messages if isinstance(message, StagedMessage)]


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchWriter:  # noqa: FBT001
    """Return the writer for df.write."""
    target = _target(SinkOptions.read(options), schema, overwrite=overwrite)
    settled = target.options
    write_id = settled.write_id or uuid4().hex
    return BatchWriter(target, writes.batch_write(write_id, settled.queue, settled.on_exists))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: FBT001
    """Return the writer for df.writeStream. Spark creates a writer for every batch and commit."""
    wanted = SinkOptions.read(options)
    if wanted.write_id:
        raise InvalidArgument(
            "option writeId is only for df.write: a stream names its batches itself"
        )
    return StreamWriter(_target(wanted, schema, overwrite=overwrite))


def _target(options: SinkOptions, schema: StructType, *, overwrite: bool) -> SinkTarget:
    """Check the options and the columns, and finish the writes of dead drivers."""
    if overwrite:
        raise InvalidArgument(
            'mode("overwrite") is not supported: use mode("append"), and delete the queue first if '
            "you want to replace its jobs"
        )
    if not options.queue:
        raise InvalidArgument('option queue is missing: set it with .option("queue", "mail")')
    columns = columns_of(schema, origin=options.lineage)
    options = options.settled()
    with options.open_sink() as client:
        recover_transactions(client)
        # Read the on_exists policy now, so that the same policy applies to every row of the write.
        policy = options.on_exists or str(client.queue(options.queue).settings()["on_exists"])
    return SinkTarget(replace(options, on_exists=policy), columns)
