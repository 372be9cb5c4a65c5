"""What the files of a batch hold, counted as they are read back: a batch that is not whole is not
committed.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.engine.events import entry_number
from headrace.errors import HeadraceError
from headrace.lake.batches import folder_of
from headrace.lake.files import Files
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile, Span
from headrace.lake.schema import GAP
from headrace.spark.stored import read_stored


class BatchMismatch(HeadraceError):
    """The files of a batch do not have what the log has: nothing was committed."""


@dataclass(frozen=True, slots=True)
class Part:
    """The events of a shard in a file. total: the sum of their numbers; gaps: (first, missing)."""

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


def written_parts(spark: SparkSession, lake: Lake, batch: str) -> list[Part]:
    """What stands in the files of a batch."""
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
        Part(
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


def read_parts(files: Files, paths: Iterable[str]) -> list[Part]:
    """The same of some files of one queue each, as far as they are there, without Spark."""
    found: list[Part] = []
    for path in paths:
        with suppress(FileNotFoundError):
            found += _checked_parts(path, files.read(path))
    # Else a driver keeps for good what one large batch has needed.
    pa.default_memory_pool().release_unused()
    return found


def _checked_parts(path: str, content: bytes) -> list[Part]:
    try:
        return list(_parts_of(path, content))
    except (pa.ArrowException, OSError) as error:
        raise BatchMismatch(
            f"{path} cannot be read back ({error}), so nothing was committed; check the disk, then "
            "sync again"
        ) from error


def _parts_of(path: str, content: bytes) -> Iterator[Part]:
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
        yield Part(
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


def data_files(parts: Iterable[Part]) -> list[DataFile]:
    """The files of a batch, as a manifest names them."""
    by_path: dict[str, list[Part]] = defaultdict(list)
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


def checked(spans: Iterable[Span], parts: Iterable[Part]) -> list[Span]:
    """The spans with what is missing in each, if the parts have every event of them once."""
    by_shard: dict[int, list[Part]] = defaultdict(list)
    for part in parts:
        by_shard[part.shard].append(part)
    found = [_checked(span, by_shard.pop(span.shard, [])) for span in spans]
    if by_shard:
        raise BatchMismatch(f"there are events of shard {min(by_shard)}, which was not read")
    return found


def _checked(span: Span, parts: list[Part]) -> Span:
    first, last = entry_number(span.after) + 1, entry_number(span.to)
    gaps = [gap for part in parts for gap in part.gaps]
    missing = sum(many for _, many in gaps)
    wanted = (span.numbers - missing, _sum(first, last) - sum(_gap_sum(gap) for gap in gaps))
    events = sum(part.events for part in parts)
    outside = any(part.lowest < first or part.highest > last for part in parts)
    if outside or (events, sum(part.total for part in parts)) != wanted:
        raise BatchMismatch(
            f"the files have {events:,} events and {missing:,} missing of shard {span.shard}, the "
            f"log has the numbers {first:,} to {last:,}: nothing was committed; sync again, and "
            "if it comes again report it"
        )
    return msgspec.structs.replace(span, missing=missing)


def _sum(first: int, last: int) -> int:
    return (first + last) * (last - first + 1) // 2


def _gap_sum(gap: tuple[int, int]) -> int:
    first, missing = gap
    return _sum(first, first + missing - 1)
