"""Jobs that wait 10 ms each, 100 concurrent jobs in one process."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor, Load
from benchmarks.comparison.trial import Trial
from benchmarks.comparison.workloads.drain import watch
from benchmarks.competitors.job_log import NAP

AT_ONCE = 100
CEILING = AT_ONCE / NAP


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    effort = bench.effort
    trial = bench.trial(competitor, effort.naps, Load(concurrency=AT_ONCE))
    jobs = trial.fill("nap", effort.naps, effort.seconds)
    with trial.worker() as worker:
        watch(trial, worker, jobs, effort.seconds)
    return {"rate": ended_rate(trial)}


def ended_rate(trial: Trial) -> float:
    """Return jobs per second, from the start of the first job to the end of the last."""
    ends = [at for each in trial.times() for at in each]
    return len(ends) / (max(ends) - min(float(line) for line in trial.lines("begun")))
