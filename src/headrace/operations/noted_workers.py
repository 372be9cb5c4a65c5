"""Record, list and forget workers that have no session, such as workers of the qless API."""

from __future__ import annotations

from headrace.engine.call import build
from headrace.engine.check import text
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.requests import ask_one, unchanged
from headrace.transport.drive import Operation

PAGE = 1000


def note_worker(core: Core, worker: str) -> Operation[None]:
    """Record that a worker is alive, so that it stays listed for the time in `worker_age`."""
    call = build("note_worker", int, worker=worker)
    yield from ask_one(core, core.shard_of(worker), call)


def noted_workers(client: ClientLike) -> Operation[list[str]]:
    """Return the recorded workers; on each shard, the worker with the newest call comes first."""
    core = client.core
    found: list[str] = []
    for shard in range(core.shards):
        offset, page = 0, [b""]
        while page:
            call = build("noted_workers", unchanged, offset=offset, count=PAGE)
            page = yield from ask_one(core, shard, call)
            found += [name.decode() for name in page]
            offset += len(page)
    return found


def forget_workers(client: ClientLike, *workers: str) -> Operation[None]:
    """Remove workers from the list of recorded workers; ignore unknown workers."""
    core = client.core
    for worker in workers:
        name = text("worker", worker, core.limits.name)
        call = build("forget_workers", int, [(name,)])
        yield from ask_one(core, core.shard_of(name), call)
