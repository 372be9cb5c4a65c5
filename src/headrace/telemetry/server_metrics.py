"""The state of a namespace as Prometheus metrics, read from the server at every scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headrace.client.client import Client
from headrace.engine.states import STATES
from headrace.errors import HeadraceError
from headrace.operations.namespace_snapshot import QueueSnapshot, snapshot
from headrace.transport.drive import drive

# Export the metrics of at most this many queues: the queues that were used first.
QUEUES = 1000
# The counters of a queue that never decrease. The counter of complete jobs is not in this list,
# because that counter decreases when a complete job is put again.
BOOKS = ("put", "cancelled", "expired", "moved")


GAUGES = {
    "headrace_jobs": "Jobs by state.",
    "headrace_late_jobs": "Running jobs whose lease has expired.",
    "headrace_paused": "Whether the queue is paused.",
    "headrace_next_waits_seconds": "Waiting time of the next job.",
}
COUNTERS = {
    "headrace_booked_jobs": "Jobs by entry in the queue's books.",
    "headrace_failures": "Failures since midnight UTC.",
    "headrace_retries": "Retries since midnight UTC.",
    "headrace_queue_wait_seconds": "Waiting time since midnight UTC.",
    "headrace_queue_pops": "Pops since midnight UTC.",
    "headrace_queue_run_seconds": "Run time since midnight UTC.",
    "headrace_queue_completions": "Completions since midnight UTC.",
}
# The labels that some metrics have in addition to the namespace and the queue.
LABELS = {"headrace_jobs": ["state"], "headrace_booked_jobs": ["booked"]}


def _of_queue(queue: QueueSnapshot, now: float) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield every sample of a queue: metric name, value of the additional label, and number."""
    for state in STATES:
        yield "headrace_jobs", (state,), getattr(queue.counts, state)
    yield "headrace_late_jobs", (), queue.counts.late
    yield "headrace_paused", (), queue.counts.paused
    if queue.front is not None:
        yield "headrace_next_waits_seconds", (), max(0.0, (now - queue.front) / 1000)
    for booked in BOOKS:
        yield "headrace_booked_jobs", (booked,), queue.books.get(booked, 0)
    if (today := queue.today) is not None:
        yield "headrace_failures", (), today.failures
        yield "headrace_retries", (), today.retries
        yield "headrace_queue_wait_seconds", (), today.wait.count * today.wait.mean
        yield "headrace_queue_pops", (), today.wait.count
        yield "headrace_queue_run_seconds", (), today.run.count * today.run.mean
        yield "headrace_queue_completions", (), today.run.count


class ServerCollector:
    """A collector for a prometheus_client registry. `headrace metrics` serves the same metrics.

    registry = CollectorRegistry()
    registry.register(ServerCollector(client))
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering the collector does not query the server."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the server's metrics, or only `headrace_up 0` if the server does not answer."""
        core = self._client.core
        try:
            found = drive(core.transport, snapshot(core, count=QUEUES))
        except HeadraceError:
            yield self._gauge("headrace_up", "Whether the server answered (1) or not (0).", {(): 0})
            return
        yield self._gauge("headrace_up", "Whether the server answered.", {(): 1})
        yield self._gauge("headrace_workers", "Workers that have a session.", {(): found.sessions})
        yield self._gauge("headrace_queues", "Queues.", {(): found.queue_count})
        lengths = {(str(shard),): log.length for shard, log in enumerate(found.logs)}
        yield self._gauge("headrace_events", "Events in the log.", lengths, "shard")
        behind = {
            (lake, str(shard)): events
            for shard, log in enumerate(found.logs)
            for lake, events in log.behind.items()
        }
        about = "Events that a lake has not synced yet."
        yield self._gauge("headrace_lake_behind", about, behind, "lake", "shard")
        about = "Memory of the server in use."
        yield self._gauge("headrace_memory_bytes", about, {(): found.server.memory})
        about = "Memory limit of the server; 0 means no limit."
        yield self._gauge("headrace_memory_limit_bytes", about, {(): found.server.limit})
        families: dict[str, Any] = {
            name: kind(name, about, labels=("namespace", "queue", *LABELS.get(name, ())))
            for kind, helps in ((GaugeMetricFamily, GAUGES), (CounterMetricFamily, COUNTERS))
            for name, about in helps.items()
        }
        for queue, facts in found.queues.items():
            for name, values, value in _of_queue(facts, found.at):
                families[name].add_metric((core.namespace, queue, *values), value)
        yield from families.values()

    def _gauge(self, name: str, about: str, samples: Mapping[Any, float], *labels: str) -> Metric:
        family = GaugeMetricFamily(name, about, labels=("namespace", *labels))
        for values, value in samples.items():
            family.add_metric((self._client.core.namespace, *values), value)
        return family
