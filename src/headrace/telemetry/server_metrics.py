"""The state of a namespace as metrics, read from the server at every scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headrace.client.client import Client
from headrace.engine.call import build
from headrace.engine.events import entry_number
from headrace.engine.record import decode_record, name_in
from headrace.engine.states import STATES
from headrace.errors import HeadraceError
from headrace.operations.core import Core
from headrace.operations.queues import all_queues, text_map
from headrace.operations.requests import ask, raw
from headrace.transport.drive import Operation, drive

# So many queues at most, those that were used first; so many in one script.
QUEUES = 1000
QUEUES_A_SCRIPT = 100
DAY_SECONDS = 86_400
STATS = ("failures", "retries", "wait:count", "wait:mean", "run:count", "run:mean")
# Counters that never go back; that of complete jobs does, when one is put again.
BOOKS = ("put", "cancelled", "expired", "moved")


@dataclass(slots=True)
class QueueFacts:
    """What is known of a queue, its shards added up."""

    counts: Counter[str] = field(default_factory=Counter)
    books: Counter[str] = field(default_factory=Counter)
    stats: Counter[str] = field(default_factory=Counter)
    next_waits: float | None = None


@dataclass(slots=True)
class Facts:
    """What is known of a namespace."""

    count: int
    queues: dict[str, QueueFacts]
    workers: int
    events: list[int]
    memory: dict[str, int]
    behind: dict[tuple[str, int], int]


class ServerCollector:
    """A collector for a prometheus_client registry; `headrace metrics` serves one."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def describe(self) -> Iterable[Metric]:
        """Nothing: to register it asks the server for nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Asks the server, and tells; a server that does not answer is told as such."""
        core = self._client.core
        try:
            facts = drive(core.transport, look(core))
        except HeadraceError:
            yield self._gauge("headrace_up", "Whether the server answered.", 0)
            return
        yield self._gauge("headrace_up", "Whether the server answered.", 1)
        yield self._gauge("headrace_workers", "Workers that have a session.", facts.workers)
        yield self._gauge("headrace_queues", "Queues.", facts.count)
        yield self._by("shard", "headrace_events", "Events in the log.", facts.events)
        yield self._of_lakes(facts.behind)
        memory = facts.memory
        about = "Memory of the server in use."
        yield self._gauge("headrace_memory_bytes", about, memory["used_memory"])
        about = "Memory that the server may use; 0 is all there is."
        yield self._gauge("headrace_memory_limit_bytes", about, memory["maxmemory"])
        yield from self._of_queues(facts.queues)

    def _of_lakes(self, behind: dict[tuple[str, int], int]) -> Metric:
        family = GaugeMetricFamily(
            "headrace_lake_behind",
            "Events that a lake has yet to take.",
            labels=("namespace", "lake", "shard"),
        )
        for (lake, shard), events in behind.items():
            family.add_metric((self._client.core.namespace, lake, str(shard)), events)
        return family

    def _of_queues(self, queues: dict[str, QueueFacts]) -> Iterator[Metric]:
        labels = ("namespace", "queue")
        name = self._client.core.namespace
        jobs = GaugeMetricFamily("headrace_jobs", "Jobs by state.", labels=(*labels, "state"))
        late = GaugeMetricFamily("headrace_late_jobs", "Jobs whose lease is over.", labels=labels)
        paused = GaugeMetricFamily("headrace_paused", "Whether it is paused.", labels=labels)
        waits = GaugeMetricFamily(
            "headrace_next_waits_seconds", "How long the next job has waited.", labels=labels
        )
        ended = CounterMetricFamily(
            "headrace_booked_jobs", "Jobs by what was booked.", labels=(*labels, "booked")
        )
        daily = {
            "failures": CounterMetricFamily(
                "headrace_failures", "Failures, from midnight on.", labels=labels
            ),
            "retries": CounterMetricFamily(
                "headrace_retries", "Retries, from midnight on.", labels=labels
            ),
            "wait": CounterMetricFamily(
                "headrace_queue_wait_seconds", "Waiting times, from midnight on.", labels=labels
            ),
            "pops": CounterMetricFamily(
                "headrace_queue_pops", "Pops, from midnight on.", labels=labels
            ),
            "run": CounterMetricFamily(
                "headrace_queue_run_seconds", "Running times, from midnight on.", labels=labels
            ),
            "runs": CounterMetricFamily(
                "headrace_queue_completions", "Completions, from midnight on.", labels=labels
            ),
        }
        for queue, facts in queues.items():
            at = (name, queue)
            for state in STATES:
                jobs.add_metric((*at, state), facts.counts[state])
            late.add_metric(at, facts.counts["late"])
            paused.add_metric(at, min(1, facts.counts["paused"]))
            if facts.next_waits is not None:
                waits.add_metric(at, facts.next_waits)
            for booked in BOOKS:
                ended.add_metric((*at, booked), facts.books[booked])
            for what, family in daily.items():
                family.add_metric(at, facts.stats[what])
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


