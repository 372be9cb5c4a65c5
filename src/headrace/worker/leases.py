"""Track and renew the leases of a worker, and handle leases that the worker has lost.

This module serves workers; operations/held_leases.py tracks the leases that user code holds.
Workers differ from user code in two ways. One event loop owns all jobs of a worker and keeps strong
references to these jobs. And the server can hand over jobs to a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from headrace.client.client import AsyncClient, Client
from headrace.client.lease import Lease
from headrace.engine import keys
from headrace.engine.record import decode_record, text_bytes
from headrace.errors import ServerUnavailable
from headrace.operations.batches import Row, in_batches
from headrace.operations.channel_listener import ListeningState
from headrace.operations.core import Core
from headrace.operations.finishing import heartbeat_call
from headrace.operations.held_leases import Proof
from headrace.operations.lease_watch import (
    CHECK_EVERY,
    LostLease,
    find_lost_leases,
    read_lease_notice,
)
from headrace.operations.popping import Popped
from headrace.operations.requests import raw
from headrace.operations.values import payload_of
from headrace.transport.drive import Operation, drive
from headrace.worker.sources import QueueSources

# The maximum number of stored loss notices for jobs that have not arrived yet.
MOST_EARLY = 1000
# How often a lease is renewed within its length, and a session within its TTL.
RENEWALS = 3
# A list of lost leases contains this value for each notice of new work. The reason, job id and
# token are empty, because such a notice does not concern a held job.
WORK_NOTICE: LostLease = ("", ("", ""))


class WorkerLeases:
    """Holds the jobs of a worker by id and token, and reports each lost lease once."""

    def __init__(self, worker: str, on_lost: Callable[[Any, str], None]) -> None:
        self.worker = worker
        self._on_lost = on_lost
        self._held: dict[Proof, Any] = {}
        self._early: dict[Proof, str] = {}

    def add(self, proof: Proof, job: Any) -> bool:
        """Hold a job; return False if the job is already held or its lease is already lost."""
        if proof in self._held or (self._early and self._early.pop(proof, None) is not None):
            return False
        self._held[proof] = job
        return True

    def remove(self, proof: Proof) -> bool:
        """Stop holding a job; return False if its lease is already lost."""
        return self._held.pop(proof, None) is not None

    def jobs(self) -> list[Any]:
        """Return the held jobs."""
        return list(self._held.values())

    def proofs(self) -> list[Proof]:
        """Return the id and the token of every held job."""
        return list(self._held)

    def expects(self, proof: Proof) -> bool:
        """Return whether this job is held with this token."""
        return proof in self._held

    def lose(self, reason: str, proof: Proof) -> None:
        """Stop holding a job whose lease the server ended, and report the loss."""
        job = self._held.pop(proof, None)
        if job is not None:
            self._on_lost(job, reason)
        else:
            self.ignore_later(proof, reason)

    def ignore_later(self, proof: Proof, reason: str) -> None:
        """Ignore any later hand-over notice or pop reply for this job and token."""
        self._early[proof] = reason
        if len(self._early) > MOST_EARLY:
            del self._early[next(iter(self._early))]


def worker_notices(
    core: Core,
    sources: QueueSources,
    queues: Iterable[str],
    leases: WorkerLeases,
    shards: Collection[int],
    on_hand_over: Callable[[Popped], None],
    on_gap: Callable[[], None],
) -> ListeningState[LostLease]:
    """Return the state of a subscription to the queues' channels and the worker's own channel.

    The subscription covers these shards. `on_gap` is called when the worker may have missed
    notices. In a missed notice, the server may have handed over a job that the worker does not know
    about.
    """
    work = {
        core.channel(shard, keys.queue_channel, queue): (queue, shard)
        for queue in queues
        for shard in shards
    }
    by_name = {channel: source for (_, channel), source in work.items()}
    own = [core.channel(shard, keys.worker_channel, leases.worker) for shard in shards]

    def read(channel: str, message: bytes) -> Iterable[LostLease]:
        if source := by_name.get(channel):
            sources.wake(*source)
        elif popped := read_hand_over(message):
            on_hand_over(popped)
        else:
            return read_lease_notice(channel, message)
        return [WORK_NOTICE]

    def check() -> Operation[list[LostLease]]:
        sources.wake_all(shards)
        on_gap()
        return [WORK_NOTICE, *(yield from find_lost_leases(core, leases, shards))]

    return ListeningState(core, [*work, *own], read, check, wait=CHECK_EVERY)


def read_hand_over(message: bytes) -> Popped | None:
    """Return the job that a message hands over, or None if the message hands over no job."""
    try:
        kind, job_id, packed = msgspec.msgpack.decode(message, type=tuple[str, str, msgspec.Raw])
        if kind != "handed":
            return None
        record = decode_record(text_bytes(packed))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Any client with permission to publish can send anything on this channel.
        return None
    return Popped(job_id, record, text_bytes(packed), payload_of(record, b""))


def held_jobs(
    core: Core, worker: str, known: set[str], shards: Collection[int]
) -> Operation[list[Popped]]:
    """Return the jobs that a worker holds according to these shards, except the known jobs.

    The returned jobs have no payloads.
    """
    lists = yield from raw(
        core, [(shard, ("ZRANGE", core.key(shard, keys.held(worker)), 0, -1)) for shard in shards]
    )
    unknown = [
        (shard, job_id)
        for shard, members in zip(shards, lists, strict=True)
        for job_id in (member.partition(b"\0")[2].decode() for member in members)
        if job_id not in known
    ]
    if not unknown:
        return []
    records = yield from raw(
        core, [(shard, ("GET", core.key(shard, keys.job(job_id)))) for shard, job_id in unknown]
    )
    return [
        Popped(job_id, record, packed, b"")
        for (_, job_id), packed in zip(unknown, records, strict=True)
        if packed is not None
        and (record := decode_record(packed)).worker == worker
        and record.state == "running"
    ]


def end_dead_worker(client: Client, worker: str, started: set[str] | None) -> None:
    """Release the jobs that a dead worker had not started, then end the worker's session.

    Each started job loses a retry, so that a poison job runs out of retries. If `started` is None,
    all jobs count as started. On an unreachable shard, the session expires instead.
    """
    core = client.core
    for shard in range(core.shards) if started is not None else ():
        with suppress(ServerUnavailable):
            held = drive(core.transport, held_jobs(core, worker, started or set(), [shard]))
            client.leases.release([Lease(core, popped) for popped in held], position="front")
    client.workers.end(worker)


async def lease_lengths(client: AsyncClient, queues: list[str]) -> dict[str, float]:
    """Return the lease length of each queue whose leases do not depend on the session."""
    found = {}
    for name in queues:
        settings = await client.queue(name).settings()
        lease = settings["lease"]
        if settings["session"] == "none" and isinstance(lease, float | int):
            found[name] = float(lease)
    return found


def renew_leases(core: Core, held: list[Popped]) -> Operation[None]:
    """Renew the leases of these jobs.

    The replies are ignored, because the server sends a notice for each lease that the worker loses.
    """
    rows: list[Row] = [(popped.id, popped.record.token, b"") for popped in held]
    if rows:
        yield from in_batches(core, rows, lambda part: heartbeat_call(part, None))
