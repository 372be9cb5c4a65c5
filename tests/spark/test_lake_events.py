from __future__ import annotations

import datetime as dt
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.lake.event_columns import EVENTS
from headrace.lake.event_files import queue_folder
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile, LogRange
from headrace.spark import lake_events as lake_events_module
from headrace.spark.lake_events import COLUMNS, lake_events, with_folders

ODD_NAMES = [
    "mail",
    "a/b",
    "x=y",
    "é %41",
    "__HIVE_DEFAULT_PARTITION__",
    "",
    "007",
    "true",
    "2026-11-01",
    "null",
    "..",
    ".",
    "_hidden",
    "A",
    "a",
    "a b",
    "a:b",
    "two\nlines",
    "end\n",
    "{}*?[]",
    "\\",
    "名前",
    "x" * 300,
]
LAST_OF_DAY = dt.datetime(2026, 11, 1, 23, 59, 59, 999000, tzinfo=dt.UTC)


def event_of(number: int, queue: str) -> dict[str, object]:
    return {
        "shard": 0,
        "number": number,
        "at": LAST_OF_DAY + dt.timedelta(milliseconds=number % 2),
        "version": 1,
        "kind": "put",
        "job_id": "j",
        "queue": queue,
        "attempt": 0,
        "worker": "",
        "priority": 0.0,
        "data": b"\0\xff",
        "more": {"colour": b"blue"} if number == 1 else None,
    }


def test_spark_and_tasks_name_folders_alike(spark: SparkSession) -> None:
    names = spark.createDataFrame([(name,) for name in ODD_NAMES], "queue string")
    rows = names.select(
        "queue", lake_events_module.queue_folder(names["queue"]).alias("folder")
    ).collect()
    assert {row["queue"]: row["folder"] for row in rows} == {
        name: queue_folder(name) for name in ODD_NAMES
    }


def test_stored_events_are_read_back_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake.create(LocalFiles(tmp_path / "a lake [of é]"), "shop", [1])
    written = [event_of(number, name) for number, name in enumerate(ODD_NAMES, 1)]
    events = spark.createDataFrame(written, COLUMNS)
    with_folders(events).write.partitionBy("day", "queue").parquet(
        f"{lake.files.root}/events/batch=1"
    )
    files = [found for found in lake.files.list("events") if found.path.endswith(".parquet")]
    base = lake.snapshot()
    assert lake_events(spark, lake, base).columns == [*EVENTS.names, "day"]
    added = [
        DataFile(
            path=found.path,
            day=dt.date.fromisoformat(found.path.partition("day=")[2][:10]),
            queue="",
            rows=1,
            bytes=found.size,
        )
        for found in files
    ]
    span = LogRange(shard=0, after="0-0", to=f"1-{len(written)}")
    snapshot = lake.commit(base, "1", ranges=[span], added=added)

    found = lake_events(spark, lake, snapshot)
    assert found.columns == [*EVENTS.names, "day"]
    rows = {row["number"]: row.asDict() for row in found.collect()}
    assert [rows[number]["queue"] for number in sorted(rows)] == ODD_NAMES
    assert {(number % 2, row["day"]) for number, row in rows.items()} == {
        (0, dt.date(2026, 11, 1)),
        (1, dt.date(2026, 11, 2)),
    }
    assert rows[1]["data"] == b"\0\xff"
    assert rows[1]["more"] == {"colour": b"blue"}

    second = lake_events(spark, lake, snapshot, days=[dt.date(2026, 11, 2)])
    assert {row["number"] % 2 for row in second.select("number").collect()} == {1}
