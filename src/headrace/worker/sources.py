"""Choose the next queue to pop from, and limit the number of jobs that a worker holds."""

from __future__ import annotations

import random
import time
from collections.abc import Container, Iterable
from dataclasses import dataclass

from headrace.operations.popping import SAFETY_POLL, divide_evenly
from headrace.worker.settings import ServedQueue

# Prefetched jobs should start within this many seconds, so that a worker hoards no slow jobs.
PREFETCH_SECONDS = 0.02
MOST_PREFETCHED = 500
SHORTEST_RUN = 1e-6
# The approximate duration of a round trip that carries a few hundred jobs.
ROUND_TRIP_SECONDS = 0.002
# The weight of the newest job in the moving average of durations.
NEWEST_WEIGHT = 0.02


@dataclass(slots=True)
class QueueShard:
    """One queue on one shard, and the earliest time at which to pop from it again."""

    queue: str
    shard: int
    pop_at: float = 0.0
    # True if the last pop returned some jobs, but fewer than requested. The next round trip that
    # sends acknowledgements then also carries a pop from this queue.
    pop_along: bool = False
    # True if a notice has arrived since the last pop began. The pop may have missed these jobs.
    woken: bool = False

    def wake(self) -> None:
        """Allow a pop at once, because jobs may have arrived."""
        self.pop_at = 0.0
        self.woken = True


class QueueSources:
    """The queues that a worker serves, on every shard.

    If a pop returns fewer jobs than requested, the worker pauses pops from that queue and shard.
    The pause ends when a notice arrives, when a job becomes due, or at the next regular poll, which
    finds jobs whose notice was lost.
    """

    def __init__(self, served: tuple[ServedQueue, ...], shards: int, *, weighted: bool) -> None:
        self._served = served
        self._weighted = weighted
        self._by_queue = {
            queue.name: [QueueShard(queue.name, shard) for shard in range(shards)]
            for queue in served
        }

    @property
    def count(self) -> int:
        """The number of queues times the number of shards."""
        return sum(map(len, self._by_queue.values()))

    def next(self, room: int, busy: Container[int] = ()) -> list[tuple[QueueShard, int]]:
        """Return pops from the first queue that may have jobs, divided among the queue's shards.

        Busy shards are left out.
        """
        now = time.monotonic()
        for name in self._order():
            ready = [
                source
                for source in self._by_queue[name]
                if source.pop_at <= now and source.shard not in busy
            ]
            if ready:
                random.shuffle(ready)
                return _begun(divide_evenly(ready, room))
        return []

    def along(self, room: int, busy: Container[int] = ()) -> list[tuple[QueueShard, int]]:
        """Return additional pops for a round trip, from the queues that the last pop emptied."""
        dry = [
            source
            for sources in self._by_queue.values()
            for source in sources
            if source.pop_along and source.shard not in busy
        ]
        return _begun(divide_evenly(dry, room)) if dry else []

    def wake(self, queue: str, shard: int) -> None:
        """Record that jobs have arrived in a queue."""
        if queue in self._by_queue:
            self._by_queue[queue][shard].wake()

    def wake_all(self, shards: Iterable[int]) -> None:
        """Allow pops from every queue on these shards, because notices may have been missed."""
        for sources in self._by_queue.values():
            for shard in shards:
                sources[shard].wake()

    def popped(self, source: QueueShard, wanted: int, count: int, due: float | None) -> None:
        """Record how many jobs a pop returned, and in how many seconds the next job becomes due."""
        source.pop_along = 0 < count < wanted
        if count < wanted and not source.woken:
            pause = SAFETY_POLL if due is None else min(due, SAFETY_POLL)
            source.pop_at = time.monotonic() + pause

    def seconds_left(self, busy: Container[int] = ()) -> float | None:
        """Return the seconds until the next pop is due if no notice arrives.

        Return None if all shards are busy.
        """
        earliest = min(
            (
                source.pop_at
                for sources in self._by_queue.values()
                for source in sources
                if source.shard not in busy
            ),
            default=None,
        )
        return None if earliest is None else max(0.0, earliest - time.monotonic())

    def _order(self) -> list[str]:
        if not self._weighted:
            return [queue.name for queue in self._served]
        # Because the sort keys are exponential random numbers, the probability that a queue comes
        # first is proportional to its weight.
        return [
            queue.name
            for queue in sorted(self._served, key=lambda queue: random.expovariate(queue.weight))
        ]


def _begun(pops: list[tuple[QueueShard, int]]) -> list[tuple[QueueShard, int]]:
    for source, _ in pops:
        source.woken = False
    return pops


class Prefetch:
    """Uses the durations of past runs to compute how many jobs a worker may hold."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._mean: float | None = None

    def finished(self, seconds: float) -> None:
        """Record the duration of a run."""
        mean = self._mean
        # Slow runs weigh ten times as much as quick runs, because hoarding slow jobs is worse than
        # popping too often.
        if mean is None or seconds > mean:
            self._mean = seconds if mean is None else mean + (seconds - mean) * 10 * NEWEST_WEIGHT
        else:
            self._mean = mean + (seconds - mean) * NEWEST_WEIGHT

    def stuck(self, seconds: float) -> None:
        """Record that no job could start for this many seconds because no run finished."""
        self._mean = max(self._mean or 0.0, seconds)

    def capacity(self) -> int:
        """Return how many jobs the worker may hold, including the running jobs."""
        concurrency, mean = self._concurrency, self._mean
        if mean is None:
            return concurrency
        prefetched = concurrency * PREFETCH_SECONDS / max(mean, SHORTEST_RUN)
        return concurrency + int(min(MOST_PREFETCHED, prefetched))

    def at_once(self) -> int:
        """Return how many jobs to request in one round trip.

        If a job runs longer than a round trip, the worker requests only jobs that can start at
        once. Otherwise these jobs would also wait for the transfer of jobs that cannot start yet.
        """
        if self._mean is None or self._mean < ROUND_TRIP_SECONDS:
            return MOST_PREFETCHED
        return min(MOST_PREFETCHED, self._concurrency)
