"""What a worker hears: that work has come to its queues, and that jobs were taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.client.core import Core
from headrace.client.holdings import Proof
from headrace.client.listening import Station
from headrace.client.talk import Talk
from headrace.client.talks.holding import LOOK_EVERY, Taken, missed, read_taken
from headrace.worker.sources import Sources

EARLY = 1000


class Hands:
    """Which jobs are in a worker's hands; told as soon as one is taken from it."""

    def __init__(self, worker: str, on_taken: Callable[[Any, str], None]) -> None:
        self.worker = worker
        self._on_taken = on_taken
        self._held: dict[Proof, Any] = {}
        self._early: dict[Proof, str] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, proof: Proof, job: Any) -> bool:
        """Takes a job in hand, unless it was taken away before the answer of the pop was here."""
        if self._early and self._early.pop(proof, None) is not None:
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
        self._early[proof] = why
        if len(self._early) > EARLY:
            del self._early[next(iter(self._early))]


def station_of(core: Core, sources: Sources, queues: Iterable[str], hands: Hands) -> Station[Taken]:
    """What is listened to: the channels of the queues and of the worker, on every shard."""
    shards = range(core.shards)
    work = {
        core.channel(shard, "queue", queue): (queue, shard) for queue in queues for shard in shards
    }
    by_name = {channel: source for (_, channel), source in work.items()}
    mine = [core.channel(shard, "worker", hands.worker) for shard in shards]

    def read(channel: str, message: bytes) -> Iterable[Taken]:
        source = by_name.get(channel)
        if source is None:
            return read_taken(channel, message)
        sources.wake(*source)
        return [WORK]

    def check() -> Talk[list[Taken]]:
        sources.wake_all()
        return [WORK, *(yield from missed(core, hands))]

    return Station(core, [*work, *mine], read, check, wait=LOOK_EVERY)


# Stands for "there may be work": about no job of ours.
WORK: Taken = ("", ("", ""))
