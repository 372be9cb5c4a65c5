from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headrace
from headrace import Client


@pytest.fixture
def client(valkey_url: str) -> Iterator[Client]:
    """Return a client on a new namespace with four shards."""
    with headrace.connect(valkey_url, namespace=uuid4().hex, shards=4) as made:
        yield made


@pytest.fixture
def single(valkey_url: str) -> Iterator[Client]:
    """Return a client on a new namespace with one shard."""
    with headrace.connect(valkey_url, namespace=uuid4().hex) as made:
        yield made


def events_of(spark: SparkSession, url: str, client: Client, **options: object) -> DataFrame:
    reader = spark.read.format("headrace").options(url=url, namespace=client.core.namespace)
    return reader.options(**{name: str(value) for name, value in options.items()}).load()


def ids_on(client: Client, shard: int, count: int) -> list[str]:
    ids = (f"job-{n}" for n in range(100_000))
    found = (job_id for job_id in ids if client.core.shard_of(job_id) == shard)
    return [next(found) for _ in range(count)]


def fill(client: Client, sizes: dict[int, int], queue: str = "mail") -> None:
    ids = [job_id for shard, count in sizes.items() for job_id in ids_on(client, shard, count)]
    client.queue(queue).put_many([headrace.Put({"of": job_id}, id=job_id) for job_id in ids])


def test_batch_has_every_event_of_every_shard_once(
    spark: SparkSession, valkey_url: str, client: Client
) -> None:
    fill(client, {0: 3, 1: 250, 3: 40})
    client.leases.complete(client.queue("mail").pop("worker-1", count=20))
    found = events_of(spark, valkey_url, client, eventsPerPartition=60)
    # The four shards have about 23 events, 250 events in five parts, no events, and 40 events.
    assert found.rdd.getNumPartitions() >= 6
    rows = [row.asDict() for row in found.collect()]
    told = {(event.shard, event.number): event for event in client.events()}
    assert len(rows) == len(told) == 333
    for row in rows:
        event = told[row["shard"], row["number"]]
        assert row["at"].replace(tzinfo=UTC) == event.at
        assert (row["kind"], row["job_id"], row["data"]) == (event.kind, event.job_id, event.data)


def in_order(found: DataFrame) -> list[tuple[int, int]]:
    return sorted((row.shard, row.number) for row in found.select("shard", "number").collect())


def test_offsets_limit_a_batch(spark: SparkSession, valkey_url: str, client: Client) -> None:
    fill(client, {0: 10, 1: 4})
    on_first = [event for event in client.events() if event.shard == 0]
    start, end = on_first[2].entry_id, on_first[6].entry_id
    found = events_of(
        spark,
        valkey_url,
        client,
        startingOffsets=json.dumps({"0": start}),
        endingOffsets=json.dumps({"0": end, "1": "0-0"}),
        eventsPerPartition=2,
    )
    # This reads events 4 to 7 of shard 0. Shards without an end, or with the end 0-0, are not read.
    assert in_order(found) == [(0, number) for number in range(4, 8)]
    assert in_order(found) == [(0, number) for number in range(4, 8)]


def test_same_frame_serves_queries_with_and_without_filters(
    spark: SparkSession, valkey_url: str, single: Client
) -> None:
    single.queue("mail").put_many([{"n": n} for n in range(4)])
    single.queue("reports").put({"n": 1})
    found = events_of(spark, valkey_url, single)
    assert found.where("queue = 'mail'").count() == 4
    assert found.count() == 5
    assert found.where("queue = 'mail'").union(found.where("queue = 'reports'")).count() == 5


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def trimmed(client: Client, gone: int) -> None:
    """Trim the oldest events of the only shard."""
    oldest = list(client.events())[gone].entry_id
    command = ("XTRIM", client.core.key(0, "events"), "MINID", "=", oldest)
    [dropped] = client.core.transport.send([(0, command)])
    assert dropped == gone


def stream_of(spark: SparkSession, url: str, client: Client, **options: object) -> DataFrame:
    reader = spark.readStream.format("headrace").options(url=url, namespace=client.core.namespace)
    return reader.options(**{name: str(value) for name, value in options.items()}).load()


def drained(stream: DataFrame, place: Path) -> StreamingQuery:
    """Write the current events of a stream to files, then stop the stream."""
    query = (
        stream.select("shard", "number", "kind")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(place / "checkpoint"))
        .option("path", str(place / "out"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    return query


def sizes(query: StreamingQuery) -> list[int]:
    return [step["numInputRows"] for step in query.recentProgress if step["numInputRows"]]


def test_restarted_stream_continues_in_bounded_steps(
    spark: SparkSession, valkey_url: str, client: Client, tmp_path: Path
) -> None:
    fill(client, {0: 5, 1: 30, 3: 9})
    stream = stream_of(spark, valkey_url, client, maxEventsPerTrigger=20)
    # The first batch has 5, 7 and 8 events of the three shards; the next batch is bounded too.
    assert sizes(drained(stream, tmp_path)) == [20, 20, 4]
    assert sizes(drained(stream, tmp_path)) == []
    fill(client, {2: 3}, queue="reports")
    assert sizes(drained(stream, tmp_path)) == [3]
    found = spark.read.parquet(str(tmp_path / "out"))
    assert in_order(found) == sorted((event.shard, event.number) for event in client.events())


def test_stream_over_trimmed_events_fails_or_has_gap_row(
    spark: SparkSession, valkey_url: str, single: Client, tmp_path: Path
) -> None:
    single.queue("mail").put_many([{"n": n} for n in range(4)])
    drained(stream_of(spark, valkey_url, single), tmp_path)
    single.queue("mail").put_many([{"n": n} for n in range(6)])
    trimmed(single, 7)
    with pytest.raises(PySparkException, match="failOnDataLoss"):
        drained(stream_of(spark, valkey_url, single), tmp_path)
    drained(stream_of(spark, valkey_url, single, failOnDataLoss=False), tmp_path)
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("number").collect()
    assert [(row.number, row.kind) for row in found] == [
        *((number, "put") for number in range(1, 5)),
        (5, "gap"),
        *((number, "put") for number in range(8, 11)),
    ]


SECRET = "tr0ub4dor"  # noqa: S105 - not a real password


def test_password_is_never_shown(
    spark: SparkSession, valkey_url: str, single: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    reader = spark.read.format("headrace").option("namespace", single.core.namespace)
    wrong = [f"redis://ada:{SECRET}/x@localhost:1", f"rediz://ada:{SECRET}@localhost", SECRET]
    said = []
    for url in wrong:
        with pytest.raises(PySparkException, match="option url must begin with") as caught:
            reader.option("url", url).load().count()
        said.append(str(caught.value))
    found = reader.option("url", valkey_url.replace("unix://", f"unix://ada:{SECRET}@")).load()
    said += [plan_of(found), str(found._jdf.queryExecution().toString()), repr(found)]
    with pytest.raises(PySparkException, match="refused the login") as caught:
        found.count()
    said += [str(caught.value), *capfd.readouterr()]
    assert SECRET not in "".join(said)


def test_wrong_option_is_named_by_spark(
    spark: SparkSession, valkey_url: str, single: Client
) -> None:
    with pytest.raises(PySparkException, match="unknown option 'tabel'; the options are url, "):
        events_of(spark, valkey_url, single, tabel="events").count()
