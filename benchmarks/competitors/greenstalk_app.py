"""beanstalkd with the client greenstalk; run as a script, it is a worker loop."""

from __future__ import annotations

import json
import os
import threading
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import greenstalk

from benchmarks.competitors import sync_tasks


def connect() -> Any:
    place = urlsplit(os.environ["BENCH_URL"])
    return greenstalk.Client((place.hostname, place.port))


producer = cache(connect)


def put(task: str, call: dict[str, Any]) -> None:
    producer().put(json.dumps({"task": task, "call": call}))


def work() -> None:
    client = connect()
    while True:
        job = client.reserve()
        said = json.loads(job.body)
        sync_tasks.TASKS[said["task"]](**said["call"])
        client.delete(job)


def main() -> None:
    """Run one thread per concurrent job, each with its own connection."""
    for _ in range(int(os.environ.get("BENCH_CONCURRENCY", "1")) - 1):
        threading.Thread(target=work, daemon=True).start()
    work()


if __name__ == "__main__":
    main()
