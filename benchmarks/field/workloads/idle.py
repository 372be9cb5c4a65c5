"""What a worker takes that has nothing to do."""

from __future__ import annotations

import time

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant

SETTLE = 5.0


def measure(bench: Bench, who: Contestant) -> dict[str, float]:
    """Memory and processor time of all its processes; alone, as others would share its memory."""
    seconds = bench.effort.idle_seconds
    with bench.turn(who, 1).worker() as worker:
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
