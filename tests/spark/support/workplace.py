"""A namespace for tests of headrace.spark.work, with helpers to put and inspect jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import headrace
from headrace import Client, Job
from headrace.spark import WorkCounts, WorkRun, work


class Workplace:
    """A new namespace, with methods that start runs on its queues."""

    def __init__(self, spark: Any, client: Client, url: str) -> None:
        self.client = client
        self._spark = spark
        self.url = url
        self._begun: list[WorkRun] = []

    def work(self, queue: str, function: Any, **options: Any) -> WorkCounts:
        """Run `work` until the queue is empty."""
        found = work(self._spark, queue, function, **self._place(), **options)
        assert isinstance(found, WorkCounts)
        return found

    def begin(self, queue: str, function: Any, **options: Any) -> WorkRun:
        """Start a run of `work` that continues until the test stops the run."""
        running = work(self._spark, queue, function, until="stopped", **self._place(), **options)
        self._begun.append(running)
        return running

    def _place(self) -> dict[str, Any]:
        return {"url": self.url, "namespace": self.client.core.namespace}

    def put(self, queue: str, count: int, **options: Any) -> list[str]:
        """Put jobs that have their number in their id and data."""
        ids = [f"{queue}-{n}" for n in range(count)]
        puts = [headrace.Put({"n": n}, id=ids[n], **options) for n in range(count)]
        self.client.queue(queue).put_many(puts)
        return ids

    def job(self, job_id: str) -> Job:
        found = self.client.job(job_id)
        assert found is not None
        return found

    def failure_of(self, job_id: str) -> tuple[str, str, str]:
        """Return the state, failure type and message of a failed job."""
        job = self.job(job_id)
        assert job.failure is not None
        return job.state, job.failure.type, job.failure.message

    def results(self, ids: list[str]) -> list[Any]:
        return [self.client.result(job_id).value for job_id in ids]

    def completions(self) -> Counter[str]:
        """Return how often each job was completed."""
        return Counter(event.job_id for event in self.client.events() if event.kind == "completed")

    def end(self) -> None:
        """Stop all runs."""
        for running in self._begun:
            running.stop()
        for running in self._begun:
            running.wait()

    def check(self) -> None:
        """Fail if a worker is still registered or the books do not balance."""
        assert self.client.workers.list() == []
        assert self.client.audit().problems == []


@contextmanager
def workplace(spark: Any, url: str, shards: int | None = None) -> Iterator[Workplace]:
    """Open a new namespace on a server."""
    with headrace.connect(url, namespace=f"test-{uuid4().hex[:12]}", shards=shards) as client:
        place = Workplace(spark, client, url)
        try:
            yield place
        finally:
            place.end()
