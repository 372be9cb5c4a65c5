"""The parts of the benchmark, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant
from benchmarks.field.workloads import (
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
class Part:
    """A workload that all contestants do in turn, again and again."""

    name: str
    about: str
    measure: Callable[[Bench, Contestant], Figures]
    # Rivals do once what takes minutes, or does not differ from round to round.
    once: bool = False
    # So many times the rounds, of which each is short: the pace of a machine changes by the minute.
    often: int = 1
    # How many rivals may do it at the same time, each on its own server: it is mostly waiting.
    together: int = 1


PARTS = (
    Part("put", "put one at a time", put.one_at_a_time),
    Part("bulk", "put in bulk", put.in_bulk),
    Part("drain", "drain, one process", drain.by_one),
    Part("drain2", "drain, two processes", drain.by_two),
    Part("latency", "from put to start when idle", latency.measure, often=3),
    Part("io", "jobs that wait 10 ms, 100 at once", waiting.measure),
    Part("cpu", "jobs that compute 50 ms, two processes", computing.measure),
    Part("bytes", "bytes on the server for a waiting job", memory.measure, once=True),
    Part("idle", "a worker with nothing to do", idle.measure, once=True),
    Part("pop", "pop while many wait", pop.measure),
    Part("backlog", "drain while a million wait", backlog.measure, once=True),
    Part("kill-process", "kill -9 of the process that runs the jobs", kill.of_a_process),
    Part("kill", "kill -9 of the worker", kill.of_the_worker, once=True, together=6),
)
