"""Latency from before the put to the first line of the task, with an idle worker."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.targets import percentiles

# How long to wait for jobs after the last put, in seconds.
LAST = 15.0


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Return milliseconds, with one job every 20 ms."""
    count = bench.effort.latencies
    trial = bench.trial(competitor, count)
    with trial.worker():
        trial.produce("pace", count)
        trial.waited(lambda: len(trial.lines("late")) >= count, LAST)
    waited = [float(line) * 1000 for line in trial.lines("late")]
    if len(waited) < count:
        raise trial.failure(f"{len(waited)} of {count} jobs began")
    return percentiles(waited)
