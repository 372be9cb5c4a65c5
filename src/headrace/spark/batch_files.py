"""Write and read back the files of a batch, and verify that the files have each event once.

In a local lake, the tasks that read the events also write the files. On other file systems, Spark's
own Parquet writer writes the files.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.client.client import Client
from headrace.errors import HeadraceError
from headrace.lake.batch_lifecycle import folder_of
from headrace.lake.event_columns import GAP
from headrace.lake.event_files import write_events
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile, LogRange
from headrace.operations.event_log import logs
from headrace.spark import offsets
from headrace.spark.error_summary import error_summary
from headrace.spark.events import read_range, split
from headrace.spark.lake_events import read_stored, with_folders
from headrace.spark.options import ServerAddress
from headrace.transport.drive import drive

TASKS_PER_CORE = 2
# A task writes at least one file for each queue and day of its events. With fewer events per task,
# the tasks would write many small files.
MIN_EVENTS_PER_TASK = 25_000


class BatchMismatch(HeadraceError):
    """The files of a batch do not have the same events as the log, so nothing was committed."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Summarizes the events that one file contains from one shard.

    `total` is the sum of the event numbers. `gaps` has a pair for each gap row: the number of the
    first missing event, and the count of missing events.
    """

    path: str
    size: int
    day: dt.date
    queue: str
    shard: int
    events: int
    total: int
    lowest: int
    highest: int
    gaps: Sequence[tuple[int, int]]


# Writing


def write_batch(
    spark: SparkSession,
    server: ServerAddress,
    client: Client,
    lake: Lake,
    batch: str,
    ranges: Sequence[LogRange],
) -> list[FilePart]:
    """Write the events of these ranges to files; return a FilePart for each file and shard."""
    share = _events_per_task(spark, sum(each.size for each in ranges))
    if isinstance(lake.files, LocalFiles):
        core = client.core
        ends = drive(core.transport, logs(core))
        pieces = drive(core.transport, split(core, ranges, ends, share))
        _write_in_tasks(spark, server, lake.files, folder_of(batch), pieces)
    else:
        _write_with_spark(spark, server, lake, batch, ranges, share)
    return written_parts(spark, lake, batch)


def _events_per_task(spark: SparkSession, events: int) -> int:
    most = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    tasks = max(1, min(most, events // MIN_EVENTS_PER_TASK))
    return -(-events // tasks)


def _write_in_tasks(
    spark: SparkSession,
    server: ServerAddress,
    files: LocalFiles,
    folder: str,
    pieces: list[LogRange],
) -> None:
    write = partial(_write_pieces, server, str(files), folder, pieces)
    tasks = spark.range(0, len(pieces), 1, len(pieces))
    paths = {row["path"] for row in tasks.mapInArrow(write, "path string").collect()}
    # Failed attempts of tasks leave files behind.
    for found in files.list(folder):
        if found.path not in paths:
            files.delete(found.path)


def _write_pieces(
    server: ServerAddress,
    root: str,
    folder: str,
    pieces: Sequence[LogRange],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write pieces of the log to files in a Spark task, and yield the paths of the files.

    `numbers` has the indexes of the pieces that this task writes.
    """
    for number in (number for batch in numbers for number in batch["id"].to_pylist()):
        # Each attempt needs its own file name: Spark may retry a task, or run two attempts at once.
        name = f"part-{number:05}-{secrets.token_hex(8)}"
        with server.open() as client:
            events = read_range(client.core, pieces[number], fail_on_data_loss=False)
            paths = write_events(Path(root), folder, name, events)
        yield pa.RecordBatch.from_pydict({"path": paths})


def _write_with_spark(
    spark: SparkSession,
    server: ServerAddress,
    lake: Lake,
    batch: str,
    ranges: Sequence[LogRange],
    share: int,
) -> None:
    reader = spark.read.format("headrace").options(
        url=server.url,
        namespace=server.namespace,
        startingOffsets=offsets.offsets_text({each.shard: each.after for each in ranges}),
        endingOffsets=offsets.offsets_text({each.shard: each.to for each in ranges}),
        eventsPerPartition=str(share),
        failOnDataLoss="false",
    )
    writer = with_folders(reader.load()).write.partitionBy("day", "queue")
    writer.option("compression", "zstd").parquet(f"{lake.files.root}/{folder_of(batch)}")


