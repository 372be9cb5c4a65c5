"""The view of `top` without I/O: rates, times, sort orders, and the effect of keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.engine.statistics import Series, Stats, quantile
from headrace.operations.namespace_snapshot import (
    QUEUES,
    NamespaceSnapshot,
    QueueSnapshot,
    ServerInfo,
)
from headrace.operations.values import Counts, Worker

WINDOW = 60_000
THROUGHPUTS = 600


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The 50th and the 95th percentile of waiting or running times, in seconds."""

    p50: int
    p95: int


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue in the view. Rates are per second; a rate that cannot be computed is None."""

    name: str
    counts: Counts
    put: float | None
    done: float | None
    failed: float | None
    wait: Percentiles | None
    run: Percentiles | None
    oldest: float | None
    total_put: int
    total_done: int


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A failure type, its number of jobs, and the age of its newest failure in seconds."""

    type: str
    count: int
    newest: float | None


@dataclass(frozen=True, slots=True)
class View:
    """The data that the screen shows."""

    at: float
    server: ServerInfo
    rows: Sequence[QueueRow]
    more: bool
    throughput: Sequence[float]
    workers: Sequence[Worker]
    sessions: int
    failures: Sequence[FailureRow]


ORDERS: dict[str, Callable[[QueueRow], tuple[float | str, ...]]] = {
    "first use": lambda _: (),
    "name": lambda row: (row.name,),
    "waiting": lambda row: (-row.counts.waiting,),
    "running": lambda row: (-row.counts.running,),
    "failed": lambda row: (-row.counts.failed,),
    "done/s": lambda row: (-(row.done or 0.0),),
}


class SnapshotHistory:
    """The snapshots of the last minute and the throughput of the last ten minutes."""

    def __init__(self) -> None:
        self._snapshots: deque[NamespaceSnapshot] = deque()
        self._offset = 0
        self.throughput: deque[float] = deque(maxlen=THROUGHPUTS)

    def add(self, snapshot: NamespaceSnapshot, offset: int = 0) -> None:
        """Add a snapshot.

        Drop snapshots that are older than a minute, except the newest of them.
        """
        kept = self._snapshots
        self._offset = offset
        if kept and snapshot.at <= kept[-1].at:
            # The server's clock was set back, so earlier snapshots cannot be compared with this
            # snapshot.
            kept.clear()
        kept.append(snapshot)
        while len(kept) > 2 and kept[1].at <= snapshot.at - WINDOW:
            kept.popleft()
        if len(kept) > 1:
            rates = [row.done for row in self.view("first use").rows]
            self.throughput.append(sum(rate for rate in rates if rate is not None))

    def __bool__(self) -> bool:
        return bool(self._snapshots)

    def clear(self) -> None:
        """Drop all snapshots."""
        self._snapshots.clear()

    def view(self, order: str) -> View:
        """Return a view of the newest snapshot, with the queues in this sort order."""
        newest = self._snapshots[-1]
        rows = [self._row(name, queue) for name, queue in newest.queues.items()]
        return View(
            at=newest.at,
            server=newest.server,
            rows=sorted(rows, key=ORDERS[order]),
            more=self._offset + len(newest.queues) < newest.queue_count,
            throughput=list(self.throughput),
            workers=newest.workers,
            sessions=newest.sessions,
            failures=[
                FailureRow(one.type, one.count, _seconds_ago(one.newest, newest.at))
                for one in newest.failures
            ],
        )

    def _row(self, name: str, queue: QueueSnapshot) -> QueueRow:
        newest = self._snapshots[-1]
        before = self._snapshots[-2] if len(self._snapshots) > 1 else None
        earlier = before.queues.get(name) if before else None
        seconds = (newest.at - before.at) / 1000 if before else 0.0
        first, today = self._first_day(name), queue.today

        def per_second(word: str) -> float | None:
            if earlier is None:
                return None
            return rate(earlier.books.get(word, 0), queue.books.get(word, 0), seconds)

        return QueueRow(
            name=name,
            counts=queue.counts,
            put=per_second("put"),
            done=per_second("complete"),
            failed=_failed_rate(earlier.today if earlier else None, today, seconds),
            wait=percentiles(growth(first.wait.bins, today.wait.bins)) if first and today else None,
            run=percentiles(growth(first.run.bins, today.run.bins)) if first and today else None,
            oldest=_seconds_ago(queue.front, newest.at),
            total_put=queue.books.get("put", 0),
            total_done=queue.books.get("complete", 0),
        )

    def _first_day(self, name: str) -> Stats | None:
        """Find the oldest snapshot that has totals of the queue, and return these totals.

        Returns empty totals if a new day has begun since that snapshot. Returns None if the newest
        snapshot or all earlier snapshots have no totals of the queue.
        """
        newest = self._snapshots[-1].queues[name].today
        earlier = [one.queues.get(name) for one in self._snapshots][:-1]
        first = next((queue.today for queue in earlier if queue and queue.today), None)
        return comparable(first, newest) if first and newest else None


