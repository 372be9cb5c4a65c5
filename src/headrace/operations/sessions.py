"""Worker sessions: start, renew and end them, and list the workers that have one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from typing import Any

from headrace.engine.call import Call, build, session_answer
from headrace.engine.check import PAGE, Span, milliseconds, page, text
from headrace.engine.timestamps import moment
from headrace.errors import SessionEnded
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike, SessionLike
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Worker
from headrace.transport.drive import Operation

# The default time in seconds after which a session lapses.
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
    """Renew the session; return the seconds until it lapses, None if it never does.

    Raises SessionEnded if the session has lapsed or was ended.
    """
    core = session.core
    call = build(
        "session_renew",
        session_answer(session.worker),
        worker=session.worker,
        token=session.token,
    )
    replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    ttl = min(replies)
    return None if ttl < 0 else ttl / 1000


def serve(session: SessionLike, queue: str) -> Operation[int]:
    """Register that this worker serves a queue; return how many jobs wait there.

    Raises SessionEnded if the session has lapsed or was ended.
    """
    return sum((yield from _ask_about_queue(session, "session_serve", queue)))


def unserve(session: SessionLike, queue: str) -> Operation[None]:
    """Stop serving a queue; jobs of it that the worker holds return to the front.

    Raises SessionEnded if the session has lapsed or was ended.
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
    return (yield from ask(core, [(shard, call) for shard in range(core.shards)]))


def end(session: SessionLike) -> Operation[None]:
    """End the session; jobs that the worker holds return to the front of their queues.

    Raises SessionEnded if the session has lapsed or was already ended.
    """
    yield from _end(session.core, session.worker, session.token)


def end_by_name(client: ClientLike, worker: str) -> Operation[None]:
    """End the session of a worker as an operator, as if the worker had died.

    Raises SessionEnded if the worker has no session.
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
            # Another client may have ended it on this shard; it is unknown only if no shard has it.
            continue
    if not ended:
        raise SessionEnded(worker)


def workers(client: ClientLike, *, offset: int = 0, count: int = 100) -> Operation[list[Worker]]:
    """Return a page of the workers that have a session, sorted by name.

    `jobs` of a worker is the number of jobs that it holds.

        for worker in client.workers.list():
            print(worker.name, worker.queues, worker.jobs)
    """
    core = client.core
    offset, count = page(offset, count)
    rows: list[list[Any]] = []
    for shard in range(core.shards):
        rows += yield from _workers_of(core, shard)
    return merged_workers(rows)[offset : offset + count]


def merged_workers(rows: Iterable[list[Any]]) -> list[Worker]:
    """Merge the rows of all shards into one Worker per name, sorted by name."""
    found: dict[str, Worker] = {}
    for row in rows:
        worker = _worker(row)
        known = found.get(worker.name)
        held = worker.jobs + (known.jobs if known else 0)
        found[worker.name] = Worker(
            worker.name, worker.expires_in, worker.started, worker.about, worker.queues, held
        )
    return [found[name] for name in sorted(found)]


def _workers_of(core: Core, shard: int) -> Operation[list[list[Any]]]:
    # Read all pages: the server sorts workers by the end of their sessions, which changes often.
    found: list[list[Any]] = []
    while True:
        call: Call[list[list[Any]]] = build("workers", list, offset=len(found), count=PAGE)
        rows = yield from ask_one(core, shard, call)
        found += rows
        if len(rows) < PAGE:
            return found


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
