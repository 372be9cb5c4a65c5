"""The state of a namespace as Prometheus metrics, read from the server at every scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headrace.client.client import Client
from headrace.engine.states import STATES
from headrace.errors import HeadraceError
from headrace.operations.snapshot import LogState, NamespaceSnapshot, QueueSnapshot, snapshot
from headrace.transport.drive import drive

# Metrics of at most this many queues are exported, in the order of their first use.
QUEUES = 1000
# Counters that never decrease. The counter of complete jobs does, when such a job is put again.
BOOKS = ("put", "cancelled", "expired", "moved")


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
            found = drive(core.transport, snapshot(core, count=QUEUES))
        except HeadraceError:
            yield self._gauge("headrace_up", "Whether the server answered (1) or not (0).", 0)
            return
        yield self._gauge("headrace_up", "Whether the server answered.", 1)
        yield self._gauge("headrace_workers", "Workers that have a session.", found.sessions)
        yield self._gauge("headrace_queues", "Queues.", found.queue_count)
        lengths = [log.length for log in found.logs]
        yield self._by("shard", "headrace_events", "Events in the log.", lengths)
        yield self._of_lakes(found.logs)
        about = "Memory of the server in use."
        yield self._gauge("headrace_memory_bytes", about, found.server.memory)
        about = "Memory that the server may use; 0 is all there is."
        yield self._gauge("headrace_memory_limit_bytes", about, found.server.limit)
        yield from self._of_queues(found)

    def _of_lakes(self, logs: Iterable[LogState]) -> Metric:
        family = GaugeMetricFamily(
            "headrace_lake_behind",
            "Events that a lake has not synced yet.",
            labels=("namespace", "lake", "shard"),
        )
        for shard, log in enumerate(logs):
            for lake, events in log.behind.items():
                family.add_metric((self._client.core.namespace, lake, str(shard)), events)
        return family

    def _of_queues(self, found: NamespaceSnapshot) -> Iterator[Metric]:
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
        for queue, facts in found.queues.items():
            at = (name, queue)
            for state in STATES:
                jobs.add_metric((*at, state), getattr(facts.counts, state))
            late.add_metric(at, facts.counts.late)
            paused.add_metric(at, facts.counts.paused)
            if facts.front is not None:
                waits.add_metric(at, max(0.0, (found.at - facts.front) / 1000))
            for booked in BOOKS:
                ended.add_metric((*at, booked), facts.books.get(booked, 0))
            for what, value in _of_today(facts).items():
                daily[what].add_metric(at, value)
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


def _of_today(facts: QueueSnapshot) -> Mapping[str, float]:
    """Return the totals since midnight UTC, by the metrics that show them."""
    today = facts.today
    if today is None:
        return {}
    return {
        "failures": today.failures,
        "retries": today.retries,
        "pops": today.wait.count,
        "runs": today.run.count,
        "wait": today.wait.count * today.wait.mean,
        "run": today.run.count * today.run.mean,
    }
