from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import headrace
from headrace import Client, LakeRefused
from headrace.errors import InvalidArgument, NamespaceNotFound
from headrace.lake import batch_lifecycle
from headrace.lake.files import Files, LocalFiles
from headrace.lake.lake import Lake, LakeMoved, LakeNotFound, open_lake
from headrace.lake.lock import LakeBusy
from headrace.spark import batch_files
from headrace.spark.batch_files import BatchMismatch, FilePart, written_parts
from headrace.spark.hadoop_files import HadoopFiles
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import follow, sync
from tests.spark.support.lakes import Died, DyingFiles, expect_equal, expect_proof, rows_of

pytestmark = pytest.mark.namespace(shards=2, server_clock=True)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "lake")


@pytest.fixture(params=["directory", "scheme"])
def place(request: pytest.FixtureRequest, spark: SparkSession, files: LocalFiles) -> Files:
    """Return files that tasks write, or that Spark writes."""
    return files if request.param == "directory" else HadoopFiles(spark, files.root)


def work(hr: Client, count: int) -> None:
    """Create events of several kinds in several queues."""
    for name in ("mail", "a/b é"):
        queue = hr.queue(name)
        queue.put_many([{"n": n} for n in range(count)], tags=["vip"])
        leases = queue.pop("ada", count=count)
        hr.leases.complete(leases[1:])
        leases[0].fail("smtp", "no such host")


def write_entry(hr: Client, *words: str) -> None:
    """Write an entry to the log of shard 0, as a later version might."""
    log, events = hr.core.key(0, "log"), hr.core.key(0, "events")
    [about] = hr.core.transport.send([(0, ("HMGET", log, "number", "stamp"))])
    number, stamp = int(about[0]) + 1, int(about[1])
    replies = hr.core.transport.send(
        [
            (0, ("XADD", events, f"{stamp}-{number}", *words)),
            (0, ("HSET", log, "number", number, "stamp", stamp)),
        ]
    )
    assert not any(isinstance(reply, Exception) for reply in replies)


PLAIN = (*("id", "j", "queue", "mail", "attempt", "0", "worker", ""), *("priority", "0"))


def test_lake_equals_log(
    spark: SparkSession, hr: Client, address: ServerAddress, place: Files
) -> None:
    work(hr, 20)
    yesterday = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    ms = str(int(yesterday.timestamp() * 1000))
    write_entry(hr, "kind", "mystery", *PLAIN, "v", "9", "at", ms, "colour", "blue")
    told = list(hr.events())
    found = list(sync(spark, address, place, batch=60))

    lake = Lake.open(place)
    expect_equal(spark, lake, told)
    assert [batch.number for batch in found] == [1, 2, 3]
    assert sum(batch.events for batch in found) == len(told) > 120
    assert all(batch.events <= 60 for batch in found)
    assert [batch.behind for batch in found] == [len(told) - 60, len(told) - 120, 0]
    offsets = {event.shard: event.entry_id for event in told}
    assert {row.shard: row.entry for row in hr.lakes.list()} == offsets == lake.snapshot().offsets
    [late] = [row for row in rows_of(spark, lake).values() if row["kind"] == "mystery"]
    assert late["day"] == yesterday.date()
    assert (late["version"], late["more"]) == (9, {"colour": b"blue"})
    assert {file.queue for file in lake.snapshot().files} == {"mail", "a/b é"}

    assert list(sync(spark, address, place)) == []
    work(hr, 2)
    [more] = sync(spark, address, place)
    assert more.number == 4
    expect_equal(spark, lake, hr.events())


@pytest.mark.timeout(300)
def test_sync_that_dies_at_any_step_loses_and_duplicates_nothing(
    spark: SparkSession, hr: Client, address: ServerAddress, files: LocalFiles
) -> None:
    work(hr, 2)
    list(sync(spark, address, files))
    lake = Lake.open(files)
    work(hr, 1)
    counting = DyingFiles(str(files))
    list(sync(spark, address, counting))
    assert counting.operations == [
        "list begun",
        "list .making",
        "list replays",
        "create begun",
        "list events",
        "flush events",
        "create manifests",
        "delete begun",
    ]
    for nth, _ in enumerate(counting.operations, 1):
        for after in (False, True):
            work(hr, 1)
            with pytest.raises(Died):
                list(sync(spark, address, DyingFiles(str(files), nth, after=after)))
            expect_proof(hr, lake)
    list(sync(spark, address, files))
    expect_equal(spark, lake, hr.events())
    expect_proof(hr, lake)


def test_trimmed_events_become_gap_rows(
    spark: SparkSession, hr: Client, address: ServerAddress, place: Files
) -> None:
    hr.config.set("events_count", 100)
    hr.config.set("events_cap", 300)
    queue = hr.queue("mail")
    with address.open() as client:
        open_lake(place, client)
    list(sync(spark, address, place))
    queue.put_many(range(6000))
    told = list(hr.events())
    dropped = {row.shard: row.dropped for row in hr.lakes.list()}
    assert 6000 - sum(dropped.values()) == len(told) < 5000

    [batch] = sync(spark, address, place)
    lake = Lake.open(place)
    assert (batch.events, batch.missing) == (6000, sum(dropped.values()))
    assert lake.snapshot().missing == batch.missing
    # The first two events of each shard are those of the settings.
    rows = {at: row for at, row in rows_of(spark, lake).items() if row["kind"] != "configured"}
    gaps = {shard: rows.pop((shard, 3)) for shard in dropped}
    assert {shard: gap["missing"] for shard, gap in gaps.items()} == dropped
    assert {(gap["kind"], gap["queue"]) for gap in gaps.values()} == {("gap", "")}
    assert rows.keys() == {(event.shard, event.number) for event in told}
    assert {file.queue for file in lake.snapshot().files} == {"mail", ""}


