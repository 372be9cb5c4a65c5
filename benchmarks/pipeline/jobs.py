"""DataFrames into jobs and executors as workers, compared with one process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

import headrace
from benchmarks.pipeline.scoring import QUEUE, score
from headrace.spark import work

ROWS = 100_000
TIMEOUT = 300.0


def rows_of(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows in the form in which the plain loop puts them: one small object per job."""
    return spark.range(rows).select(
        (F.col("id") % 1000).alias("data.customer"),
        (F.col("id") * 7919 % 20_000).alias("data.cents"),
    )


def put_by_loop(url: str, rows: int, shards: int = 1) -> float:
    """Return the rows per second of put_many from this process."""
    with headrace.connect(url, namespace=_fresh(), shards=shards) as client:
        data = [{"customer": i % 1000, "cents": i * 7919 % 20_000} for i in range(rows)]
        return rows / seconds_of(lambda: client.queue("jobs").put_many(data))


def put_by_spark(spark: SparkSession, url: str, rows: int, shards: int = 1) -> float:
    """Return the rows per second of df.write."""
    namespace = _fresh()
    frame = rows_of(spark, rows)
    with headrace.connect(url, namespace=namespace, shards=shards) as client:
        writer = frame.write.format("headrace").options(url=url, namespace=namespace, queue="jobs")
        seconds = seconds_of(writer.mode("append").save)
        _expect(client.queue("jobs").counts().waiting, rows)
    return rows / seconds


def work_by_spark(spark: SparkSession, url: str, rows: int) -> float:
    """Return the jobs per second of `score` on executors, in batches."""
    namespace = _filled(url, rows)
    job_log: Any = None

    def run() -> None:
        nonlocal job_log
        job_log = work(
            spark, QUEUE, score, frame="pandas", batch=2000, url=url, namespace=namespace
        )

    seconds = seconds_of(run)
    _expect(job_log.completed, rows)
    return rows / seconds


def work_by_row(url: str, rows: int) -> float:
    """Return the jobs per second of the same function in one worker process, row by row."""
    namespace = _filled(url, rows, task="score_one")
    command = [sys.executable, "-m", "headrace", "work", "benchmarks.pipeline.scoring:app"]
    environment = {**os.environ, "BENCH_URL": url, "BENCH_NAMESPACE": namespace}
    with (
        headrace.connect(url, namespace=namespace) as client,
        subprocess.Popen(
            [*command, "--processes", "1"], env=environment, stderr=subprocess.DEVNULL
        ) as worker,
    ):
        try:
            queue = client.queue(QUEUE)
            _wait(worker, lambda: queue.counts().complete > 0)
            first = queue.counts().complete
            seconds = seconds_of(lambda: _wait(worker, lambda: queue.counts().complete >= rows))
        finally:
            worker.terminate()
    return (rows - first) / seconds


def _filled(url: str, rows: int, task: str | None = None) -> str:
    namespace = _fresh()
    data: list[Any] = [{"customer": i % 1000, "cents": i * 7919 % 20_000} for i in range(rows)]
    if task:
        data = [{"task": task, "args": row} for row in data]
    with headrace.connect(url, namespace=namespace) as client:
        client.queue(QUEUE).put_many(data)
    return namespace


def _fresh() -> str:
    return f"bench-{uuid4().hex[:8]}"


def seconds_of(act: Callable[[], Any]) -> float:
    """Return the duration of a call."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _wait(worker: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended with exit code {worker.returncode}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"the jobs did not finish within {TIMEOUT:.0f} seconds")
        time.sleep(0.01)


def _expect(found: int, wanted: int) -> None:
    if found != wanted:
        raise AssertionError(f"{found:,} jobs instead of {wanted:,}")
