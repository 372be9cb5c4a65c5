"""kill -9 of a worker in the middle of its jobs; a new one comes at once, as orchestrators do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant
from benchmarks.field.processes import kill
from benchmarks.field.servers import private
from benchmarks.field.turn import PATIENCE, Turn

FILLING = 20.0
MIDDLE = 0.4
# What has not ended then is lost.
LOST_AFTER = 120.0


@dataclass(frozen=True)
class Step:
    """A job began or ended, at this time, in this process."""

    what: str
    number: int
    at: float
    pid: int


def parsed(lines: Iterable[str]) -> list[Step]:
    words = (line.split() for line in lines)
    return [Step(what, int(number), float(at), int(pid)) for what, number, at, pid in words]


def of_the_worker(bench: Bench, who: Contestant) -> dict[str, float]:
    """All its processes are killed."""
    with private(who.server, bench.home) as server:
        turn = bench.turn_on(server, who, bench.effort.steps)
        jobs = turn.fill("step", bench.effort.steps, FILLING)
        with turn.worker() as worker:
            killed = kill_in_the_middle(turn, jobs, worker.members)
            worker.end()
            with turn.worker():
                wait_for_the_end(turn, jobs)
    return figures(told(turn), jobs, killed)


def of_a_process(bench: Bench, who: Contestant) -> dict[str, float]:
    """Only the process that runs the jobs is killed; who watches over it lives."""
    with private(who.server, bench.home) as server:
        turn = bench.turn_on(server, who, bench.effort.steps)
        jobs = turn.fill("step", bench.effort.steps, FILLING)
        with turn.worker():
            killed = kill_in_the_middle(turn, jobs, lambda: {s.pid for s in told(turn)})
            wait_for_the_end(turn, jobs)
    return figures(told(turn), jobs, killed)


def told(turn: Turn) -> list[Step]:
    return parsed(turn.lines("steps"))


def kill_in_the_middle(turn: Turn, jobs: int, victims: Callable[[], Collection[int]]) -> float:
    """Kill them while they are at a job; when that was."""
    chosen: Collection[int] = ()

    def there() -> bool:
        # To find them takes as long as a job, so they are found first.
        nonlocal chosen
        chosen = victims()
        words = Counter(line.partition(" ")[0] for line in turn.lines("steps"))
        return words["ended"] >= jobs * MIDDLE and words["begun"] > words["ended"]

    turn.wait(there, "the worker did not come to the middle", PATIENCE)
    kill(chosen)
    return time.monotonic()


def wait_for_the_end(turn: Turn, jobs: int) -> None:
    def there() -> bool:
        return len({step.number for step in told(turn) if step.what == "ended"}) >= jobs

    turn.waited(there, LOST_AFTER)


def figures(steps: list[Step], jobs: int, killed: float) -> dict[str, float]:
    """What became of the jobs; times only where they came."""
    ends = Counter(step.number for step in steps if step.what == "ended")
    ended = {(step.number, step.pid) for step in steps if step.what == "ended"}
    begun = [step for step in steps if step.what == "begun"]
    in_flight = {s.number for s in begun if s.at <= killed and (s.number, s.pid) not in ended}
    again: dict[int, float] = {}
    for step in begun:
        if step.number in in_flight and step.at > killed:
            again.setdefault(step.number, step.at - killed)
    found: dict[str, float] = {
        "lost": jobs - len(ends),
        "doubled": sum(count > 1 for count in ends.values()),
        "in_flight": len(in_flight),
    }
    if in_flight and len(again) == len(in_flight):
        found["again_s"] = max(again.values())
    if not found["lost"]:
        found["done_s"] = max(step.at for step in steps if step.what == "ended") - killed
    return found
