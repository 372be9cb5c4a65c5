"""Draining jobs that were put before, by one process or two: jobs a second, first to last."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant, Load
from benchmarks.field.turn import PATIENCE, Turn, Worker

# To look takes time that is the worker's; when jobs began is known without.
SELDOM = 0.1


def by_one(bench: Bench, who: Contestant) -> dict[str, float]:
    return _drain(bench, who, 1)


def by_two(bench: Bench, who: Contestant) -> dict[str, float]:
    return _drain(bench, who, 2)


def _drain(bench: Bench, who: Contestant, processes: int) -> dict[str, float]:
    effort = bench.effort
    turn = bench.turn(who, effort.jobs * processes, Load(processes))
    jobs = turn.fill("noop", effort.jobs * processes, effort.seconds)
    with turn.worker() as worker:
        costs = watch(turn, worker, jobs, effort.seconds)
    return {"rate": rate(turn.times(), processes), **costs}


def watch(turn: Turn, worker: Worker, jobs: int, seconds: float) -> dict[str, float]:
    """Wait until all is done or the time is over; what a job cost on both sides meanwhile."""
    turn.wait(lambda: turn.counted() > 0, "the worker began no job", PATIENCE)
    first, cpu, server = turn.counted(), worker.cpu(), turn.server.cpu()
    turn.waited(lambda: turn.counted() >= jobs, seconds, SELDOM)
    counted = max(1, turn.counted() - first) / 1e6
    return {
        "cpu_us": (worker.cpu() - cpu) / counted,
        "server_us": (turn.server.cpu() - server) / counted,
    }


def rate(times: list[list[float]], processes: int) -> float:
    """Jobs a second, from when as many processes worked as there should."""
    begun = sorted(each[0] for each in times)[min(processes, len(times)) - 1]
    later = [at for each in times for at in each if at > begun]
    return len(later) / (max(later) - begun)
