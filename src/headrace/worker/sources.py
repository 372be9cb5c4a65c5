"""Where jobs come from: which queue is asked next, and which need not be asked yet."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from headrace.operations.popping import SAFETY_POLL
from headrace.worker.settings import Served


@dataclass(slots=True)
class Source:
    """A queue on a shard. It is asked at once, or from a time on."""

    queue: str
    shard: int
    ask_at: float = 0.0
    # It gave some, and fewer than were wanted: asked once more when there is a trip anyway.
    ask_along: bool = False


class Sources:
    """The queues a worker serves, on every shard.

    One that had nothing more to give is left alone until a notice, until something there becomes
    due, or for the time of the safety poll.
    """

    def __init__(self, served: tuple[Served, ...], shards: int, *, weighted: bool) -> None:
        self._served = served
        self._weighted = weighted
        self._by_queue = {
            queue.name: [Source(queue.name, shard) for shard in range(shards)] for queue in served
        }

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self._by_queue.values()))

    def next(self, room: int) -> list[tuple[Source, int]]:
        """Whom to ask for how many: the first queue that may have work, divided over its shards."""
        now = time.monotonic()
        for name in self._order():
            hot = [source for source in self._by_queue[name] if source.ask_at <= now]
            if hot:
                random.shuffle(hot)
                return _divided(hot, room)
        return []

    def along(self, room: int) -> list[tuple[Source, int]]:
        """Whom to ask besides, on a trip that is made anyway: those that have just run dry."""
        dry = [source for all_ in self._by_queue.values() for source in all_ if source.ask_along]
        return _divided(dry, room) if dry else []

    def wake(self, queue: str, shard: int) -> None:
        """Work has come there."""
        if queue in self._by_queue:
            self._by_queue[queue][shard].ask_at = 0.0

    def wake_all(self) -> None:
        """Notices may have been missed."""
        for sources in self._by_queue.values():
            for source in sources:
                source.ask_at = 0.0

    def answered(self, source: Source, wanted: int, came: int, due: float | None) -> None:
        """What a source gave, and in how many seconds it has more."""
        source.ask_along = 0 < came < wanted
        if came < wanted:
            pause = SAFETY_POLL if due is None else min(due, SAFETY_POLL)
            source.ask_at = time.monotonic() + pause

    def seconds_left(self) -> float:
        """How long nobody need be asked if no notice comes."""
        earliest = min(source.ask_at for all_ in self._by_queue.values() for source in all_)
        return max(0.0, earliest - time.monotonic())

    def _order(self) -> list[str]:
        if not self._weighted:
            return [queue.name for queue in self._served]
        # The smallest of exponential times falls on each queue as often as its weight says.
        return [
            queue.name
            for queue in sorted(self._served, key=lambda queue: random.expovariate(queue.weight))
        ]


def _divided(sources: list[Source], room: int) -> list[tuple[Source, int]]:
    share, rest = divmod(room, len(sources))
    counts = [share + (at < rest) for at in range(len(sources))]
    return [(source, count) for source, count in zip(sources, counts, strict=True) if count]
