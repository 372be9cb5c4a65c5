"""The workloads of the comparison, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.comparison.workloads import (
    backlog,
    computing,
    drain,
    idle,
    kill,
    latency,
    memory,
    pop,
    put,
    waiting,
)

Figures = dict[str, float]


@dataclass(frozen=True)
class Workload:
    """A workload that all competitors run in turn, round after round."""

    name: str
    about: str
    measure: Callable[[Bench, Competitor], Figures]
    # Whether competitors run the workload once, because it takes minutes or hardly varies.
    once: bool = False
    # Factor for the number of rounds of a short workload, because the machine's speed varies.
    rounds_factor: int = 1
    # How many competitors run the workload at the same time, each on its own server.
    parallel: int = 1


WORKLOADS = (
    Workload("put", "put one at a time", put.one_at_a_time),
    Workload("bulk", "put in bulk", put.in_bulk),
    Workload("drain", "drain, one process", drain.by_one),
    Workload("drain2", "drain, two processes", drain.by_two),
    Workload("latency", "from put to start when idle", latency.measure, rounds_factor=3),
    Workload("io", "jobs that wait 10 ms, 100 at once", waiting.measure),
    Workload("cpu", "jobs that compute 50 ms, two processes", computing.measure),
    Workload("bytes", "bytes on the server for a waiting job", memory.measure, once=True),
    Workload("idle", "a worker with nothing to do", idle.measure, once=True),
    Workload("pop", "pop while many wait", pop.measure),
    Workload("backlog", "drain while a million wait", backlog.measure, once=True),
    Workload("kill-process", "kill -9 of the process that runs the jobs", kill.of_a_process),
    Workload("kill", "kill -9 of the worker", kill.of_the_worker, once=True, parallel=6),
)
