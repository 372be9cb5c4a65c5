"""Put jobs one at a time or in bulk: jobs per second, and CPU time of client and server."""

from __future__ import annotations

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor


def one_at_a_time(bench: Bench, competitor: Competitor) -> dict[str, float]:
    return _put(bench, competitor, "put")


def in_bulk(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Use the bulk call with 1,000 jobs per call, or 50 concurrent async puts."""
    return _put(bench, competitor, "bulk")


def _put(bench: Bench, competitor: Competitor, how: str) -> dict[str, float]:
    effort = bench.effort
    trial = bench.trial(competitor, effort.jobs)
    before = trial.server.cpu()
    found = trial.produce(how, "noop", effort.jobs, effort.seconds)
    server = trial.server.cpu() - before
    return {
        "rate": found["jobs"] / found["seconds"],
        "cpu_us": found["cpu"] / found["jobs"] * 1e6,
        "server_us": server / found["jobs"] * 1e6,
    }
