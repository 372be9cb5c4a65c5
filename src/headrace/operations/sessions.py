"""Start, renew and end the sessions of workers, and list the workers that have a session."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from headrace.engine.call import build, session_answer
from headrace.engine.check import Span, milliseconds, page, text
from headrace.engine.timestamps import moment
from headrace.errors import SessionEnded
from headrace.operations.paging import pages_of_script
from headrace.operations.protocols import ClientLike, SessionLike
from headrace.operations.requests import ask_all, ask_one
from headrace.operations.values import Worker
from headrace.transport.drive import Operation

# The default time, in seconds, after which a session lapses unless it is renewed.
TTL = 3.0


def start(client: ClientLike, worker: str, *, ttl: Span | None = TTL) -> Operation[str]:
    """Start a session and return its token; see Client.session."""
    core = client.core
    text("worker", worker, core.limits.name)
    token = os.urandom(12).hex()
    call = build(
        "session_start",
        int,
        worker=worker,
        token=token,
        ttl=-1 if ttl is None else milliseconds("ttl", ttl),
        about=f"{socket.gethostname()} pid {os.getpid()}",
    )
    for shard in range(core.shards):
        while not (yield from ask_one(core, shard, call)):
            pass
    return token


def renew(session: SessionLike) -> Operation[float | None]:
    """Renew the session; return the seconds until it lapses, or None if it never lapses.

    Raises SessionEnded if the session has lapsed or was ended.

        seconds = session.renew()
    """
    core = session.core
    call = build(
        "session_renew",
        session_answer(session.worker),
        worker=session.worker,
        token=session.token,
    )
    replies = yield from ask_all(core, call)
    ttl = min(replies)
    return None if ttl < 0 else ttl / 1000


def serve(session: SessionLike, queue: str) -> Operation[int]:
    """Register that this worker serves a queue; return the number of waiting jobs in the queue.

    Raises SessionEnded if the session has lapsed or was ended.

        waiting = session.serve("mail")
    """
    return sum((yield from _ask_about_queue(session, "session_serve", queue)))


def unserve(session: SessionLike, queue: str) -> Operation[None]:
    """Stop serving a queue, and return the worker's jobs of this queue to the front of the queue.

    Raises SessionEnded if the session has lapsed or was ended.

        session.unserve("mail")
    """
    while not all((yield from _ask_about_queue(session, "session_unserve", queue))):
        pass


def _ask_about_queue(session: SessionLike, op: str, queue: str) -> Operation[list[int]]:
    core = session.core
    call = build(
        op,
        session_answer(session.worker),
        worker=session.worker,
        token=session.token,
        queue=text("queue", queue, core.limits.name),
    )
    return (yield from ask_all(core, call))


def end(session: SessionLike) -> Operation[None]:
    """End the session; jobs that the worker holds return to the front of their queues.

    Raises SessionEnded if the session has lapsed or was already ended.

        session.end()
    """
    yield from _end(session.core, session.worker, session.token)


def end_by_name(client: ClientLike, worker: str) -> Operation[None]:
    """End the session of a worker as an operator, as if the worker had died.

    Raises SessionEnded if the worker has no session.

        client.workers.end("worker-3")
    """
    text("worker", worker, client.core.limits.name)
    yield from _end(client.core, worker, "")


def _end(core: Any, worker: str, token: str) -> Operation[None]:
    call = build("session_end", session_answer(worker), worker=worker, token=token)
    ended = 0
    for shard in range(core.shards):
        try:
            while not (yield from ask_one(core, shard, call)):
                pass
            ended += 1
        except SessionEnded:
            # Another client may have ended the session on this shard, but the session may still
            # exist on other shards.
            continue
    if not ended:
        raise SessionEnded(worker)


def workers(client: ClientLike, *, offset: int = 0, count: int = 100) -> Operation[list[Worker]]:
    """Return a page of the workers that have a session, sorted by name.

    The field `jobs` is the number of jobs that the worker holds.

    Raises InvalidArgument if `offset` or `count` is out of range.

        for worker in client.workers.list():
            print(worker.name, worker.queues, worker.jobs)
    """
    core = client.core
    offset, count = page(offset, count)
    rows: list[list[Any]] = []
    # Read all pages and sort by name here: the server sorts workers by the end of their sessions.
    for shard in range(core.shards):
        rows += chain.from_iterable((yield from pages_of_script(core, shard, "workers")))
    return merged_workers(rows)[offset : offset + count]


def merged_workers(rows: Iterable[list[Any]]) -> list[Worker]:
    """Merge the rows of all shards into one Worker per name, sorted by name."""
    found: dict[str, Worker] = {}
    for row in rows:
        worker = _worker(row)
        known = found.get(worker.name)
        found[worker.name] = replace(worker, jobs=worker.jobs + (known.jobs if known else 0))
    return [found[name] for name in sorted(found)]


def _worker(row: list[Any]) -> Worker:
    name, left, started, about, queues, jobs = row
    return Worker(
        name=name.decode(),
        expires_in=None if left < 0 else left / 1000,
        started=moment(int(started)) if started else None,
        about=about.decode(),
        queues=sorted(queue.decode() for queue in queues),
        jobs=jobs,
    )


def default_worker_name() -> str:
    """Return a worker name made of host and process id, such as web1-4711."""
    return f"{socket.gethostname()}-{os.getpid()}"
