"""What a waiting job takes on the server: everything that is there because of it."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant

# Slow ones are given time to put enough jobs. What is there once, such as scripts, does not count.
SECONDS = 20.0
FIRST = 100


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    """Bytes, before and after so many jobs were put and their producer has gone."""
    turn = bench.turn(who, bench.effort.jobs)
    turn.fill("noop", FIRST, SECONDS)
    before = turn.server.memory()
    jobs = turn.fill("noop", bench.effort.jobs, SECONDS)
    return {"bytes": (turn.server.memory() - before) / jobs}
