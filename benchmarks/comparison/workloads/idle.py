"""Memory and CPU time of an idle worker."""

from __future__ import annotations

import time

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor

SETTLE = 5.0


def measure(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Measure all processes of the worker while no other worker runs and shares memory."""
    seconds = bench.effort.idle_seconds
    with bench.trial(competitor, 1).worker() as worker:
        time.sleep(SETTLE)
        before = worker.cpu()
        time.sleep(seconds)
        used = worker.cpu() - before
        pss, rss = worker.memory_mib()
        return {
            "processes": len(worker.members()),
            "pss_mib": pss,
            "rss_mib": rss,
            "cpu_percent": 100 * used / seconds,
        }
