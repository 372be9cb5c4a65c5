"""beanstalkd through greenstalk, a client alone; as a program the loop that goes around it."""

from __future__ import annotations

import json
import os
import threading
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import greenstalk

from benchmarks.rivals import blocking


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
        blocking.TASKS[said["task"]](**said["call"])
        client.delete(job)


def main() -> None:
    """As many threads as jobs at once, each with a connection of its own."""
    for _ in range(int(os.environ.get("BENCH_CONCURRENCY", "1")) - 1):
        threading.Thread(target=work, daemon=True).start()
    work()


if __name__ == "__main__":
    main()
