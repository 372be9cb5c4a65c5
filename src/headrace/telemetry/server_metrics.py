"""The state of a namespace as Prometheus metrics, read from the server at every scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headrace.client.client import Client
from headrace.engine import keys
from headrace.engine.call import build
from headrace.engine.events import entry_number
from headrace.engine.record import decode_record, name_in
from headrace.engine.states import STATES
from headrace.errors import HeadraceError
from headrace.operations.core import Core
from headrace.operations.queues import all_queues, text_map
from headrace.operations.requests import ask, raw
from headrace.transport.drive import Operation, drive

# Limits of a scrape, which covers the queues used first, and of one script call.
QUEUES = 1000
QUEUES_A_SCRIPT = 100
DAY_SECONDS = 86_400
STATS = ("failures", "retries", "wait:count", "wait:mean", "run:count", "run:mean")
# Counters that never decrease. The one of complete jobs does, when a job is put again.
BOOKS = ("put", "cancelled", "expired", "moved")


@dataclass(slots=True)
class QueueFigures:
    """The figures of a queue, summed over its shards."""

    counts: Counter[str] = field(default_factory=Counter)
    books: Counter[str] = field(default_factory=Counter)
    stats: Counter[str] = field(default_factory=Counter)
    next_waits: float | None = None


@dataclass(slots=True)
class NamespaceFigures:
    """The figures of a namespace."""

    count: int
    queues: dict[str, QueueFigures]
    workers: int
    events: list[int]
    memory: dict[str, int]
    behind: dict[tuple[str, int], int]


class ServerCollector:
    """A collector for a prometheus_client registry; `headrace metrics` serves one.

    registry = CollectorRegistry()
    registry.register(ServerCollector(client))
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering the collector does not query the server."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Query the server and yield its metrics; without an answer, only headrace_up with 0."""
        core = self._client.core
        try:
            figures = drive(core.transport, look(core))
        except HeadraceError:
            yield self._gauge("headrace_up", "Whether the server answered (1) or not (0).", 0)
            return
        yield self._gauge("headrace_up", "Whether the server answered (1) or not (0).", 1)
        yield self._gauge("headrace_workers", "Workers with a session.", figures.workers)
        yield self._gauge("headrace_queues", "Number of queues.", figures.count)
        yield self._by("shard", "headrace_events", "Entries of the event log.", figures.events)
        yield self._of_lakes(figures.behind)
        memory = figures.memory
        about = "Memory that the server uses."
        yield self._gauge("headrace_memory_bytes", about, memory["used_memory"])
        about = "Memory limit of the server; 0 means no limit."
        yield self._gauge("headrace_memory_limit_bytes", about, memory["maxmemory"])
        yield from self._of_queues(figures.queues)

    def _of_lakes(self, behind: dict[tuple[str, int], int]) -> Metric:
        family = GaugeMetricFamily(
            "headrace_lake_behind",
            "Events that a lake has not synced yet.",
            labels=("namespace", "lake", "shard"),
        )
        for (lake, shard), events in behind.items():
            family.add_metric((self._client.core.namespace, lake, str(shard)), events)
        return family

    def _of_queues(self, queues: dict[str, QueueFigures]) -> Iterator[Metric]:
        labels = ("namespace", "queue")
        name = self._client.core.namespace
        jobs = GaugeMetricFamily("headrace_jobs", "Jobs by state.", labels=(*labels, "state"))
        late = GaugeMetricFamily(
            "headrace_late_jobs", "Running jobs whose lease has expired.", labels=labels
        )
        paused = GaugeMetricFamily("headrace_paused", "Whether the queue is paused.", labels=labels)
        waits = GaugeMetricFamily(
            "headrace_next_waits_seconds", "Waiting time of the next job.", labels=labels
        )
        ended = CounterMetricFamily(
            "headrace_booked_jobs",
            "Jobs by entry in the queue's books.",
            labels=(*labels, "booked"),
        )
        daily = {
            "failures": CounterMetricFamily(
                "headrace_failures", "Failures since midnight UTC.", labels=labels
            ),
            "retries": CounterMetricFamily(
                "headrace_retries", "Retries since midnight UTC.", labels=labels
            ),
            "wait": CounterMetricFamily(
                "headrace_queue_wait_seconds", "Waiting time since midnight UTC.", labels=labels
            ),
            "pops": CounterMetricFamily(
                "headrace_queue_pops", "Pops since midnight UTC.", labels=labels
            ),
            "run": CounterMetricFamily(
                "headrace_queue_run_seconds", "Run time since midnight UTC.", labels=labels
            ),
            "runs": CounterMetricFamily(
                "headrace_queue_completions", "Completions since midnight UTC.", labels=labels
            ),
        }
        for queue, figures in queues.items():
            at = (name, queue)
            for state in STATES:
                jobs.add_metric((*at, state), figures.counts[state])
            late.add_metric(at, figures.counts["late"])
            paused.add_metric(at, min(1, figures.counts["paused"]))
            if figures.next_waits is not None:
                waits.add_metric(at, figures.next_waits)
            for booked in BOOKS:
                ended.add_metric((*at, booked), figures.books[booked])
            for what, family in daily.items():
                family.add_metric(at, figures.stats[what])
        yield from (jobs, late, paused, waits, ended, *daily.values())

    def _gauge(self, name: str, about: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, about, labels=("namespace",))
        family.add_metric((self._client.core.namespace,), value)
        return family

    def _by(self, label: str, name: str, about: str, values: list[int]) -> Metric:
        family = GaugeMetricFamily(name, about, labels=("namespace", label))
        for at, value in enumerate(values):
            family.add_metric((self._client.core.namespace, str(at)), value)
        return family


