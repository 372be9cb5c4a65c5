"""The choice of the next queue to pop from, and the number of jobs a worker may hold."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from headrace.operations.popping import SAFETY_POLL, divide_evenly
from headrace.worker.settings import ServedQueue

# Prefetched jobs should start within this time, so that a worker does not hoard slow jobs.
PREFETCH_SECONDS = 0.02
MOST_PREFETCHED = 500
SHORTEST_RUN = 1e-6
# The approximate duration of a round trip that carries some hundred jobs.
ROUND_TRIP_SECONDS = 0.002
# The weight of the newest job in the mean duration.
NEWEST_WEIGHT = 0.02


@dataclass(slots=True)
class QueueShard:
    """A queue on one shard, and from when on it is worth a pop."""

    queue: str
    shard: int
    pop_at: float = 0.0
    # It returned jobs, but fewer than requested: pop again if there is a round trip anyway.
    pop_along: bool = False


class QueueSources:
    """The queues that a worker serves, on every shard.

    After a pop returned fewer jobs than requested, the worker leaves that queue and shard alone
    until a notice arrives, a job there becomes due, or the safety poll.
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

    def next(self, room: int) -> list[tuple[QueueShard, int]]:
        """Return the pops to send: the first queue that may have jobs, divided over its shards."""
        now = time.monotonic()
        for name in self._order():
            ready = [source for source in self._by_queue[name] if source.pop_at <= now]
            if ready:
                random.shuffle(ready)
                return divide_evenly(ready, room)
        return []

    def along(self, room: int) -> list[tuple[QueueShard, int]]:
        """Return pops to add to a round trip that is made anyway: queues that just ran dry."""
        dry = [source for all_ in self._by_queue.values() for source in all_ if source.pop_along]
        return divide_evenly(dry, room) if dry else []

    def wake(self, queue: str, shard: int) -> None:
        """Note that jobs have arrived in a queue."""
        if queue in self._by_queue:
            self._by_queue[queue][shard].pop_at = 0.0

    def wake_all(self) -> None:
        """Note that notices may have been missed."""
        for sources in self._by_queue.values():
            for source in sources:
                source.pop_at = 0.0

    def popped(self, source: QueueShard, wanted: int, count: int, due: float | None) -> None:
        """Note how many jobs a pop returned, and in how many seconds more become due."""
        source.pop_along = 0 < count < wanted
        if count < wanted:
            pause = SAFETY_POLL if due is None else min(due, SAFETY_POLL)
            source.pop_at = time.monotonic() + pause

    def seconds_left(self) -> float:
        """Return how long no pop is needed if no notice arrives."""
        earliest = min(source.pop_at for all_ in self._by_queue.values() for source in all_)
        return max(0.0, earliest - time.monotonic())

    def _order(self) -> list[str]:
        if not self._weighted:
            return [queue.name for queue in self._served]
        # With exponential times, each queue is first in proportion to its weight.
        return [
            queue.name
            for queue in sorted(self._served, key=lambda queue: random.expovariate(queue.weight))
        ]


class Prefetch:
    """The number of jobs a worker may hold, learned from how long its jobs run."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._mean: float | None = None

    def finished(self, seconds: float) -> None:
        """Note the duration of a run."""
        mean = self._mean
        # Slow jobs weigh ten times as much as quick ones: hoarding is worse than popping often.
        if mean is None or seconds > mean:
            self._mean = seconds if mean is None else mean + (seconds - mean) * 10 * NEWEST_WEIGHT
        else:
            self._mean = mean + (seconds - mean) * NEWEST_WEIGHT

    def stuck(self, seconds: float) -> None:
        """Note that no job has started for this long, because none has finished."""
        self._mean = max(self._mean or 0.0, seconds)

    def capacity(self) -> int:
        """Return how many jobs the worker may hold, running or not."""
        concurrency, mean = self._concurrency, self._mean
        if mean is None:
            return concurrency
        prefetched = concurrency * PREFETCH_SECONDS / max(mean, SHORTEST_RUN)
        return concurrency + int(min(MOST_PREFETCHED, prefetched))

    def at_once(self) -> int:
        """Return how many jobs to request in one round trip.

        If jobs run longer than a round trip takes, this is the number that can start at once: they
        must not wait for the transfer of jobs that cannot start yet.
        """
        if self._mean is None or self._mean < ROUND_TRIP_SECONDS:
            return MOST_PREFETCHED
        return min(MOST_PREFETCHED, self._concurrency)