# Reading back


def written_parts(spark: SparkSession, lake: Lake, batch: str) -> list[FilePart]:
    """Read back a batch; return a FilePart per file and shard.

    Raises BatchMismatch for a corrupt file.
    """
    folder = folder_of(batch)
    is_gap = F.col("kind") == GAP
    number = F.when(~is_gap, F.col("number"))
    inside = F.substring_index("_metadata.file_path", folder, -1)
    counted = (
        read_stored(spark, lake, [folder])
        .groupBy(
            F.concat(F.lit(folder), inside).alias("path"),
            F.col("_metadata.file_size").alias("size"),
            "day",
            "queue_name",
            "shard",
        )
        .agg(
            F.count(number).alias("events"),
            F.coalesce(F.sum(number), F.lit(0)).alias("total"),
            F.min("number").alias("lowest"),
            F.max(F.col("number") + F.coalesce("missing", F.lit(1)) - 1).alias("highest"),
            F.collect_list(F.when(is_gap, F.struct("number", "missing"))).alias("gaps"),
        )
    )
    try:
        return [FilePart(*row) for row in counted.collect()]
    except (PySparkException, Py4JJavaError) as error:
        raise BatchMismatch(
            f"the files in {folder} cannot be read back ({error_summary(error)}), so nothing was "
            "committed; check the disk, then sync again"
        ) from error


def data_files(parts: Iterable[FilePart]) -> list[DataFile]:
    """Return the files of a batch as entries for a manifest."""
    by_path: dict[str, list[FilePart]] = defaultdict(list)
    for part in parts:
        by_path[part.path].append(part)
    return [
        DataFile(
            path=path,
            day=of_file[0].day,
            queue=of_file[0].queue,
            rows=sum(part.events + len(part.gaps) for part in of_file),
            bytes=of_file[0].size,
        )
        for path, of_file in sorted(by_path.items())
    ]


# Verifying


def verified(ranges: Iterable[LogRange], parts: Iterable[FilePart]) -> list[LogRange]:
    """Verify that the files have each event of the ranges once, and return the ranges.

    In the returned ranges, `missing` is the number of events that gap rows represent. Raises
    BatchMismatch if the count or the sum of the event numbers is wrong.
    """
    by_shard: dict[int, list[FilePart]] = defaultdict(list)
    for part in parts:
        by_shard[part.shard].append(part)
    found = [_verified(each, by_shard.pop(each.shard, [])) for each in ranges]
    if by_shard:
        raise BatchMismatch(
            f"the files have events of shard {min(by_shard)}, but this sync did not read that "
            "shard, so nothing was committed; sync again"
        )
    return found


def _verified(expected: LogRange, parts: list[FilePart]) -> LogRange:
    first, last = expected.first, expected.last
    gaps = [gap for part in parts for gap in part.gaps]
    missing = sum(count for _, count in gaps)
    wanted = (
        expected.size - missing,
        _sum(first, last) - sum(_sum(gap, gap + count - 1) for gap, count in gaps),
    )
    events = sum(part.events for part in parts)
    is_outside = any(part.lowest < first or part.highest > last for part in parts)
    if is_outside or (events, sum(part.total for part in parts)) != wanted:
        raise BatchMismatch(
            f"for shard {expected.shard}, the files have {events:,} events, and gap rows for "
            f"{missing:,} missing events, but the log has the event numbers {first:,} to {last:,}; "
            "nothing was committed. Sync again, and report this error if it happens again"
        )
    return msgspec.structs.replace(expected, missing=missing)


def _sum(first: int, last: int) -> int:
    return (first + last) * (last - first + 1) // 2
