"""Jobs that compute, 50 ms each, on two processes."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant, Load
from benchmarks.field.workloads.drain import watch
from benchmarks.field.workloads.waiting import ended_rate
from benchmarks.rivals.tally import BURN

PROCESSES = 2
CEILING = PROCESSES / BURN


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    effort = bench.effort
    turn = bench.turn(who, effort.burns, Load(PROCESSES))
    jobs = turn.fill("burn", effort.burns, effort.seconds)
    with turn.worker() as worker:
        # One process alone would take twice the time of two.
        watch(turn, worker, jobs, 2 * jobs / CEILING + effort.seconds)
    return {"rate": ended_rate(turn)}
