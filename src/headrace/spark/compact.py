"""Compaction: small files of a day and queue are rewritten as few large ones.

A manifest adds the new files and removes the old ones in one step. Those stay for a while, for
whoever reads an older snapshot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.lake.batches import GRACE, begin, delete_replaced, folder_of
from headrace.lake.lake import Lake, LakeMoved
from headrace.lake.lock import held
from headrace.lake.manifest import DataFile, Snapshot
from headrace.spark.counted import BatchMismatch, data_files, written_parts
from headrace.spark.stored import STORED, own_session, read_stored

__all__ = ["Compacted", "compact", "delete_replaced"]

SMALL = 64 << 20
LARGE = 128 << 20
AT_ONCE = 512 << 20
"""So many bytes of small files at most are rewritten for one commit."""

Group = tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What one commit of a compaction replaced."""

    groups: int
    files_before: int
    files_after: int


def compact(spark: SparkSession, lake: Lake, *, grace: float = GRACE) -> Iterator[Compacted]:
    """Rewrites what is worth it, part by part; a part is done when it is asked for.

    What is replaced stays for so many seconds.
    """
    with held(lake.files, "compact") as lock:
        own = own_session(spark)
        snapshot = lake.snapshot()
        for groups in parts_of(groups_of(snapshot)):
            lock.renew()
            replaced = [file for group in groups for file in group]
            added = _rewrite(own, lake, snapshot, replaced, grace)
            yield Compacted(groups=len(groups), files_before=len(replaced), files_after=len(added))


def groups_of(snapshot: Snapshot) -> list[Group]:
    """The small files of each day and queue that has several."""
    small: dict[tuple[object, str], list[DataFile]] = defaultdict(list)
    for file in snapshot.files:
        if file.bytes < SMALL:
            small[file.day, file.queue].append(file)
    found = [tuple(files) for files in small.values() if len(files) > 1]
    return sorted(found, key=lambda group: (group[0].day, group[0].queue))


def parts_of(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Groups that are rewritten together: many small ones, or a large one alone."""
    part: list[Group] = []
    size = 0
    for group in groups:
        of_group = sum(file.bytes for file in group)
        if part and size + of_group > AT_ONCE:
            yield part
            part, size = [], 0
        part.append(group)
        size += of_group
    if part:
        yield part


def _rewrite(
    spark: SparkSession, lake: Lake, base: Snapshot, replaced: Sequence[DataFile], grace: float
) -> list[DataFile]:
    paths = [file.path for file in replaced]
    batch = begin(lake, base, grace=grace)
    events = read_stored(spark, lake, paths).drop("batch")
    pieces = max(1, sum(file.bytes for file in replaced) // LARGE)
    # All of a day and queue is written by one task; a large one by several, each a range of it.
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
            f"the new files have {new[0]:,} rows, the old ones {old[0]:,}, or they differ in what "
            "they say: nothing was committed; compact again, and if it comes again report it"
        )


def digest(events: DataFrame) -> tuple[int, int]:
    """How many rows there are, and a sum over all of what each says, in whatever order."""
    # A map cannot be hashed, its entries can.
    told = [
        F.sort_array(F.map_entries("more")) if name == "more" else F.col(name)
        for name in STORED.names
        if name != "batch"
    ]
    total = F.sum(F.xxhash64(*told).cast("decimal(20,0)"))
    [row] = events.agg(F.count("*").alias("rows"), total.alias("total")).collect()
    return row["rows"], int(row["total"] or 0)


def _commit(lake: Lake, batch: str, added: Sequence[DataFile], removed: Sequence[str]) -> None:
    while True:
        newest = lake.snapshot()
        if not {file.path for file in newest.files}.issuperset(removed):
            raise LakeMoved("another compaction has replaced the same files: nothing was committed")
        with suppress(LakeMoved):
            lake.commit(newest, batch, added=added, removed=removed)
            return
