"""Compaction: rewrite the small files of a day and queue as a few large files.

One manifest adds the new files and removes the old files atomically. The old files are deleted only
after a grace period, because readers of an older snapshot may still need the old files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.lake.batch_lifecycle import begin, folder_of
from headrace.lake.files import GRACE
from headrace.lake.lake import Lake, LakeMoved
from headrace.lake.lock import held
from headrace.lake.manifest import DataFile, LakeSnapshot
from headrace.operations.batches import chunks_by_size
from headrace.spark.batch_files import BatchMismatch, data_files, written_parts
from headrace.spark.lake_events import STORED_COLUMNS, read_stored, writing_session

SMALL = 64 << 20
LARGE = 128 << 20
AT_ONCE = 512 << 20
"""The maximum number of bytes of small files that one commit rewrites."""

Group = tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The number of groups and files that one commit of a compaction rewrote."""

    groups: int
    files_before: int
    files_after: int


def compact(spark: SparkSession, lake: Lake, *, grace: float = GRACE) -> Iterator[Compacted]:
    """Rewrite small files, and yield after each commit.

    The next rewrite starts when the caller requests the next item. Replaced files are kept for
    `grace` seconds. Raises LakeBusy if another compaction is running.
    """
    with held(lake.files, "compact") as lock:
        own = writing_session(spark)
        snapshot = lake.snapshot()
        for groups in parts_of(groups_of(snapshot)):
            lock.renew()
            replaced = [file for group in groups for file in group]
            added = _rewrite(own, lake, snapshot, replaced, grace)
            yield Compacted(groups=len(groups), files_before=len(replaced), files_after=len(added))


def groups_of(snapshot: LakeSnapshot) -> list[Group]:
    """Return the small files of each day and queue that has more than one small file."""
    small: dict[tuple[object, str], list[DataFile]] = defaultdict(list)
    for file in snapshot.files:
        if file.bytes < SMALL:
            small[file.day, file.queue].append(file)
    found = [tuple(files) for files in small.values() if len(files) > 1]
    return sorted(found, key=lambda group: (group[0].day, group[0].queue))


def parts_of(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Divide groups into lists of limited size. Each list is rewritten in one commit."""
    return chunks_by_size(groups, lambda group: sum(file.bytes for file in group), AT_ONCE)


def _rewrite(
    spark: SparkSession, lake: Lake, base: LakeSnapshot, replaced: Sequence[DataFile], grace: float
) -> list[DataFile]:
    paths = [file.path for file in replaced]
    batch = begin(lake, base, grace=grace)
    events = read_stored(spark, lake, paths).drop("batch")
    pieces = max(1, sum(file.bytes for file in replaced) // LARGE)
    # Normally, one task writes all events of a day and queue. If all files belong to the same day
    # and queue, several tasks each write a range of the events.
    is_one_group = len({(file.day, file.queue) for file in replaced}) == 1
    spread = (
        events.repartitionByRange(pieces, "shard", "number")
        if is_one_group
        else events.repartition("day", "queue")
    )
    sorted_events = spread.sortWithinPartitions("day", "queue", "shard", "number")
    writer = sorted_events.write.partitionBy("day", "queue").option("compression", "zstd")
    writer.parquet(f"{lake.files.root}/{folder_of(batch)}")
    added = data_files(written_parts(spark, lake, batch))
    _check_same(events, read_stored(spark, lake, [file.path for file in added]))
    lake.files.flush(file.path for file in added)
    _commit(lake, batch, added, paths)
    return added


def _check_same(before: DataFrame, after: DataFrame) -> None:
    old, new = digest(before), digest(after)
    if old != new:
        raise BatchMismatch(
            f"the new files ({new[0]:,} rows) and the old files ({old[0]:,} rows) have different "
            "content, so nothing was committed. Compact again, and report this error if it happens "
            "again"
        )


def digest(events: DataFrame) -> tuple[int, int]:
    """Return the number of rows, and a checksum that does not depend on the order of the rows."""
    # Spark cannot hash a map, but it can hash the entries of a map.
    columns = [
        F.sort_array(F.map_entries("more")) if name == "more" else F.col(name)
        for name in STORED_COLUMNS.names
        if name != "batch"
    ]
    total = F.sum(F.xxhash64(*columns).cast("decimal(20,0)"))
    [row] = events.agg(F.count("*").alias("rows"), total.alias("total")).collect()
    return row["rows"], int(row["total"] or 0)


def _commit(lake: Lake, batch: str, added: Sequence[DataFile], removed: Sequence[str]) -> None:
    while True:
        newest = lake.snapshot()
        if not {file.path for file in newest.files}.issuperset(removed):
            raise LakeMoved("another compaction replaced the same files, so nothing was committed")
        with suppress(LakeMoved):
            lake.commit(newest, batch, added=added, removed=removed)
            return
