"""Where tests of headrace.spark.work put their jobs, and how they see what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import headrace
from headrace import Client, Job
from headrace.spark import Running, Tally, work


class Workplace:
    """A namespace of its own, and work on its queues."""

    def __init__(self, spark: Any, client: Client, url: str) -> None:
        self.client = client
        self._spark = spark
        self.url = url
        self._begun: list[Running] = []

    def work(self, queue: str, function: Any, **options: Any) -> Tally:
        """Until the queue is empty."""
        found = work(self._spark, queue, function, **self._place(), **options)
        assert isinstance(found, Tally)
        return found

    def begin(self, queue: str, function: Any, **options: Any) -> Running:
        """Until it is stopped."""
        running = work(self._spark, queue, function, until="stopped", **self._place(), **options)
        self._begun.append(running)
        return running

    def _place(self) -> dict[str, Any]:
        return {"url": self.url, "namespace": self.client.core.namespace}

    def put(self, queue: str, count: int, **options: Any) -> list[str]:
        """Jobs whose ids are their numbers, and their data too."""
        ids = [f"{queue}-{n}" for n in range(count)]
        puts = [headrace.Put({"n": n}, id=ids[n], **options) for n in range(count)]
        self.client.queue(queue).put_many(puts)
        return ids

    def job(self, job_id: str) -> Job:
        found = self.client.job(job_id)
        assert found is not None
        return found

    def failure_of(self, job_id: str) -> tuple[str, str, str]:
        """The state of a job that failed, with the type and the message of its failure."""
        job = self.job(job_id)
        assert job.failure is not None
        return job.state, job.failure.type, job.failure.message

    def results(self, ids: list[str]) -> list[Any]:
        return [self.client.result(job_id).value for job_id in ids]

    def completions(self) -> Counter[str]:
        """How often each job was completed."""
        return Counter(event.job_id for event in self.client.events() if event.kind == "completed")

    def end(self) -> None:
        """Nothing runs on."""
        for running in self._begun:
            running.stop()
        for running in self._begun:
            running.wait()

    def check(self) -> None:
        """Nobody works any more, and the books balance."""
        assert self.client.workers.list() == []
        assert self.client.audit().problems == []


@contextmanager
def workplace(spark: Any, url: str, shards: int | None = None) -> Iterator[Workplace]:
    """A namespace on a server."""
    with headrace.connect(url, namespace=f"test-{uuid4().hex[:12]}", shards=shards) as client:
        place = Workplace(spark, client, url)
        try:
            yield place
        finally:
            place.end()