def test_lake_of_another_log_is_refused(
    spark: SparkSession, valkey_url: str, hr: Client, address: ServerAddress, files: LocalFiles
) -> None:
    hr.queue("mail").put_many(range(10))
    list(sync(spark, address, files))
    with headrace.connect(valkey_url, namespace=uuid4().hex) as other:
        elsewhere = ServerAddress(url=valkey_url, namespace=other.core.namespace)
        with pytest.raises(LakeRefused, match=r"has the events of namespace .* a separate lake"):
            list(sync(spark, elsewhere, files))

    meta = hr.core.key(1, "meta")
    [begun] = hr.core.transport.send([(1, ("HGET", meta, "created"))])
    hr.core.transport.send([(1, ("HSET", meta, "created", int(begun) + 1))])
    with pytest.raises(LakeRefused, match="deleted and recreated: use a new lake"):
        list(sync(spark, address, files))
    hr.core.transport.send([(1, ("HSET", meta, "created", begun))])

    hr.core.transport.send([(0, ("HINCRBY", hr.core.key(0, "log"), "number", -1))])
    with pytest.raises(
        LakeRefused, match=r"the newest event on the server is number .* lost events"
    ):
        list(sync(spark, address, files))


def test_unknown_namespace_creates_no_lake(
    spark: SparkSession, valkey_url: str, files: LocalFiles
) -> None:
    with pytest.raises(NamespaceNotFound):
        list(sync(spark, ServerAddress(url=valkey_url, namespace="nowhere"), files))
    with pytest.raises(LakeNotFound):
        Lake.open(files)


@pytest.mark.parametrize("batch", [0, -1, 1.5, "5", True])
def test_invalid_batch_size_is_refused(
    spark: SparkSession, address: ServerAddress, files: LocalFiles, batch: int
) -> None:
    with pytest.raises(InvalidArgument, match="batch must be"):
        list(sync(spark, address, files, batch=batch))


def test_second_sync_is_refused_and_without_lock_only_one_commits(
    spark: SparkSession, hr: Client, address: ServerAddress, files: LocalFiles
) -> None:
    work(hr, 5)
    first = sync(spark, address, files, batch=10)
    next(first)
    with pytest.raises(LakeBusy, match="another sync"):
        list(sync(spark, address, files))

    lake = Lake.open(files)
    lake.commit(lake.snapshot(), "a compaction")
    next(first)

    files.delete("locks")
    list(sync(spark, address, files))
    with pytest.raises(LakeMoved):
        next(first)
    expect_equal(spark, lake, hr.events())
    expect_proof(hr, lake)


def test_incomplete_batch_is_not_committed(
    spark: SparkSession,
    hr: Client,
    address: ServerAddress,
    files: LocalFiles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work(hr, 3)

    def lose_one(spark: SparkSession, lake: Lake, batch: str) -> list[FilePart]:
        files.delete(files.list("events")[0].path)
        return written_parts(spark, lake, batch)

    monkeypatch.setattr(batch_files, "written_parts", lose_one)
    with pytest.raises(BatchMismatch, match="nothing was committed"):
        list(sync(spark, address, files))
    assert Lake.open(files).snapshot().number == 0
    assert {row.entry for row in hr.lakes.list()} == {"0-0"}


def test_files_of_failed_attempts_are_deleted(
    spark: SparkSession,
    hr: Client,
    address: ServerAddress,
    files: LocalFiles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work(hr, 3)

    def with_a_leftover(batch: str) -> str:
        monkeypatch.setattr(batch_files, "folder_of", batch_lifecycle.folder_of)
        files.create(
            f"{batch_lifecycle.folder_of(batch)}/day=2026-11-01/queue=mail/part.parquet", b"half"
        )
        return batch_lifecycle.folder_of(batch)

    monkeypatch.setattr(batch_files, "folder_of", with_a_leftover)
    list(sync(spark, address, files))
    snapshot = Lake.open(files).snapshot()
    assert [found.path for found in files.list("events")] == [file.path for file in snapshot.files]


def test_follow_runs_until_stopped(
    spark: SparkSession, hr: Client, address: ServerAddress, files: LocalFiles
) -> None:
    work(hr, 3)
    stopping = threading.Event()
    following = follow(spark, address, files, stopping=stopping, interval=0.01, batch=10)
    assert next(following).events == 10
    assert next(following).behind == 0
    work(hr, 1)
    assert next(following).number == 3
    stopping.set()
    assert list(following) == []
    expect_equal(spark, Lake.open(files), hr.events())


def test_sync_does_not_change_session_settings(
    spark: SparkSession, hr: Client, address: ServerAddress, files: LocalFiles
) -> None:
    name = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(name)
    hr.queue("mail").put(1)
    list(sync(spark, address, files))
    assert spark.conf.get(name) == before
