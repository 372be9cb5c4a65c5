"""What a worker hears: that work has come to its queues, and that jobs were taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from headrace.engine.record import decode_record, text_bytes
from headrace.operations.core import Core
from headrace.operations.held_leases import Proof
from headrace.operations.lease_watch import LOOK_EVERY, Taken, missed, read_taken
from headrace.operations.listening import ListeningState
from headrace.operations.popping import Popped
from headrace.operations.requests import raw
from headrace.operations.values import payload_of
from headrace.transport.drive import Operation
from headrace.worker.sources import Sources

EARLY = 1000


class Hands:
    """Which jobs are in a worker's hands; told as soon as one is taken from it."""

    def __init__(self, worker: str, on_taken: Callable[[Any, str], None]) -> None:
        self.worker = worker
        self._on_taken = on_taken
        self._held: dict[Proof, Any] = {}
        self._early: dict[Proof, str] = {}

    def add(self, proof: Proof, job: Any) -> bool:
        """Takes a job in hand, unless it was taken away before we heard that we have it."""
        if proof in self._held or (self._early and self._early.pop(proof, None) is not None):
            return False
        self._held[proof] = job
        return True

    def drop(self, proof: Proof) -> bool:
        """Lets go of a job; False if it was taken before."""
        return self._held.pop(proof, None) is not None

    def every(self) -> list[Any]:
        return list(self._held.values())

    def proofs(self) -> list[Proof]:
        return list(self._held)

    def expects(self, proof: Proof) -> bool:
        return proof in self._held

    def take(self, why: str, proof: Proof) -> None:
        """A job was taken away."""
        job = self._held.pop(proof, None)
        if job is not None:
            self._on_taken(job, why)
            return
        self.refuse(proof, why)

    def refuse(self, proof: Proof, why: str) -> None:
        """Whoever says later that we have this job is not believed."""
        self._early[proof] = why
        if len(self._early) > EARLY:
            del self._early[next(iter(self._early))]


def station_of(
    core: Core,
    sources: Sources,
    queues: Iterable[str],
    hands: Hands,
    handed: Callable[[Popped], None],
    doubt: Callable[[], None],
) -> ListeningState[Taken]:
    """What is listened to: the channels of the queues and of the worker, on every shard.

    When notices may have been missed, there is doubt whether we know all that we hold.
    """
    shards = range(core.shards)
    work = {
        core.channel(shard, "queue", queue): (queue, shard) for queue in queues for shard in shards
    }
    by_name = {channel: source for (_, channel), source in work.items()}
    mine = [core.channel(shard, "worker", hands.worker) for shard in shards]

    def read(channel: str, message: bytes) -> Iterable[Taken]:
        source = by_name.get(channel)
        if source is None:
            popped = read_handed(message)
            if popped is None:
                return read_taken(channel, message)
            handed(popped)
            return [WORK]
        sources.wake(*source)
        return [WORK]

    def check() -> Operation[list[Taken]]:
        sources.wake_all()
        doubt()
        return [WORK, *(yield from missed(core, hands))]

    return ListeningState(core, [*work, *mine], read, check, wait=LOOK_EVERY)


def read_handed(message: bytes) -> Popped | None:
    """The job that a message hands over, if it does."""
    try:
        word, job_id, packed = msgspec.msgpack.decode(message, type=tuple[str, str, msgspec.Raw])
        if word != "handed":
            return None
        record = decode_record(text_bytes(packed))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Whoever may publish may say anything.
        return None
    return Popped(job_id, record, text_bytes(packed), payload_of(record, b""))


def held_jobs(core: Core, worker: str, known: set[str]) -> Operation[list[Popped]]:
    """What the server says that a worker holds, but for those that are known; without payloads."""
    shards = range(core.shards)
    lists = yield from raw(
        core, [(shard, ("ZRANGE", core.key(shard, f"held:{worker}"), 0, -1)) for shard in shards]
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
        core, [(shard, ("GET", core.key(shard, f"job:{job_id}"))) for shard, job_id in unknown]
    )
    found = [
        Popped(job_id, decode_record(packed), packed, b"")
        for (_, job_id), packed in zip(unknown, records, strict=True)
        if packed is not None
    ]
    return [
        popped
        for popped in found
        if popped.record.worker == worker and popped.record.state == "running"
    ]


# Stands for "there may be work": about no job of ours.
WORK: Taken = ("", ("", ""))
