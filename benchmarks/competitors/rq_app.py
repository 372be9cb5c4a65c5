"""RQ without results. Run as a script, this module is an RQ worker.

The worker forks for every job, or runs jobs in its own process. It imports the tasks beforehand,
as RQ's documentation recommends.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from redis import Redis
from rq import Queue, SimpleWorker, Worker
from rq.worker_pool import WorkerPool

from benchmarks.competitors import sync_tasks

connection = Redis.from_url(os.environ["BENCH_URL"])
queue = Queue("bench", connection=connection)
# A job with a result TTL of 0 is deleted when it finishes.
KEPT = 0


def put(task: str, call: dict[str, Any]) -> None:
    queue.enqueue_call(sync_tasks.TASKS[task], kwargs=call, result_ttl=KEPT)


def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    function = sync_tasks.TASKS[task]
    queue.enqueue_many(
        [Queue.prepare_data(function, kwargs=call, result_ttl=KEPT) for call in calls]
    )


def work(kind: str, processes: int) -> None:
    worker_class = {"fork": Worker, "simple": SimpleWorker}[kind]
    if processes == 1:
        worker_class([queue], connection=connection).work(logging_level="WARNING")
    else:
        pool = WorkerPool([queue], connection, processes, worker_class=worker_class)
        pool.start(logging_level="WARNING")


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
