"""Write the files of a batch, read them back, and verify that no event is missing or doubled.

In a local lake the tasks that read events also write the files. Other file systems are written
by Spark itself, which has to receive every event first.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.client.client import Client
from headrace.errors import HeadraceError
from headrace.lake.batch_lifecycle import folder_of
from headrace.lake.event_columns import GAP
from headrace.lake.event_files import write_events
from headrace.lake.files import Files, LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile, LogRange
from headrace.operations.event_log import log_ends
from headrace.spark import offsets
from headrace.spark.events import read_range, split
from headrace.spark.lake_events import read_stored, with_folders
from headrace.spark.options import ServerAddress
from headrace.transport.drive import drive

TASKS_PER_CORE = 2
# Each task writes a file for every queue and day, which costs more than a few events.
MIN_EVENTS_PER_TASK = 25_000


class BatchMismatch(HeadraceError):
    """The files of a batch do not have the events of the log, so nothing was committed."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """The events of one shard in one file.

    total is the sum of the event numbers; gaps has (first number, missing events) for each gap row.
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
    gaps: tuple[tuple[int, int], ...]


# Writing


def write_batch(
    spark: SparkSession,
    server: ServerAddress,
    client: Client,
    lake: Lake,
    batch: str,
    ranges: Sequence[LogRange],
) -> list[FilePart]:
    """Write the events of some ranges, and return what the files contain."""
    share = _events_per_task(spark, sum(each.size for each in ranges))
    if isinstance(lake.files, LocalFiles):
        pieces = _pieces(client, ranges, share)
        paths = _write_in_tasks(spark, server, lake.files, folder_of(batch), pieces)
        return read_parts(lake.files, paths)
    _write_with_spark(spark, server, lake, batch, ranges, share)
    return written_parts(spark, lake, batch)


