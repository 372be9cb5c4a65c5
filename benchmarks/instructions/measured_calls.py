"""The process whose calls are counted: run as a script, on the sources named by PYTHONPATH.

The script uses only the public API, so the same file measures two versions of the package. The
script reports each step on stdout and waits for a line on stdin before the next step.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import headrace

PAYLOAD = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
WORKER = "worker-1"
LEASE = 3600
BATCH, BATCHES = 100, 4
OPTIONS: dict[str, Any] = {"priority": 5, "tags": ["mail", "nightly"], "retries": 3}


def main(url: str, warm_up: int, calls: int) -> None:
    """Run every operation `warm_up` times uncounted, then `calls` times counted."""
    # Spinning while the client waits for a reply would make the counts vary, because the number
    # of polls depends on the time. In a process with a second thread, the client does not spin.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with headrace.connect(url, namespace="instructions") as client:
        plain, optional = client.queue("plain"), client.queue("optional")
        held: list[headrace.Lease] = []

        def measure(name: str, call: Callable[[], object], jobs: int = 1) -> None:
            for _ in range(max(1, warm_up // jobs)):
                call()
            # A full garbage collection executes 20 million instructions, because it visits every
            # object of the program. It must not run during the counted calls of one version only.
            gc.collect()
            gc.freeze()
            # Batches are few, so each of them counts more if the server collects garbage.
            counted = calls if jobs == 1 else max(1, BATCHES * calls // jobs)
            report(f"ready {counted * jobs} {name}")
            for _ in range(counted):
                call()
            report("done")

        measure("nothing", lambda: None)
        measure("put", lambda: plain.put(PAYLOAD))
        measure("put with options", lambda: optional.put(PAYLOAD, **OPTIONS))
        measure("pop", lambda: held.extend(plain.pop(WORKER, lease=LEASE)))
        measure("complete", lambda: held.pop().complete())
        many = [PAYLOAD] * BATCH
        measure("put, in batches", lambda: plain.put_many(many), BATCH)
        measure("put with options, in batches", lambda: optional.put_many(many, **OPTIONS), BATCH)
        measure("pop, in batches", lambda: held.extend(plain.pop(WORKER, count=BATCH)), BATCH)
        measure(
            "complete, in batches",
            lambda: client.leases.complete([held.pop() for _ in range(BATCH)]),
            BATCH,
        )
        limited = client.queue("limited")
        limited.configure(key_concurrency=2 * (warm_up + calls), fair=True)
        measure("put with a key under limits", lambda: limited.put(PAYLOAD, key="customer"))
        measure(
            "pop with a key under limits",
            lambda: held.extend(limited.pop(WORKER, lease=LEASE)),
        )
        measure("complete with a key under limits", lambda: held.pop().complete())


def report(step: str) -> None:
    """Write a step to stdout and wait until the parent process answers."""
    print(step, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
