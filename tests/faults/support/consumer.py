"""A process of five workers that take and complete jobs until it is killed.

The arguments of the program are the URL, the namespace, the name of the process, and the file in
which the process records completed jobs.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

import headrace
from headrace import Client, Session

THREADS = 5
TTL = 2.0


def main() -> None:
    """Work until killed."""
    url, namespace, name, notes = sys.argv[1:]
    hr = headrace.connect(url, namespace=namespace)
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(THREADS):
        threading.Thread(target=work, args=(hr, f"{name}.{number}", file)).start()


def work(hr: Client, worker: str, notes: int) -> None:
    """Run one worker, which starts a new session whenever one ends."""
    while True:
        session = hr.session(worker, ttl=TTL)
        ended = threading.Event()
        threading.Thread(target=keep_alive, args=(session, ended), daemon=True).start()
        with suppress(headrace.SessionRequired):
            session.serve("work")
            while not ended.is_set():
                for lease in hr.queue("work").pop(worker, count=5, wait=1):
                    with suppress(headrace.LeaseLost):
                        if lease.complete() == "complete":
                            os.write(notes, f"{lease.id}\n".encode())


def keep_alive(session: Session, ended: threading.Event) -> None:
    """Renew a session until it is lost."""
    with suppress(headrace.SessionEnded):
        while not ended.wait(TTL / 6):
            session.renew()
    ended.set()


if __name__ == "__main__":
    main()
