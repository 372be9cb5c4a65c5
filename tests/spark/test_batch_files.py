"""Verification of batches: every kind of incomplete batch is refused."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace.lake.batch_lifecycle import folder_of
from headrace.lake.event_columns import gap_row
from headrace.lake.event_files import write_events
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import LogRange
from headrace.spark.batch_files import (
    BatchMismatch,
    FilePart,
    data_files,
    verified,
    written_parts,
)

SPAN = LogRange(shard=0, after="5-10", to="7-20")


def part(numbers: list[int], *gaps: tuple[int, int], path: str = "a", shard: int = 0) -> FilePart:
    covered = [*numbers, *(first for first, _ in gaps), *(f + m - 1 for f, m in gaps)]
    return FilePart(
        path=path,
        size=100,
        day=dt.date(2026, 11, 1),
        queue="mail",
        shard=shard,
        events=len(numbers),
        total=sum(numbers),
        lowest=min(covered),
        highest=max(covered),
        gaps=gaps,
    )


def test_batch_with_every_event_is_verified() -> None:
    assert verified([SPAN], [part([*range(11, 21)])]) == [SPAN]
    assert verified([SPAN], [part([11, 13, 20]), part([12, *range(14, 20)])]) == [SPAN]


def test_gap_rows_count_as_missing_events() -> None:
    [found] = verified([SPAN], [part([*range(15, 19)], (11, 4)), part([20], (19, 1))])
    assert found == LogRange(shard=0, after="5-10", to="7-20", missing=5)
    [found] = verified([SPAN], [part([], (11, 10))])
    assert found.missing == 10


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [part([*range(11, 20)])],
        [part([*range(11, 21), 20])],
        [part([*range(11, 20), 19])],
        [part([*range(10, 20)])],
        [part([*range(12, 22)])],
        [part([10, *range(12, 20), 21])],
        [part([*range(11, 21)], (11, 1))],
        [part([*range(13, 21)], (11, 3))],
        [part([*range(14, 21)], (10, 3))],
        [part([*range(11, 19)], (19, 3))],
        [part([*range(11, 21)]), part([1], shard=1)],
    ],
)
def test_incomplete_batch_is_refused(parts: list[FilePart]) -> None:
    with pytest.raises(BatchMismatch):
        verified([SPAN], parts)


def test_file_counts_rows_of_all_shards() -> None:
    parts = [
        part([1, 2, 3], path="b"),
        part([1], (2, 7), path="a", shard=1),
        replace(part([4], path="b", shard=1), size=100),
    ]
    found = [(file.path, file.rows, file.bytes, file.queue) for file in data_files(parts)]
    assert found == [("a", 2, 100, "mail"), ("b", 4, 100, "mail")]


@pytest.mark.parametrize("damaged", [b"PAR1", b"PAR1 and then nothing of it PAR1"])
def test_unreadable_file_is_named(spark: SparkSession, tmp_path: Path, damaged: bytes) -> None:
    lake = Lake.create(LocalFiles(tmp_path), "shop", [0])
    lake.files.create(f"{folder_of('1')}/day=2026-11-01/queue=mail/some.parquet", damaged)
    with pytest.raises(BatchMismatch, match=r"events/batch=1 cannot be read back.*some\.parquet"):
        written_parts(spark, lake, "1")


def test_page_with_wrong_checksum_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake.create(LocalFiles(tmp_path), "shop", [0])
    events = [gap_row(0, first, 1, dt.datetime(2026, 11, 1, tzinfo=dt.UTC)) for first in range(9)]
    [path] = write_events(tmp_path, folder_of("1"), "some", events)
    assert len(written_parts(spark, lake, "1")[0].gaps) == 9
    column = pq.ParquetFile(tmp_path / path).metadata.row_group(0).column(0)
    content = bytearray((tmp_path / path).read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 20] ^= 1
    (tmp_path / path).write_bytes(content)
    with pytest.raises(BatchMismatch, match="checksum"):
        written_parts(spark, lake, "1")
