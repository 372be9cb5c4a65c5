"""Jobs that wait for something else: 10 ms each, a hundred at once in one process."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant, Load
from benchmarks.field.turn import Turn
from benchmarks.field.workloads.drain import watch
from benchmarks.rivals.tally import NAP

AT_ONCE = 100
CEILING = AT_ONCE / NAP


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    effort = bench.effort
    turn = bench.turn(who, effort.naps, Load(concurrency=AT_ONCE))
    jobs = turn.fill("nap", effort.naps, effort.seconds)
    with turn.worker() as worker:
        watch(turn, worker, jobs, effort.seconds)
    return {"rate": ended_rate(turn)}


def ended_rate(turn: Turn) -> float:
    """Jobs a second, from the begin of the first to the end of the last."""
    ends = [at for each in turn.times() for at in each]
    return len(ends) / (max(ends) - min(float(line) for line in turn.lines("begun")))
