"""Server memory of a waiting job, including its event and its index entries."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor

# Slow competitors get time to put enough jobs. One-time costs such as scripts do not count.
SECONDS = 20.0
FIRST = 100


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Return bytes per job, measured after all jobs are put and their producer has ended."""
    trial = bench.trial(competitor, bench.effort.jobs)
    trial.fill("noop", FIRST, SECONDS)
    before = trial.server.memory()
    jobs = trial.fill("noop", bench.effort.jobs, SECONDS)
    return {"bytes": (trial.server.memory() - before) / jobs}
