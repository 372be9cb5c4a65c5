"""Drain jobs that were put beforehand, with one or two processes."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor, Load
from benchmarks.comparison.trial import TIMEOUT, Trial, Worker

# Poll rarely: polling takes CPU time from the worker, and the jobs record their own times.
SELDOM = 0.1


def by_one(bench: Bench, competitor: Competitor) -> dict[str, float]:
    return _drain(bench, competitor, 1)


def by_two(bench: Bench, competitor: Competitor) -> dict[str, float]:
    return _drain(bench, competitor, 2)


def _drain(bench: Bench, competitor: Competitor, processes: int) -> dict[str, float]:
    effort = bench.effort
    trial = bench.trial(competitor, effort.jobs * processes, Load(processes))
    jobs = trial.fill("noop", effort.jobs * processes, effort.seconds)
    with trial.worker() as worker:
        costs = watch(trial, worker, jobs, effort.seconds)
    return {"rate": rate(trial.times(), processes), **costs}


def watch(trial: Trial, worker: Worker, jobs: int, seconds: float) -> dict[str, float]:
    """Wait until all jobs are done or the time is over; return the CPU time per job."""
    trial.wait(lambda: trial.counted() > 0, "the worker started no job", TIMEOUT)
    first, cpu, server = trial.counted(), worker.cpu(), trial.server.cpu()
    trial.waited(lambda: trial.counted() >= jobs, seconds, SELDOM)
    counted = max(1, trial.counted() - first) / 1e6
    return {
        "cpu_us": (worker.cpu() - cpu) / counted,
        "server_us": (trial.server.cpu() - server) / counted,
    }


def rate(times: list[list[float]], processes: int) -> float:
    """Return jobs per second, counted from the moment when all expected processes work."""
    begun = sorted(each[0] for each in times)[min(processes, len(times)) - 1]
    later = [at for each in times for at in each if at > begun]
    return len(later) / (max(later) - begun)
