"""RQ without results; as a program its worker, which forks for every job, or runs jobs itself.

It advises a worker of one's own that imports the jobs before it begins, which this is.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from redis import Redis
from rq import Queue, SimpleWorker, Worker
from rq.worker_pool import WorkerPool

from benchmarks.rivals import blocking

connection = Redis.from_url(os.environ["BENCH_URL"])
queue = Queue("bench", connection=connection)
# A job whose result is kept for 0 seconds is deleted when it is over.
KEPT = 0


def put(task: str, call: dict[str, Any]) -> None:
    queue.enqueue_call(blocking.TASKS[task], kwargs=call, result_ttl=KEPT)


def put_many(task: str, calls: list[dict[str, Any]]) -> None:
    function = blocking.TASKS[task]
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