def _events_per_task(spark: SparkSession, events: int) -> int:
    most = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    tasks = max(1, min(most, events // MIN_EVENTS_PER_TASK))
    return -(-events // tasks)


def _pieces(client: Client, ranges: Sequence[LogRange], share: int) -> list[LogRange]:
    core = client.core
    ends = drive(core.transport, log_ends(core))
    return drive(core.transport, split(core, ranges, ends, share))


def _write_in_tasks(
    spark: SparkSession,
    server: ServerAddress,
    files: LocalFiles,
    folder: str,
    pieces: list[LogRange],
) -> list[str]:
    """Run one task for each piece, and return the paths of the files."""
    write = partial(_write_pieces, server, str(files), folder, pieces)
    tasks = spark.range(0, len(pieces), 1, len(pieces))
    paths = {row["path"] for row in tasks.mapInArrow(write, "path string").collect()}
    # Failed attempts of tasks leave files.
    for found in files.list(folder):
        if found.path not in paths:
            files.delete(found.path)
    return sorted(paths)


def _write_pieces(
    server: ServerAddress,
    root: str,
    folder: str,
    pieces: Sequence[LogRange],
    numbers: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write the pieces with these numbers in a task, and yield the paths of the files."""
    for number in (number for batch in numbers for number in batch["id"].to_pylist()):
        # A name for each attempt: Spark may retry a task, or run it twice at the same time.
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
    """Return what the files of a batch contain, read by Spark."""
    folder = folder_of(batch)
    is_gap = F.col("kind") == GAP
    number = F.when(~is_gap, F.col("number"))
    counted = (
        read_stored(spark, lake, [folder])
        .groupBy("_metadata.file_path", "_metadata.file_size", "day", "queue_name", "shard")
        .agg(
            F.count(number).alias("events"),
            F.sum(number).alias("total"),
            F.min("number").alias("lowest"),
            F.max(F.col("number") + F.coalesce("missing", F.lit(1)) - 1).alias("highest"),
            F.collect_list(F.when(is_gap, F.struct("number", "missing"))).alias("gaps"),
        )
    )
    return [
        FilePart(
            path=folder + row["file_path"].rpartition(folder)[2],
            size=row["file_size"],
            day=row["day"],
            queue=row["queue_name"],
            shard=row["shard"],
            events=row["events"],
            total=row["total"] or 0,
            lowest=row["lowest"],
            highest=row["highest"],
            gaps=tuple((gap["number"], gap["missing"]) for gap in row["gaps"]),
        )
        for row in counted.collect()
    ]


def read_parts(files: Files, paths: Iterable[str]) -> list[FilePart]:
    """Return what files of one queue each contain, read without Spark. Skip missing files."""
    found: list[FilePart] = []
    for path in paths:
        with suppress(FileNotFoundError):
            found += _read_file(path, files.read(path))
    # Otherwise the driver keeps the memory of its largest batch.
    pa.default_memory_pool().release_unused()
    return found


def _read_file(path: str, content: bytes) -> list[FilePart]:
    try:
        return list(_parts_of(path, content))
    except (pa.ArrowException, OSError) as error:
        raise BatchMismatch(
            f"{path} cannot be read back ({error}), so nothing was committed; check the disk, then "
            "sync again"
        ) from error


def _parts_of(path: str, content: bytes) -> Iterator[FilePart]:
    columns = ["shard", "number", "kind", "missing", "queue_name"]
    file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    # Threads would keep memory of their own.
    table = file.read(columns=columns, use_threads=False)
    for shard in table["shard"].unique().to_pylist():
        rows = table.filter(pc.equal(table["shard"], shard))
        is_gap = pc.equal(rows["kind"], GAP)
        numbers = rows["number"].filter(pc.invert(is_gap))
        missing = rows.filter(is_gap)
        gaps = tuple(
            zip(missing["number"].to_pylist(), missing["missing"].to_pylist(), strict=True)
        )
        yield FilePart(
            path=path,
            size=len(content),
            day=dt.date.fromisoformat(path.partition("/day=")[2][:10]),
            queue=rows["queue_name"][0].as_py(),
            shard=shard,
            events=len(numbers),
            total=pc.sum(numbers).as_py() or 0,
            lowest=pc.min(rows["number"]).as_py(),
            highest=pc.max(pc.add(rows["number"], pc.coalesce(rows["missing"], 1))).as_py() - 1,
            gaps=gaps,
        )


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
    """Return the ranges with their missing events, if the files have every other event once.

    Raises BatchMismatch otherwise. Count and sum of the event numbers prove it.
    """
    by_shard: dict[int, list[FilePart]] = defaultdict(list)
    for part in parts:
        by_shard[part.shard].append(part)
    found = [_verified(each, by_shard.pop(each.shard, [])) for each in ranges]
    if by_shard:
        raise BatchMismatch(
            f"the files have events of shard {min(by_shard)}, which was not read, so nothing was "
            "committed; sync again"
        )
    return found


def _verified(expected: LogRange, parts: list[FilePart]) -> LogRange:
    first, last = expected.first, expected.last
    gaps = [gap for part in parts for gap in part.gaps]
    missing = sum(count for _, count in gaps)
    wanted = (expected.size - missing, _sum(first, last) - sum(_gap_sum(gap) for gap in gaps))
    events = sum(part.events for part in parts)
    is_outside = any(part.lowest < first or part.highest > last for part in parts)
    if is_outside or (events, sum(part.total for part in parts)) != wanted:
        raise BatchMismatch(
            f"the files have {events:,} events and {missing:,} missing events of shard "
            f"{expected.shard}, but the log has the numbers {first:,} to {last:,}; nothing was "
            "committed, sync again and report it if it happens again"
        )
    return msgspec.structs.replace(expected, missing=missing)


def _sum(first: int, last: int) -> int:
    return (first + last) * (last - first + 1) // 2


def _gap_sum(gap: tuple[int, int]) -> int:
    first, missing = gap
    return _sum(first, first + missing - 1)
