"""Snapshots and views for the tests of `top`, and a namespace with some work done."""

from __future__ import annotations

from datetime import timedelta

import headrace
from headrace import Client, Counts
from headrace.cli.top.model import (
    SnapshotHistory,
    View,
)
from headrace.engine.check import EPOCH
from headrace.engine.statistics import Series, Stats
from headrace.operations.namespace_snapshot import (
    NamespaceSnapshot,
    QueueSnapshot,
    ServerInfo,
)

SERVER = ServerInfo("Valkey 9.1.2", 1, 2_000_000, 8_000_000, 12, 3, 7200)


def queue(put: int = 0, done: int = 0, waiting: int = 0, day: Stats | None = None) -> QueueSnapshot:
    counts = Counts(waiting, 0, 0, 0, 0, 0, 0, 0, paused=False)
    return QueueSnapshot(counts, {"put": put, "complete": done}, day)


def totals(number: int, failures: int, wait: dict[str, int], run: dict[str, int]) -> Stats:
    waits, runs = (Series(sum(bins.values()), 0.0, 0.0, bins) for bins in (wait, run))
    day = EPOCH + timedelta(days=number)
    return Stats("mail", day, waits, runs, failed=0, failures=failures, retries=0)


def at(seconds: float, **queues: QueueSnapshot) -> NamespaceSnapshot:
    return NamespaceSnapshot(seconds * 1000, SERVER, queues)


def view_of(*snapshots: NamespaceSnapshot, order: str = "first use") -> View:
    history = SnapshotHistory()
    for one in snapshots:
        history.add(one)
    return history.view(order)


def work(client: Client, jobs: int) -> None:
    mail = client.queue("mail")
    mail.put_many([headrace.Put(number, id=f"job-{number}") for number in range(jobs)])
    session = client.session("ann", ttl=None)
    session.serve("mail")
    leases = mail.pop("ann", count=5)
    for lease in leases[:2]:
        lease.complete()
    leases[2].fail("smtp", "busy")
