"""kill -9 of a worker during its jobs; a new worker starts at once, as with an orchestrator."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.comparison.processes import kill
from benchmarks.comparison.servers import private
from benchmarks.comparison.trial import TIMEOUT, Trial

FILLING = 20.0
MIDDLE = 0.4
# Jobs unfinished after this time count as lost.
LOST_AFTER = 120.0


@dataclass(frozen=True)
class Step:
    """The start or the end of a job: number, time and process."""

    what: str
    number: int
    at: float
    pid: int


def parsed(lines: Iterable[str]) -> list[Step]:
    words = (line.split() for line in lines)
    return [Step(what, int(number), float(at), int(pid)) for what, number, at, pid in words]


def of_the_worker(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Kill all processes of the worker."""
    with private(competitor.server, bench.directory) as server:
        trial = bench.trial_on(server, competitor, bench.effort.steps)
        jobs = trial.fill("step", bench.effort.steps, FILLING)
        with trial.worker() as worker:
            killed = kill_in_the_middle(trial, jobs, worker.members)
            worker.end()
            with trial.worker():
                wait_for_the_end(trial, jobs)
    return figures(steps_of(trial), jobs, killed)


def of_a_process(bench: Bench, competitor: Competitor) -> dict[str, float]:
    """Kill only the process that runs the jobs; its supervisor survives."""
    with private(competitor.server, bench.directory) as server:
        trial = bench.trial_on(server, competitor, bench.effort.steps)
        jobs = trial.fill("step", bench.effort.steps, FILLING)
        with trial.worker():
            killed = kill_in_the_middle(trial, jobs, lambda: {s.pid for s in steps_of(trial)})
            wait_for_the_end(trial, jobs)
    return figures(steps_of(trial), jobs, killed)


def steps_of(trial: Trial) -> list[Step]:
    return parsed(trial.lines("steps"))


def kill_in_the_middle(trial: Trial, jobs: int, victims: Callable[[], Collection[int]]) -> float:
    """Kill processes while they run a job; return the time of the kill."""
    chosen: Collection[int] = ()

    def there() -> bool:
        # Find the processes before the jobs run, because the search takes as long as a job.
        nonlocal chosen
        chosen = victims()
        words = Counter(line.partition(" ")[0] for line in trial.lines("steps"))
        return words["ended"] >= jobs * MIDDLE and words["begun"] > words["ended"]

    trial.wait(there, "the worker did not finish enough jobs", TIMEOUT)
    kill(chosen)
    return time.monotonic()


def wait_for_the_end(trial: Trial, jobs: int) -> None:
    def there() -> bool:
        return len({step.number for step in steps_of(trial) if step.what == "ended"}) >= jobs

    trial.waited(there, LOST_AFTER)


def figures(steps: list[Step], jobs: int, killed: float) -> dict[str, float]:
    """Return the outcome of the jobs; a time is missing if its jobs did not finish."""
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