def look(core: Core) -> Operation[Facts]:
    """Reads the state of a namespace, in a bounded number of round trips."""
    shards = range(core.shards)
    names = yield from all_queues(core)
    queues = {name: QueueFacts() for name in names[:QUEUES]}
    asked: Any = [(0, ("TIME",)), (0, ("INFO", "memory"))]
    asked += [(shard, ("HMGET", core.key(shard, "log"), "number", "trimmed")) for shard in shards]
    asked += [(shard, ("HGETALL", core.key(shard, "lakes"))) for shard in shards]
    [[seconds, micros], about, *rest] = yield from raw(core, asked)
    logs, lakes = rest[: core.shards], rest[core.shards :]
    now = int(seconds)
    asked = [
        (shard, ("ZCOUNT", core.key(shard, "sessions"), f"{now}000", "+inf")) for shard in shards
    ]
    workers = yield from raw(core, asked)
    yield from _count(core, queues)
    yield from _read_books(core, queues)
    yield from _read_stats(core, queues, now // DAY_SECONDS)
    yield from _look_at_next(core, queues, now + int(micros) / 1e6)
    # A session is on every shard.
    events = [int(number or 0) - int(trimmed or 0) for number, trimmed in logs]
    behind = {
        (lake, shard): int(log[0] or 0) - entry_number(mark)
        for shard, (log, marks) in enumerate(zip(logs, lakes, strict=True))
        for lake, mark in text_map(marks).items()
    }
    return Facts(len(names), queues, max(workers), events, _memory(about), behind)


def _memory(about: bytes) -> dict[str, int]:
    pairs = (line.partition(":") for line in about.decode().splitlines())
    return {name: int(value) for name, _, value in pairs if name in ("used_memory", "maxmemory")}


def _count(core: Core, queues: dict[str, QueueFacts]) -> Operation[None]:
    names = list(queues)
    columns = ("exists", "paused", "late", "due", *STATES)
    for first in range(0, len(names), QUEUES_A_SCRIPT):
        part = names[first : first + QUEUES_A_SCRIPT]
        call: Any = build("counts", list, [(name,) for name in part])
        replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
        for rows in replies:
            for name, row in zip(part, rows, strict=True):
                queues[name].counts.update(dict(zip(columns, row, strict=True)))


def _read_books(core: Core, queues: dict[str, QueueFacts]) -> Operation[None]:
    for name, reply in (yield from _of_each(core, queues, "HGETALL", "books:{}")):
        queues[name].books.update({one: int(n) for one, n in text_map(reply).items()})


def _read_stats(core: Core, queues: dict[str, QueueFacts], day: int) -> Operation[None]:
    for name, reply in (yield from _of_each(core, queues, "HMGET", f"stats:{day}:{{}}", *STATS)):
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


def _look_at_next(core: Core, queues: dict[str, QueueFacts], now: float) -> Operation[None]:
    """How long the job has waited that would be handed out next."""
    first = yield from _of_each(core, queues, "ZRANGE", "waiting:{}", "0", "0")
    next_jobs = [(name, name_in(member[0])) for name, member in first if member]
    if not next_jobs:
        return
    commands: Any = [
        (shard, ("GET", core.key(shard, f"job:{job_id}")))
        for _, job_id in next_jobs
        for shard in [core.shard_of(job_id)]
    ]
    for (name, _), packed in zip(next_jobs, (yield from raw(core, commands)), strict=True):
        if packed is not None:
            waits = max(0.0, now - decode_record(packed).since / 1000)
            queues[name].next_waits = max(waits, queues[name].next_waits or 0.0)


def _of_each(
    core: Core, queues: dict[str, QueueFacts], command: str, role: str, *rest: str
) -> Operation[list[tuple[str, Any]]]:
    """What a command says of a key of every queue on every shard, in one round trip."""
    about = [(name, shard) for name in queues for shard in range(core.shards)]
    if not about:
        return []
    commands: Any = [
        (shard, (command, core.key(shard, role.format(name)), *rest)) for name, shard in about
    ]
    replies = yield from raw(core, commands)
    return [(name, reply) for (name, _), reply in zip(about, replies, strict=True)]
