"""The process whose calls are counted: run as a script, on the sources named by PYTHONPATH.

It uses the public API only, so that the same file measures two versions of the package. It
reports each step on stdout and waits for a line on stdin before it goes on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import headrace

PAYLOAD = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
WORKER = "worker-1"
LEASE = 3600


def main(url: str, warm_up: int, calls: int) -> None:
    """Run every operation `warm_up` times uncounted, then `calls` times counted."""
    # The client does not spin while it waits for a reply if the process has a second thread.
    # How long it spins depends on the time, so spinning would make the counts vary.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with headrace.connect(url, namespace="instructions") as client:
        plain, optional = client.queue("plain"), client.queue("optional")
        held: list[headrace.Lease] = []

        def measure(name: str, call: Callable[[], object]) -> None:
            for _ in range(warm_up):
                call()
            report(f"ready {name}")
            for _ in range(calls):
                call()
            report("done")

        measure("nothing", lambda: None)
        measure("put", lambda: plain.put(PAYLOAD))
        measure(
            "put with options",
            lambda: optional.put(PAYLOAD, priority=5, tags=["mail", "nightly"], retries=3),
        )
        measure("pop", lambda: held.extend(plain.pop(WORKER, lease=LEASE)))
        measure("complete", lambda: held.pop().complete())


def report(step: str) -> None:
    """Write a step to stdout and wait until the parent process answers."""
    print(step, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
