"""A history to measure with: jobs of several queues over three days, some of which fail."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import headrace
from headrace import Fail
from headrace.engine.events import entry_number
from headrace.operations.event_log import logs
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive

QUEUES = ("mail", "resize", "invoice", "report")
FAILURES = ("Timeout", "BadInput", "Refused")
WORKERS = 8
JOBS_A_TURN = 1000
# A job that is put, popped and completed.
EVENTS_A_JOB = 3
DAYS = 3


def make_history(url: str, namespace: str, events: int, *, days_ago: float = DAYS - 0.5) -> int:
    """Create about this many events in the two days after `then`; return their number."""
    client, clock = open_with_clock(url, namespace=namespace)
    chance = random.Random(events)
    turns = -(-events // (EVENTS_A_JOB * JOBS_A_TURN))
    clock.set(datetime.now(UTC) - timedelta(days=days_ago))
    step = timedelta(days=DAYS - 1) / turns
    with client:
        client.config.set("events_count", 10 * events)
        for turn in range(turns):
            _turn(client, clock, chance, QUEUES[turn % len(QUEUES)])
            clock.tick(step)
        return sum(
            entry_number(ends.newest) for ends in drive(client.core.transport, logs(client.core))
        )


def _turn(client: headrace.Client, clock: Clock, chance: random.Random, name: str) -> None:
    queue = client.queue(name)
    queue.put_many(
        {"customer": chance.randrange(1000), "cents": chance.randrange(20_000)}
        for _ in range(JOBS_A_TURN)
    )
    left = JOBS_A_TURN
    while left:
        clock.tick(chance.expovariate(0.05))
        leases = queue.pop(f"worker-{chance.randrange(WORKERS)}", count=250)
        clock.tick(chance.expovariate(0.5))
        bad = [lease for lease in leases[:3] if chance.random() < 0.5]
        client.leases.complete(leases[len(bad) :])
        if bad:
            client.leases.fail(
                [Fail(lease, chance.choice(FAILURES), "as it happens") for lease in bad]
            )
        left -= len(leases)