def look(core: Core) -> Operation[NamespaceFigures]:
    """Read the figures of a namespace in a bounded number of round trips."""
    shards = range(core.shards)
    names = yield from all_queues(core)
    queues = {name: QueueFigures() for name in names[:QUEUES]}
    asked: Any = [(0, ("TIME",)), (0, ("INFO", "memory"))]
    asked += [
        (shard, ("HMGET", core.key(shard, keys.LOG), "number", "trimmed")) for shard in shards
    ]
    asked += [(shard, ("HGETALL", core.key(shard, keys.LAKES))) for shard in shards]
    [[seconds, micros], about, *rest] = yield from raw(core, asked)
    logs, lakes = rest[: core.shards], rest[core.shards :]
    now = int(seconds)
    asked = [
        (shard, ("ZCOUNT", core.key(shard, keys.SESSIONS), f"{now}000", "+inf")) for shard in shards
    ]
    workers = yield from raw(core, asked)
    yield from _count(core, queues)
    yield from _read_books(core, queues)
    yield from _read_stats(core, queues, now // DAY_SECONDS)
    yield from _look_at_next(core, queues, now + int(micros) / 1e6)
    # Every shard holds the session of every worker.
    events = [int(number or 0) - int(trimmed or 0) for number, trimmed in logs]
    behind = {
        (lake, shard): int(log[0] or 0) - entry_number(mark)
        for shard, (log, marks) in enumerate(zip(logs, lakes, strict=True))
        for lake, mark in text_map(marks).items()
    }
    return NamespaceFigures(len(names), queues, max(workers), events, _memory(about), behind)


def _memory(about: bytes) -> dict[str, int]:
    pairs = (line.partition(":") for line in about.decode().splitlines())
    return {name: int(value) for name, _, value in pairs if name in ("used_memory", "maxmemory")}


def _count(core: Core, queues: dict[str, QueueFigures]) -> Operation[None]:
    names = list(queues)
    columns = ("exists", "paused", "late", "due", *STATES)
    for first in range(0, len(names), QUEUES_A_SCRIPT):
        part = names[first : first + QUEUES_A_SCRIPT]
        call: Any = build("counts", list, [(name,) for name in part])
        replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
        for rows in replies:
            for name, row in zip(part, rows, strict=True):
                queues[name].counts.update(dict(zip(columns, row, strict=True)))


def _read_books(core: Core, queues: dict[str, QueueFigures]) -> Operation[None]:
    for name, reply in (yield from _of_each(core, queues, "HGETALL", keys.books)):
        queues[name].books.update({one: int(n) for one, n in text_map(reply).items()})


def _read_stats(core: Core, queues: dict[str, QueueFigures], day: int) -> Operation[None]:
    def stats_key(queue: str) -> str:
        return keys.stats(f"{day}:{queue}")

    for name, reply in (yield from _of_each(core, queues, "HMGET", stats_key, *STATS)):
        failures, retries, waits, wait_mean, runs, run_mean = (float(value or 0) for value in reply)
        queues[name].stats.update(
            {
                "failures": int(failures),
                "retries": int(retries),
                "pops": int(waits),
                "runs": int(runs),
            }
        )
        stats: Any = queues[name].stats
        stats["wait"] += waits * wait_mean / 1000
        stats["run"] += runs * run_mean / 1000


def _look_at_next(core: Core, queues: dict[str, QueueFigures], now: float) -> Operation[None]:
    """Read how long the next job of each queue has waited."""
    first = yield from _of_each(core, queues, "ZRANGE", keys.waiting, "0", "0")
    next_jobs = [(name, name_in(member[0])) for name, member in first if member]
    if not next_jobs:
        return
    commands: Any = [
        (shard, ("GET", core.key(shard, keys.job(job_id))))
        for _, job_id in next_jobs
        for shard in [core.shard_of(job_id)]
    ]
    for (name, _), packed in zip(next_jobs, (yield from raw(core, commands)), strict=True):
        if packed is not None:
            waits = max(0.0, now - decode_record(packed).since / 1000)
            queues[name].next_waits = max(waits, queues[name].next_waits or 0.0)


def _of_each(
    core: Core,
    queues: dict[str, QueueFigures],
    command: str,
    key_of: Callable[[str], str],
    *rest: str,
) -> Operation[list[tuple[str, Any]]]:
    """Return the replies to a command on one key per queue and shard, in one round trip."""
    about = [(name, shard) for name in queues for shard in range(core.shards)]
    if not about:
        return []
    commands: Any = [
        (shard, (command, core.key(shard, key_of(name)), *rest)) for name, shard in about
    ]
    replies = yield from raw(core, commands)
    return [(name, reply) for (name, _), reply in zip(about, replies, strict=True)]
