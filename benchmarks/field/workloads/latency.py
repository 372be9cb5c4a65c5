"""From before the put to the first line of the task, while there is nothing else to do."""

from __future__ import annotations

from benchmarks.bars import percentiles
from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant

# What is still on its way when the last job was put.
LAST = 15.0


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    """Milliseconds; a job every 20 ms."""
    count = bench.effort.latencies
    turn = bench.turn(who, count)
    with turn.worker():
        turn.produce("pace", count)
        turn.waited(lambda: len(turn.lines("late")) >= count, LAST)
    waited = [float(line) * 1000 for line in turn.lines("late")]
    if len(waited) < count:
        raise turn.failure(f"{len(waited)} of {count} jobs began")
    return percentiles(waited)
