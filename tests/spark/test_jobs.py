"""The table jobs. Most tests call the reader directly."""

from __future__ import annotations

import math
import pickle
from datetime import UTC
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition

import headrace
from headrace import Client, Put
from headrace.spark.jobs import JOBS, JobsReader
from headrace.spark.options import JobsOptions

# The tasks of Spark read by the clock of the server.
pytestmark = pytest.mark.namespace(shards=4, server_clock=True)


def reader_of(url: str, client: Client, **options: str) -> JobsReader:
    given = {"url": url, "namespace": client.core.namespace, "table": "jobs", **options}
    return JobsReader(JobsOptions.read(given).settled())


def rows_of(reader: JobsReader) -> list[dict[str, Any]]:
    """Return the rows that tasks would read, each with its own copy of the reader."""
    sent = pickle.dumps(reader)
    parts = reader.partitions()
    batches = [batch for part in parts for batch in pickle.loads(sent).read(part)]  # noqa: S301
    return list(pa.Table.from_batches(batches, JOBS).to_pylist())


def ids_of(reader: JobsReader) -> list[str]:
    return sorted(row["id"] for row in rows_of(reader))


def some_of_every_state(hr: Client) -> None:
    mail = hr.queue("mail")
    mail.put_many([Put(0, id=name) for name in ("done", "bad", "held")])
    for lease in mail.pop("worker-1", count=3, lease=60):
        if lease.id == "done":
            lease.complete({"ok": True})
        if lease.id == "bad":
            lease.fail("smtp", "no such user", traceback="line 1")
    mail.put({"to": "ada"}, id="next", tags=["vip", "late"], priority=-1)
    mail.put(0, id="soon", delay=30)
    mail.put(0, id="{next}stuck", depends_on=["next"])
    hr.queue("reports").put(0, id="other", tags=["vip"], key="other")


def test_every_job_is_a_row_and_every_field_a_column(valkey_url: str, hr: Client) -> None:
    some_of_every_state(hr)
    rows = {row["id"]: row for row in rows_of(reader_of(valkey_url, hr))}
    assert sorted(rows) == ["bad", "done", "held", "next", "other", "soon", "{next}stuck"]
    for job in hr.jobs(sorted(rows)):
        row = rows[job.id]
        assert row["shard"] == hr.core.shard_of(job.id)
        for name in ("state", "priority", "tags", "attempt", "due", "expires", "put_at", "key"):
            assert row[name] == getattr(job, name)
        assert row["data"] == job.payload
        assert [stage["worker"] for stage in row["history"]] == [
            stage.worker for stage in job.history
        ]
    assert rows["done"]["queue"] == "mail"
    assert rows["bad"]["failure"]["traceback"] == "line 1"
    assert rows["{next}stuck"]["depends_on"] == ["next"]
    assert rows["held"]["worker"] == "worker-1"
    assert {name for name, row in rows.items() if row["ended"]} == {"bad", "done"}


def test_options_queue_state_and_tag_select_jobs(valkey_url: str, hr: Client) -> None:
    some_of_every_state(hr)
    assert ids_of(reader_of(valkey_url, hr, queue="reports")) == ["other"]
    assert ids_of(reader_of(valkey_url, hr, state="failed")) == ["bad"]
    assert ids_of(reader_of(valkey_url, hr, state="failed", queue="reports")) == []
    assert ids_of(reader_of(valkey_url, hr, tag="vip")) == ["next", "other"]
    assert ids_of(reader_of(valkey_url, hr, tag="vip", queue="mail")) == ["next"]
    assert ids_of(reader_of(valkey_url, hr, queue="unknown")) == []


def test_small_sets_share_a_partition(valkey_url: str, hr: Client) -> None:
    names = [f"queue {number}" for number in range(30)]
    for name in names:
        hr.queue(name).put(0, id=name)
    hr.session("worker-1").serve(names[0])
    hr.queue(names[0]).pop("worker-1", lease=math.inf)
    reader = reader_of(valkey_url, hr)
    [part] = reader.partitions()
    assert len(part.value) == 30
    assert sorted(ids_of(reader)) == sorted(names)
    assert list(reader.read(InputPartition(None))) == []


def test_spark_reads_the_table_jobs(spark: SparkSession, valkey_url: str) -> None:
    with headrace.connect(valkey_url, namespace="table-of-jobs", shards=2) as client:
        some_of_every_state(client)
        [soon] = client.jobs(["soon"])
        assert soon.due is not None
        source = spark.read.format("headrace").options(url=valkey_url, namespace="table-of-jobs")
        found = source.options(table="jobs").load()
        wanted = found.where("queue = 'mail'").where(found.due >= soon.due)
        [row] = wanted.collect()
        assert (row.id, row.state, row.due.replace(tzinfo=UTC)) == ("soon", "scheduled", soon.due)
        [row] = found.where("array_contains(tags, 'late')").collect()
        assert (row.id, bytes(row.data), row.tags) == ("next", b'{"to":"ada"}', ["vip", "late"])
        stream = spark.readStream.format("headrace").options(url=valkey_url, table="jobs").load()
        with pytest.raises(PySparkException, match="cannot be read as a stream"):
            stream.writeStream.format("noop").start().awaitTermination(60)
