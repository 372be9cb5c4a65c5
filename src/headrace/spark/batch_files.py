"""The files of a batch: the events of some spans, written, then read back.

Into a directory the tasks that read events write them as well. Other places only Spark can reach,
which has to be given every event for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.client.client import Client
from headrace.lake.batches import folder_of
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import Span
from headrace.lake.writing import write_events
from headrace.operations.event_log import log_ends
from headrace.spark import plan
from headrace.spark.counted import Part, read_parts, written_parts
from headrace.spark.events import cut, read_span
from headrace.spark.options import Server
from headrace.spark.stored import as_stored
from headrace.transport.drive import drive

TASKS_A_CORE = 2
# Each task makes a file of its own for every queue and day, which costs more than a few events.
LEAST_A_TASK = 25_000


def write_batch(
    spark: SparkSession,
    server: Server,
    client: Client,
    lake: Lake,
    batch: str,
    spans: Sequence[Span],
) -> list[Part]:
    """Writes the events of some spans, and says what stands in the files then."""
    share = _share(spark, sum(span.numbers for span in spans))
    if isinstance(lake.files, LocalFiles):
        parts = _parts(client, spans, share)
        paths = _written_by_tasks(spark, server, lake.files, folder_of(batch), parts)
        return read_parts(lake.files, paths)
    _write_by_spark(spark, server, lake, batch, spans, share)
    return written_parts(spark, lake, batch)


def _share(spark: SparkSession, events: int) -> int:
    """How many events a task is given."""
    most = TASKS_A_CORE * spark.sparkContext.defaultParallelism
    tasks = max(1, min(most, events // LEAST_A_TASK))
    return -(-events // tasks)


def _parts(client: Client, spans: Sequence[Span], share: int) -> list[plan.Span]:
    core = client.core
    ends = drive(core.transport, log_ends(core))
    wanted = [plan.Span(span.shard, span.after, span.to) for span in spans]
    return drive(core.transport, cut(core, wanted, ends, share))


def _written_by_tasks(
    spark: SparkSession, server: Server, files: LocalFiles, folder: str, parts: list[plan.Span]
) -> list[str]:
    """Has each part written by a task; returns the paths of the files."""
    writing = partial(_write_parts, server, str(files), folder, parts)
    tasks = spark.range(0, len(parts), 1, len(parts))
    paths = {row["path"] for row in tasks.mapInArrow(writing, "path string").collect()}
    # What attempts have left that came to nothing.
    for found in files.list(folder):
        if found.path not in paths:
            files.delete(found.path)
    return sorted(paths)


def _write_parts(
    server: Server,
    root: str,
    folder: str,
    parts: Sequence[plan.Span],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """What a task does: it writes the parts of these numbers, and says where."""
    for number in (number for batch in numbers for number in batch["id"].to_pylist()):
        # Of its own for each attempt: Spark may try a task again, or twice at a time.
        name = f"part-{number:05}-{secrets.token_hex(8)}"
        with server.open() as client:
            events = read_span(client.core, parts[number], fail_on_data_loss=False)
            paths = write_events(Path(root), folder, name, events)
        yield pa.RecordBatch.from_pydict({"path": paths})


def _write_by_spark(
    spark: SparkSession, server: Server, lake: Lake, batch: str, spans: Sequence[Span], share: int
) -> None:
    reader = spark.read.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        startingOffsets=plan.offsets_text({span.shard: span.after for span in spans}),
        endingOffsets=plan.offsets_text({span.shard: span.to for span in spans}),
        eventsPerPartition=str(share),
        failOnDataLoss="false",
    )
    writer = as_stored(reader.load()).write.partitionBy("day", "queue")
    writer.option("compression", "zstd").parquet(f"{lake.files.root}/{folder_of(batch)}")
