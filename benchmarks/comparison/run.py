"""One run: install the competitors, run the workloads, collect figures and failures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import redis
from rich.console import Console

from benchmarks.comparison.bench import Bench
from benchmarks.comparison.competitors import Competitor
from benchmarks.comparison.environments import InstallError, install
from benchmarks.comparison.registry import Figures, Workload
from benchmarks.comparison.trial import NotMeasured, stopped

# The figures of each round, by workload, competitor and name.
Measurements = dict[str, dict[str, dict[str, list[float]]]]


FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+-]+/)+")
# Errors of one competitor that do not end the run. A competitor that fails may leave an incomplete
# report file, which raises some of these errors.
BROKEN = (NotMeasured, OSError, ArithmeticError, LookupError, ValueError, redis.RedisError)


@dataclass
class Run:
    """A run that stores each result at once, so that an interrupted run also has results."""

    bench: Bench
    console: Console
    found: Measurements = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def installed(self, competitors: Iterable[Competitor]) -> list[Competitor]:
        """Return the competitors that can be installed; record the reason for the others."""
        wanted = list(competitors)
        failed: set[str] = set()
        for environment, server in dict.fromkeys(
            (competitor.environment, competitor.server)
            for competitor in wanted
            if competitor.environment
        ):
            try:
                with self.console.status(f"{environment}: installing"):
                    install(environment)
                    check_server(server)
            except InstallError as error:
                failed.add(environment)
                self.record_failure(environment, str(error))
        return [competitor for competitor in wanted if competitor.environment not in failed]

    def measure(self, workload: Workload, competitors: Collection[Competitor]) -> None:
        """Run a workload with all competitors in turn; exclude a competitor after it fails."""
        participants = [
            competitor for competitor in competitors if workload.name in competitor.workloads
        ]
        rounds = self.bench.effort.rounds * workload.rounds_factor
        for number in range(1, rounds + 1):
            there = [
                competitor
                for competitor in participants
                if number == 1 or not workload.once or not competitor.environment
            ]
            label = f"{workload.about}, round {number} of {rounds}"
            alone = [
                competitor
                for competitor in there
                if workload.parallel == 1 or not competitor.environment
            ]
            failed = [
                competitor for competitor in alone if not self.try_one(workload, competitor, label)
            ]
            failed += self.try_together(
                workload, [competitor for competitor in there if competitor not in alone], label
            )
            participants = [competitor for competitor in participants if competitor not in failed]

    def try_one(self, workload: Workload, competitor: Competitor, label: str) -> bool:
        with self.console.status(f"{label}: {competitor.name}"):
            return self.record(
                workload, competitor, label, lambda: workload.measure(self.bench, competitor)
            )

    def try_together(
        self, workload: Workload, competitors: list[Competitor], label: str
    ) -> list[Competitor]:
        """Measure several competitors at the same time; return the competitors that failed."""
        names = ", ".join(competitor.name for competitor in competitors)
        with (
            self.console.status(f"{label}: {names}"),
            ThreadPoolExecutor(workload.parallel) as pool,
        ):
            doing = {
                pool.submit(workload.measure, self.bench, competitor): competitor
                for competitor in competitors
            }
            try:
                kept = {
                    each: self.record(workload, doing[each], label, each.result)
                    for each in as_completed(doing)
                }
            except BaseException:
                stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [doing[each] for each, is_kept in kept.items() if not is_kept]

    def record(
        self, workload: Workload, competitor: Competitor, label: str, measure: Callable[[], Figures]
    ) -> bool:
        """Record the figures of one round, or the reason why the round has no figures."""
        try:
            figures = measure()
        except BROKEN as error:
            self.found.get(workload.name, {}).pop(competitor.name, None)
            self.record_failure(f"{competitor.name}, {workload.about}", str(error) or repr(error))
            return False
        rows = self.found.setdefault(workload.name, {}).setdefault(competitor.name, {})
        for name, figure in figures.items():
            rows.setdefault(name, []).append(figure)
        self.print(f"{label}: {competitor.name}  {shown(figures)}")
        return True

    def record_failure(self, what: str, why: str) -> None:
        """Print a reason, and record it without the paths of this machine."""
        self.missing[what] = FOLDERS.sub("", why)
        self.print(f"not measured: {what}: {why}")

    def print(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def check_server(server: str) -> None:
    """Raise InstallError if a server that is not part of this project is missing."""
    if server != "valkey" and not shutil.which(server):
        raise InstallError(f"{server} is not installed; Debian has a package of that name")


def shown(figures: Figures) -> str:
    return "  ".join(f"{name} {figure:,.2f}" for name, figure in figures.items())
