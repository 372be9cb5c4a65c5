"""Jobs that compute for 50 ms each, in two processes."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor, Load
from benchmarks.comparison.workloads.drain import watch
from benchmarks.comparison.workloads.waiting import ended_rate
from benchmarks.competitors.job_log import BURN

PROCESSES = 2
CEILING = PROCESSES / BURN


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    effort = bench.effort
    trial = bench.trial(competitor, effort.burns, Load(PROCESSES))
    jobs = trial.fill("burn", effort.burns, effort.seconds)
    with trial.worker() as worker:
        # One process would take twice as long as two processes.
        watch(trial, worker, jobs, 2 * jobs / CEILING + effort.seconds)
    return {"rate": ended_rate(trial)}
