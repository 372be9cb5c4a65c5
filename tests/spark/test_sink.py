"""df.write and df.writeStream of format("headrace"), in a real session."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.streaming.query import StreamingQuery

from headrace import Client, connect
from headrace.spark.sink import SinkTarget, StreamWriter
from tests.support.dump import dump

pytestmark = [pytest.mark.timeout(300), pytest.mark.namespace(server_clock=True)]


def save(frame: DataFrame, hr: Client, url: str, mode: str = "append", **options: str) -> None:
    given = {"url": url, "namespace": hr.core.namespace, "queue": "mail", **options}
    frame.write.format("headrace").options(**given).mode(mode).save()


def numbers(hr: Client) -> list[Any]:
    return sorted(job.data["n"] for job in hr.queue("mail").jobs("waiting", count=1000).jobs)


def left_over(hr: Client) -> list[str]:
    return [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]


def test_rows_become_jobs_with_their_options(
    spark: SparkSession, hr: Client, valkey_url: str
) -> None:
    frame = spark.createDataFrame(
        [
            ("a", {"n": 1}, 2.5, ["vip"], timedelta(hours=1), "k", 7),
            ("b", {"n": 2}, None, None, None, None, None),
        ],
        "id string, data map<string, int>, priority double, tags array<string>, "
        "delay interval day to second, key string, retries int",
    )
    save(frame, hr, valkey_url, writeId="first")

    first, second = hr.jobs(["a", "b"])
    assert first is not None
    assert second is not None
    assert (first.data, first.priority, first.tags) == ({"n": 1}, 2.5, ["vip"])
    assert (first.state, first.key, first.retries) == ("scheduled", "k", 7)
    assert (second.data, second.state, second.priority) == ({"n": 2}, "waiting", 0)
    written = hr.writes.get("first")
    assert written is not None
    assert (written.rows, written.made) == (2, 2)
    assert hr.audit().balanced
    assert left_over(hr) == []


def test_repeated_write_does_nothing(spark: SparkSession, hr: Client, valkey_url: str) -> None:
    frame = spark.range(0, 1000, numPartitions=3).select(fn.col("id").alias("data.n"))
    for _ in range(2):
        save(frame, hr, valkey_url, writeId="once")

    assert numbers(hr) == [*range(1000)]
    assert left_over(hr) == []


def test_on_four_shards_each_row_becomes_a_job(
    spark: SparkSession, hr: Client, valkey_url: str
) -> None:
    with connect(valkey_url, namespace=f"{hr.core.namespace}-4", shards=4) as spread:
        frame = spark.range(0, 500, numPartitions=2).select(
            fn.concat(fn.lit("job"), "id").alias("id"),
            fn.struct(fn.col("id").alias("n")).alias("data"),
        )
        save(frame, spread, valkey_url)

        assert numbers(spread) == [*range(500)]
        assert spread.audit().balanced
        [written] = spread.writes.list()
        assert (written.made, written.published_at is None) == (500, False)


@pytest.mark.parametrize(
    ("mode", "column", "says"),
    [
        ("append", "colour", "unknown column 'colour'"),
        ("overwrite", "data", r'mode\("overwrite"\) is not supported'),
        (
            "errorifexists",
            "data",
            '"headrace" cannot be written in the "ErrorIfExists" mode.*Append',
        ),
    ],
)
def test_wrong_frame_is_refused_before_anything_is_written(
    spark: SparkSession, hr: Client, valkey_url: str, mode: str, column: str, says: str
) -> None:
    frame = spark.range(3).withColumn(column, fn.lit("x")).drop("id").withColumn("data", fn.lit(1))

    with pytest.raises(AnalysisException, match=f"(?s){says}") as refused:
        save(frame, hr, valkey_url, mode)

    assert valkey_url not in str(refused.value)
    assert hr.queues() == {}


def test_wrong_row_publishes_nothing(spark: SparkSession, hr: Client, valkey_url: str) -> None:
    frame = spark.range(0, 2000, numPartitions=2).select(
        fn.col("id").alias("data"),
        fn.when(fn.col("id") < 1999, 1.0).otherwise(-1.0).alias("delay"),
    )
    with pytest.raises(PySparkException, match=r"(?s)column 'delay' of a row has the value -1\.0"):
        save(frame, hr, valkey_url)

    assert hr.queues() == {}
    assert hr.writes.list() == []


# Streams


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """A folder for input files. Each file becomes a batch of the stream."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def put_file(folder: Path, *found: int) -> None:
    lines = "".join(json.dumps({"n": number}) + "\n" for number in found)
    (folder / f"{len(list(folder.iterdir())):05}.json").write_text(lines)


def run_stream(spark: SparkSession, hr: Client, url: str, drop: Path) -> StreamingQuery:
    frame = spark.readStream.schema("n int").option("maxFilesPerTrigger", 1).json(str(drop))
    query = (
        frame.select(fn.col("n").alias("data.n"))
        .writeStream.format("headrace")
        .options(url=url, namespace=hr.core.namespace, queue="mail")
        .option("checkpointLocation", str(drop.parent / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def test_repeated_last_batch_of_stream_is_written_once(
    spark: SparkSession, hr: Client, valkey_url: str, drop: Path
) -> None:
    for number in range(3):
        put_file(drop, 2 * number, 2 * number + 1)
    query = run_stream(spark, hr, valkey_url, drop)
    assert numbers(hr) == [*range(6)]

    # The state after a driver died between the commit of the sink and the commit of the query.
    commits = drop.parent / "checkpoint" / "commits"
    for path in (commits / "2", commits / ".2.crc"):
        path.unlink(missing_ok=True)
    put_file(drop, 6)
    run_stream(spark, hr, valkey_url, drop)

    assert numbers(hr) == [*range(7)]
    written = hr.writes.get(str(query.id), stream=True)
    assert written is not None
    assert (written.batch, written.made) == (3, 1)
    assert left_over(hr) == []
    assert hr.audit().balanced


def test_stream_batch_without_query_id_is_refused(spark: SparkSession) -> None:
    def stage(_: int) -> None:
        StreamWriter(cast(SinkTarget, None)).write(iter(()))

    with pytest.raises(Exception, match="did not set the local property"):
        spark.sparkContext.parallelize([0], 1).foreach(stage)
