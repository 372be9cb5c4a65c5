"""Start, renew and end the sessions of workers, and list the workers that have a session."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, session_answer
from headrace.engine.check import Span, milliseconds, page, text
from headrace.engine.timestamps import moment
from headrace.errors import ServerUnavailable, SessionEnded
from headrace.operations.core import Core
from headrace.operations.paging import pages_of_script
from headrace.operations.protocols import ClientLike, SessionLike
from headrace.operations.requests import ask, ask_one, raw
from headrace.operations.values import Worker
from headrace.transport.drive import Operation

# The default time, in seconds, after which a session lapses unless it is renewed.
TTL = 3.0


def start(client: ClientLike, worker: str, *, ttl: Span | None = TTL) -> Operation[str]:
    """Start a session and return its token; see Client.session."""
    core = client.core
    text("worker", worker, core.limits.name)
    token = os.urandom(12).hex()
    ttl_ms = -1 if ttl is None else milliseconds("ttl", ttl)
    for shard in range(core.shards):
        yield from _start_on(core, shard, worker, token, ttl_ms)
    return token


def _start_on(core: Core, shard: int, worker: str, token: str, ttl_ms: int) -> Operation[None]:
    """Start a session on one shard.

    If the shard still has a session with this token, the worker keeps its leases.
    """
    about = f"{socket.gethostname()} pid {os.getpid()}"
    started = 0
    while not started:
        call = build("session_start", int, worker=worker, token=token, ttl=ttl_ms, about=about)
        started = yield from ask_one(core, shard, call)


def _renewal(worker: str, token: str) -> Call[int | None]:
    """Return a call that renews a session; its answer is the TTL, or None if the session ended."""
    return build(
        "session_renew",
        lambda reply: None if is_refusal(reply) else int(reply),
        worker=worker,
        token=token,
    )


def renew(session: SessionLike) -> Operation[float | None]:
    """Renew the session; return the seconds until it lapses, or None if it never lapses.

    If the session has ended on some shards only, it starts again on these shards. Raises
    SessionEnded if the session has ended on every shard.

        seconds = session.renew()
    """
    core, worker, token = session.core, session.worker, session.token
    calls = [(shard, _renewal(worker, token)) for shard in range(core.shards)]
    # While the client repeats a call to an unreachable shard, it also renews the other shards.
    answers = yield from ask(core, calls, repeat_all=True)
    alive = {shard: ttl for shard, ttl in enumerate(answers) if ttl is not None}
    if not alive:
        raise SessionEnded(worker)
    ttl = min(alive.values())
    if len(alive) < core.shards:
        served = core.key(min(alive), keys.serves(worker))
        [queues] = yield from raw(core, [(min(alive), ("ZRANGE", served, 0, -1))])
        for shard in range(core.shards):
            if shard not in alive:
                yield from _start_on(core, shard, worker, token, ttl)
                for queue in queues:
                    yield from _ask_about_queue(session, "session_serve", queue.decode(), [shard])
    return None if ttl < 0 else ttl / 1000


class KeptSession:
    """A session that its owner keeps alive on each shard independently.

    `started` has the shards on which the session has started.
    """

    def __init__(self, core: Core, worker: str, ttl: float, queues: Sequence[str]) -> None:
        self.core = core
        self.worker = worker
        self.token = os.urandom(12).hex()
        self.ttl_ms = milliseconds("ttl", ttl)
        self.queues = queues
        self.started: set[int] = set()


def keep(core: Core, shard: int, kept: Sequence[KeptSession]) -> Operation[list[KeptSession]]:
    """Renew sessions on one shard, and start those that have not started there or have ended.

    Return the sessions that had ended.
    """
    running = [session for session in kept if shard in session.started]
    calls = [(shard, _renewal(session.worker, session.token)) for session in running]
    answers = yield from ask(core, calls)
    ended = [session for session, ttl in zip(running, answers, strict=True) if ttl is None]
    for session in ended:
        session.started.discard(shard)
    for session in kept:
        if shard not in session.started:
            yield from _start_on(core, shard, session.worker, session.token, session.ttl_ms)
            for queue in session.queues:
                yield from _ask_about_queue(session, "session_serve", queue, [shard])
            session.started.add(shard)
    return ended


def serve(session: SessionLike, queue: str) -> Operation[int]:
    """Register that this worker serves a queue; return the number of waiting jobs in the queue.

    Raises SessionEnded if the session has lapsed or was ended.

        waiting = session.serve("mail")
    """
    shards = range(session.core.shards)
    return sum((yield from _ask_about_queue(session, "session_serve", queue, shards)))


def unserve(session: SessionLike, queue: str) -> Operation[None]:
    """Stop serving a queue, and return the worker's jobs of this queue to the front of the queue.

    Raises SessionEnded if the session has lapsed or was ended.

        session.unserve("mail")
    """
    shards = range(session.core.shards)
    while not all((yield from _ask_about_queue(session, "session_unserve", queue, shards))):
        pass


def _ask_about_queue(
    session: SessionLike, op: str, queue: str, shards: Iterable[int]
) -> Operation[list[int]]:
    core = session.core
    call = build(
        op,
        session_answer(session.worker),
        worker=session.worker,
        token=session.token,
        queue=text("queue", queue, core.limits.name),
    )
    return (yield from ask(core, [(shard, call) for shard in shards]))


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


def _end_call(worker: str, token: str) -> Call[int]:
    return build("session_end", session_answer(worker), worker=worker, token=token)


def _end(core: Any, worker: str, token: str) -> Operation[None]:
    """End a session on every shard, also if one of the shards is unreachable."""
    unreachable: ServerUnavailable | None = None
    ended = 0
    for shard in range(core.shards):
        try:
            while not (yield from ask_one(core, shard, _end_call(worker, token))):
                pass
            ended += 1
        except SessionEnded:
            # Another client may have ended the session on this shard, but the session may still
            # exist on other shards.
            continue
        except ServerUnavailable as error:
            unreachable = error
    if unreachable is not None:
        raise unreachable
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
