"""Putting jobs one at a time, and many in a call: jobs a second, processor time of both sides."""

from __future__ import annotations

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant


def one_at_a_time(bench: Bench, who: Contestant) -> dict[str, float]:
    return _put(bench, who, "put")


def in_bulk(bench: Bench, who: Contestant) -> dict[str, float]:
    """By its own call for many, a thousand in each, or fifty awaited at once."""
    return _put(bench, who, "bulk")


def _put(bench: Bench, who: Contestant, how: str) -> dict[str, float]:
    effort = bench.effort
    turn = bench.turn(who, effort.jobs)
    before = turn.server.cpu()
    found = turn.produce(how, "noop", effort.jobs, effort.seconds)
    server = turn.server.cpu() - before
    return {
        "rate": found["jobs"] / found["seconds"],
        "cpu_us": found["cpu"] / found["jobs"] * 1e6,
        "server_us": server / found["jobs"] * 1e6,
    }
