"""Draining the first jobs of a million, beside as many that are all there is."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant
from benchmarks.field.turn import Turn
from benchmarks.field.workloads.drain import rate, watch

# How long the million may take to put.
FILLING = 90.0
# The worker may go on for a moment after those that count.
ROOM = 10


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    """Jobs a second."""
    jobs = bench.effort.jobs
    few = bench.turn(who, jobs)
    found = few.produce("bulk", "noop", jobs, bench.effort.seconds)
    needed = bench.effort.backlog * found["seconds"] / found["jobs"]
    if needed > FILLING:
        raise few.failure(f"{bench.effort.backlog:,} jobs would take {needed:.0f} s to put")
    with_few = _drained(few, jobs, bench.effort.seconds)
    many = bench.turn(who, jobs * ROOM)
    many.fill("noop", bench.effort.backlog, FILLING)
    return {"few": with_few, "many": _drained(many, jobs, bench.effort.seconds)}


def _drained(turn: Turn, jobs: int, seconds: float) -> float:
    with turn.worker() as worker:
        watch(turn, worker, jobs, seconds)
    times = sorted(at for each in turn.times() for at in each)
    return rate([times[:jobs]], 1)
