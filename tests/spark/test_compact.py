from __future__ import annotations

import datetime as dt
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from headrace import Client
from headrace.lake.batch_lifecycle import delete_replaced, sweep
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake, LakeMoved
from headrace.lake.manifest import DataFile, LakeSnapshot
from headrace.spark import batch_files
from headrace.spark import compact as module
from headrace.spark.batch_files import BatchMismatch
from headrace.spark.compact import compact, groups_of, parts_of
from headrace.spark.hadoop_files import HadoopFiles
from headrace.spark.lake_events import lake_events
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from tests.spark.support.lakes import Died, DyingFiles, expect_equal

pytestmark = pytest.mark.namespace(server_clock=True)


DAY = dt.date(2026, 11, 1)


@pytest.fixture
def lake(spark: SparkSession, hr: Client, address: ServerAddress, tmp_path: Path) -> Lake:
    """A lake with two files for each of two queues, and one file for a third queue."""
    files = LocalFiles(tmp_path)
    hr.queue("once").put(1)
    for _ in range(2):
        for name in ("mail", "a/b é"):
            hr.queue(name).put_many(range(5), tags=["vip"])
        list(sync(spark, address, files))
    return Lake.open(files)


def test_compaction_merges_small_files_without_changing_rows(
    spark: SparkSession, hr: Client, lake: Lake
) -> None:
    before = lake.snapshot()
    assert len(before.files) == 5
    reading = lake_events(spark, lake, before)
    [done] = compact(spark, lake)

    assert (done.groups, done.files_before, done.files_after) == (2, 4, 2)
    after = lake.snapshot()
    assert len(after.files) == 3
    assert (after.rows, after.offsets) == (before.rows, before.offsets)
    expect_equal(spark, lake, hr.events())
    assert list(compact(spark, lake)) == []

    # A reader of the old snapshot continues while the old files stay.
    assert delete_replaced(lake, grace=3600) == []
    assert reading.count() == before.rows
    assert len(delete_replaced(lake, grace=0)) == 4
    assert delete_replaced(lake, grace=0) == []
    expect_equal(spark, lake, hr.events())
    there = [found.path for found in lake.files.list("events") if found.path.endswith(".parquet")]
    assert sorted(there) == sorted(file.path for file in after.files)


@pytest.mark.timeout(300)
def test_lake_is_complete_after_compaction_dies_at_any_step(
    spark: SparkSession, hr: Client, lake: Lake
) -> None:
    rows = lake.snapshot().rows
    died = []
    for nth in range(1, 4):
        for after in (False, True):
            dying = DyingFiles(str(lake.files), nth, after=after)
            with pytest.raises(Died):
                list(compact(spark, Lake.open(dying)))
            died.append(dying.operations[nth - 1])
            assert lake.snapshot().rows == rows
            assert len(lake.snapshot().files) == (3 if (nth, after) == (3, True) else 5)
    assert died[::2] == ["create begun", "flush events", "create manifests"]
    sweep(lake, older_than=0)
    delete_replaced(lake, grace=0)
    expect_equal(spark, lake, hr.events())
    assert lake.files.list("begun") == []


def test_compaction_and_sync_run_at_the_same_time(
    spark: SparkSession,
    hr: Client,
    address: ServerAddress,
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written_parts = batch_files.written_parts

    def and_a_sync(*args: object) -> object:
        hr.queue("mail").put_many(range(3))
        list(sync(spark, address, lake.files))
        return written_parts(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "written_parts", and_a_sync)
    assert len(list(compact(spark, lake))) == 1
    expect_equal(spark, lake, hr.events())


def test_second_compaction_of_same_files_is_refused(
    spark: SparkSession, hr: Client, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_parts = batch_files.written_parts

    def and_another(*args: object) -> object:
        monkeypatch.setattr(module, "written_parts", written_parts)
        lake.files.delete("locks")
        list(compact(spark, Lake.open(lake.files)))
        return written_parts(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "written_parts", and_another)
    with pytest.raises(LakeMoved, match="another compaction replaced the same files"):
        list(compact(spark, lake))
    expect_equal(spark, lake, hr.events())


def test_compaction_that_changes_rows_is_not_committed(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lake.snapshot()
    data_files = batch_files.data_files
    monkeypatch.setattr(module, "data_files", lambda parts: data_files(parts)[1:])
    with pytest.raises(BatchMismatch, match="nothing was committed"):
        list(compact(spark, lake))
    assert lake.snapshot() == before


def test_lake_with_url_is_synced_and_compacted(
    spark: SparkSession, hr: Client, address: ServerAddress, tmp_path: Path
) -> None:
    files = HadoopFiles(spark, f"file://{tmp_path}/far away")
    for _ in range(2):
        hr.queue("mail").put_many(range(5))
        list(sync(spark, address, files))
    lake = Lake.open(files)
    assert [done.files_after for done in compact(spark, lake)] == [1]
    assert len(delete_replaced(lake, grace=0)) == 2
    expect_equal(spark, lake, hr.events())


def file_of(size: int, queue: str = "mail") -> DataFile:
    return DataFile(path=uuid4().hex, day=DAY, queue=queue, rows=1, bytes=size)


def test_large_and_single_files_are_not_rewritten() -> None:
    small, other, alone, large = (
        file_of(10),
        file_of(module.SMALL - 1),
        file_of(10, "post"),
        file_of(module.SMALL),
    )
    assert groups_of(LakeSnapshot(files=(small, large, other, alone))) == [(small, other)]


def test_one_commit_rewrites_limited_bytes() -> None:
    groups = [(file_of(module.AT_ONCE // 3),) for _ in range(7)]
    assert [len(part) for part in parts_of(groups)] == [3, 3, 1]
    assert list(parts_of([])) == []
