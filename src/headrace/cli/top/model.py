"""What is to be shown, made of snapshots alone: rates, times, orders. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headrace.cli.top.snapshot import Bins, Day, Queue, Server, Snapshot
from headrace.operations.values import Counts, Worker

WINDOW = 60_000
THROUGHPUTS = 600
SECONDS = {"s": 1, "m": 60, "q": 900, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Times:
    """Half, and 95 of 100, took less than so many seconds."""

    p50: int
    p95: int


@dataclass(frozen=True, slots=True)
class Row:
    """A queue. Rates are by the second, None where two snapshots do not tell."""

    name: str
    counts: Counts
    put: float | None
    done: float | None
    failed: float | None
    wait: Times | None
    run: Times | None
    oldest: float | None
    total_put: int
    total_done: int


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A type of failures, and how many seconds ago the newest was."""

    type: str
    count: int
    newest: float | None


@dataclass(frozen=True, slots=True)
class View:
    """Everything that is shown."""

    at: float
    server: Server
    rows: Sequence[Row]
    more: bool
    throughput: Sequence[float]
    workers: Sequence[Worker]
    sessions: int
    failures: Sequence[FailureRow]


ORDERS: dict[str, Callable[[Row], tuple[float | str, ...]]] = {
    "first use": lambda _: (),
    "name": lambda row: (row.name,),
    "waiting": lambda row: (-row.counts.waiting,),
    "running": lambda row: (-row.counts.running,),
    "failed": lambda row: (-row.counts.failed,),
    "done/s": lambda row: (-(row.done or 0.0),),
}


class History:
    """The snapshots of the last minute, and the throughput of the last minutes."""

    def __init__(self) -> None:
        self._snapshots: deque[Snapshot] = deque()
        self.throughput: deque[float] = deque(maxlen=THROUGHPUTS)

    def add(self, snapshot: Snapshot) -> None:
        """Takes a snapshot in; those that are too old go, but one earlier stays."""
        kept = self._snapshots
        if kept and snapshot.at <= kept[-1].at:
            # The server's clock was set back: nothing can be told from what was before.
            kept.clear()
        kept.append(snapshot)
        while len(kept) > 2 and kept[1].at <= snapshot.at - WINDOW:
            kept.popleft()
        if len(kept) > 1:
            rates = [row.done for row in self.view("first use").rows]
            self.throughput.append(sum(rate for rate in rates if rate is not None))

    def forget(self) -> None:
        """Nothing can be told from what was before."""
        self._snapshots.clear()

    def view(self, order: str) -> View:
        """What is to be shown of the newest."""
        newest = self._snapshots[-1]
        rows = [self._row(name, queue) for name, queue in newest.queues.items()]
        return View(
            at=newest.at,
            server=newest.server,
            rows=sorted(rows, key=ORDERS[order]),
            more=newest.more,
            throughput=list(self.throughput),
            workers=newest.workers,
            sessions=newest.sessions,
            failures=[
                FailureRow(one.type, one.count, _ago(one.newest, newest.at))
                for one in newest.failures
            ],
        )

    def _row(self, name: str, queue: Queue) -> Row:
        newest = self._snapshots[-1]
        before = self._snapshots[-2] if len(self._snapshots) > 1 else None
        earlier = before.queues.get(name) if before else None
        seconds = (newest.at - before.at) / 1000 if before else 0.0
        first = self._first_day(name)
        return Row(
            name=name,
            counts=queue.counts,
            put=rate(earlier.put if earlier else None, queue.put, seconds),
            done=rate(earlier.done if earlier else None, queue.done, seconds),
            failed=_failed_rate(earlier.day if earlier else None, queue.day, seconds),
            wait=times(grown(first.wait, queue.day.wait)) if first and queue.day else None,
            run=times(grown(first.run, queue.day.run)) if first and queue.day else None,
            oldest=_ago(queue.front, newest.at),
            total_put=queue.put,
            total_done=queue.done,
        )

    def _first_day(self, name: str) -> Day | None:
        """The earliest statistics of a queue that the newest can be compared with."""
        newest = self._snapshots[-1].queues[name].day
        if newest is None:
            return None
        for snapshot in list(self._snapshots)[:-1]:
            queue = snapshot.queues.get(name)
            if queue is not None and queue.day is not None:
                return comparable(queue.day, newest)
        return None


def comparable(earlier: Day, later: Day) -> Day:
    """The earlier one, or a blank one if a new day has begun since."""
    return earlier if earlier.number == later.number else Day(later.number, 0, {}, {})


def rate(earlier: int | None, later: int, seconds: float) -> float | None:
    """How fast a counter grows; one that shrinks was begun anew."""
    if earlier is None or seconds <= 0 or later < earlier:
        return None
    return (later - earlier) / seconds


def _failed_rate(earlier: Day | None, later: Day | None, seconds: float) -> float | None:
    if earlier is None or later is None:
        return None
    return rate(comparable(earlier, later).failures, later.failures, seconds)


def grown(earlier: Bins, later: Bins) -> dict[str, int]:
    """What came into the bins of a histogram meanwhile."""
    by_bin = {name: count - earlier.get(name, 0) for name, count in later.items()}
    return {name: count for name, count in by_bin.items() if count > 0}


def times(bins: Mapping[str, int]) -> Times | None:
    """The times that a histogram tells, None if it is empty."""
    total = sum(bins.values())
    if not total:
        return None
    return Times(quantile(bins, total, 0.5), quantile(bins, total, 0.95))


def quantile(bins: Mapping[str, int], total: int, part: float) -> int:
    """The end, in seconds, of the bin in which this part of all is reached."""
    ends = sorted((_end(name), count) for name, count in bins.items())
    passed = 0
    for end, count in ends:
        passed += count
        if passed >= part * total:
            return end
    return ends[-1][0]


def _end(name: str) -> int:
    return SECONDS[name[0]] * (int(name[1:]) + 1)


def _ago(moment: float | None, now: float) -> float | None:
    return None if moment is None else max(0.0, (now - moment) / 1000)
