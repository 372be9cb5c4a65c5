"""Drain the first jobs of a million, compared with the same number of jobs alone."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.comparison.trial import Trial
from benchmarks.comparison.workloads.drain import rate, watch

# The maximum time to put the million jobs, in seconds.
FILLING = 90.0
# The worker may run more jobs than the jobs that count.
ROOM = 10


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Return jobs per second."""
    jobs = bench.effort.jobs
    few = bench.trial(competitor, jobs)
    found = few.produce("bulk", "noop", jobs, bench.effort.seconds)
    needed = bench.effort.backlog * found["seconds"] / found["jobs"]
    if needed > FILLING:
        raise few.failure(f"{bench.effort.backlog:,} jobs would take {needed:.0f} s to put")
    with_few = _drained(few, jobs, bench.effort.seconds)
    many = bench.trial(competitor, jobs * ROOM)
    many.fill("noop", bench.effort.backlog, FILLING)
    return {"few": with_few, "many": _drained(many, jobs, bench.effort.seconds)}


def _drained(trial: Trial, jobs: int, seconds: float) -> float:
    with trial.worker() as worker:
        watch(trial, worker, jobs, seconds)
    times = sorted(at for each in trial.times() for at in each)
    return rate([times[:jobs]], 1)
