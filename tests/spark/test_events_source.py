from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace
from headrace import Client


@pytest.fixture
def client(valkey_url: str) -> Iterator[Client]:
    """A client on a namespace of its own with four shards."""
    with headrace.connect(valkey_url, namespace=uuid4().hex, shards=4) as made:
        yield made


@pytest.fixture
def single(valkey_url: str) -> Iterator[Client]:
    """A client on a namespace of its own with one shard."""
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


def test_a_batch_has_every_event_of_every_shard_once(
    spark: SparkSession, valkey_url: str, client: Client
) -> None:
    fill(client, {0: 3, 1: 250, 3: 40})
    client.complete_many(client.queue("mail").pop("worker-1", count=20))
    found = events_of(spark, valkey_url, client, eventsPerPartition=60)
    # By shard: 23 or so, 250 or so in five parts, none, 40 or so.
    assert found.rdd.getNumPartitions() >= 6
    rows = [row.asDict() for row in found.collect()]
    told = {(event.shard, event.number): event for event in client.events()}
    assert len(rows) == len(told) == 333
    for row in rows:
        event = told[row["shard"], row["number"]]
        assert row["at"].replace(tzinfo=UTC) == event.at
        assert (row["kind"], row["job_id"], row["data"]) == (event.kind, event.job_id, event.data)