def comparable(earlier: Stats, later: Stats) -> Stats:
    """Return the earlier totals, or empty totals if the later totals belong to a new day."""
    empty = Series(0, 0.0, 0.0, {})
    if earlier.day == later.day:
        return earlier
    return replace(later, wait=empty, run=empty, failures=0, retries=0)


def rate(earlier: int, later: int, seconds: float) -> float | None:
    """Return by how much a counter grew per second between two readings.

    Returns None if no time has passed or the counter was reset.
    """
    return (later - earlier) / seconds if seconds > 0 and later >= earlier else None


def _failed_rate(earlier: Stats | None, later: Stats | None, seconds: float) -> float | None:
    if earlier is None or later is None:
        return None
    return rate(comparable(earlier, later).failures, later.failures, seconds)


def growth(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    """Return by how much each bin of a histogram grew; omit bins that did not grow."""
    by_bin = {name: count - earlier.get(name, 0) for name, count in later.items()}
    return {name: count for name, count in by_bin.items() if count > 0}


def percentiles(bins: Mapping[str, int]) -> Percentiles | None:
    """Return the percentiles of a histogram, or None if the histogram is empty."""
    half, most = quantile(bins, 0.5), quantile(bins, 0.95)
    return Percentiles(half[1], most[1]) if half and most else None


def _seconds_ago(at: float | None, now: float) -> float | None:
    return None if at is None else max(0.0, (now - at) / 1000)


# Keys

HELP = (
    ("q", "quit"),
    ("p", "pause and continue the view"),
    ("s", "next sort order"),
    ("up, down", "select a queue"),
    ("enter", "show or hide details of the selected queue"),
    ("left, right", f"show the previous or next {QUEUES} queues"),
    ("?", "show or hide this help"),
)


SWITCHES = {"q": "quit", "p": "paused", "enter": "detail", "?": "help"}


@dataclass(frozen=True, slots=True)
class ViewState:
    """The user's choices: sort order, selected queue, page, pause, details, help and quit."""

    order: str = "first use"
    selected: str | None = None
    offset: int = 0
    paused: bool = False
    detail: bool = False
    help: bool = False
    quit: bool = False


def press(state: ViewState, key: str, names: Sequence[str], *, more: bool) -> ViewState:
    """Return the view state after a key press. `names` lists the queues in display order."""
    if key == "s":
        orders = list(ORDERS)
        return replace(state, order=orders[(orders.index(state.order) + 1) % len(orders)])
    if key in ("up", "down"):
        return replace(state, selected=_moved(state.selected, names, 1 if key == "down" else -1))
    if key == "right" and more:
        return replace(state, offset=state.offset + QUEUES, selected=None)
    if key == "left":
        return replace(state, offset=max(0, state.offset - QUEUES), selected=None)
    if switch := SWITCHES.get(key):
        changed: dict[str, Any] = {switch: not getattr(state, switch)}
        return replace(state, **changed)
    return state


def _moved(selected: str | None, names: Sequence[str], step: int) -> str | None:
    if selected not in names:
        return names[0] if names else None
    at = names.index(selected) + step
    return names[min(max(at, 0), len(names) - 1)]


_SEQUENCES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left",
    "\r": "enter", "\n": "enter",
}  # fmt: skip


def parse_keys(typed: str) -> list[str]:
    """Return the keys that a terminal has sent, without unknown escape sequences."""
    found = []
    while typed:
        name = next((name for name in _SEQUENCES if typed.startswith(name)), typed[0])
        found.append(_SEQUENCES.get(name, name))
        typed = "" if name == "\x1b" else typed[len(name) :]
    return found
