"""The targets of Headrace in the comparison: ratios per round, and a few absolute figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from benchmarks.comparison.competitors import BARE_LIST, COMPETITORS, HEADRACE, HEADRACE_LEAN
from benchmarks.comparison.run import Measurements
from benchmarks.comparison.workloads import waiting
from benchmarks.targets import Target, median_ratio

PURE_PYTHON = frozenset(competitor.name for competitor in COMPETITORS if competitor.pure_python)
SAME_SERVER = frozenset(
    competitor.name for competitor in COMPETITORS if competitor.server == "valkey"
)
# beanstalkd does not use Redis. It is a separate server, and its worker is a minimal loop.
OTHER_SERVER = frozenset(
    competitor.name for competitor in COMPETITORS if competitor.server != "valkey"
)

BEST = "the best competitor"
LEAN = HEADRACE_LEAN.name
SESSION_TTL = 3.0

Rows = dict[str, list[float]]


@dataclass(frozen=True)
class RatioTarget:
    """The ratio of Headrace to one competitor, or to the best of several competitors per round."""

    what: str
    workload: str
    figure: str
    competitors: Collection[str]
    limit: float
    reference: str = ""
    at_least: bool = True
    ours: str = HEADRACE.name

    def target(self, found: Measurements) -> Target:
        rows = rounds(found, self.workload, self.figure)
        theirs = best_of_each_round(rows, self.competitors, max if self.at_least else min)
        return Target(
            f"{self.what}, of {self.reference or ', '.join(self.competitors)}",
            median_ratio(rows.get(self.ours, []), theirs),
            self.limit,
            "x",
            self.at_least,
        )


def rounds(found: Measurements, workload: str, figure: str) -> Rows:
    """Return the rounds of a figure, by competitor."""
    everybody = found.get(workload, {}).items()
    return {competitor: figures[figure] for competitor, figures in everybody if figure in figures}


def best_of_each_round(
    rows: Rows, among: Collection[str], best: Callable[..., float]
) -> list[float]:
    """Return the best figure of every round among the given competitors."""
    there = [rows[name] for name in among if name in rows]
    return [best(found) for found in zip(*there, strict=False)]


RATIO_TARGETS = (
    RatioTarget("put", "put", "rate", ["huey"], 1.2),
    RatioTarget("put", "put", "rate", ["bee-queue"], 1.0),
    RatioTarget("put in bulk", "bulk", "rate", ["ardiq"], 1.0),
    RatioTarget("put in bulk", "bulk", "rate", ["bullmq"], 2.5),
    RatioTarget("put in bulk", "bulk", "rate", ["streaq"], 4.0),
    RatioTarget("drain", "drain", "rate", ["bullmq"], 1.2),
    RatioTarget("drain", "drain", "rate", ["bee-queue"], 1.0),
    RatioTarget("drain", "drain", "rate", PURE_PYTHON, 6.0, "the best pure Python queue"),
    RatioTarget("drain by two", "drain2", "rate", SAME_SERVER, 1.2, BEST),
    RatioTarget("drain by two", "drain2", "rate", OTHER_SERVER, 1.2),
    RatioTarget("latency p50", "latency", "p50", SAME_SERVER, 1.0, BEST, at_least=False),
    RatioTarget("latency p99", "latency", "p99", SAME_SERVER, 1.0, BEST, at_least=False),
    RatioTarget("latency p50", "latency", "p50", OTHER_SERVER, 1.0, at_least=False),
    RatioTarget("latency p99", "latency", "p99", OTHER_SERVER, 1.0, at_least=False),
    RatioTarget("latency p50", "latency", "p50", [BARE_LIST.name], 2.0, at_least=False),
    RatioTarget("jobs that wait", "io", "rate", ["ardiq"], 1.1),
    RatioTarget("bytes", "bytes", "bytes", ["bullmq"], 1.0, at_least=False),
    RatioTarget("bytes, profile task", "bytes", "bytes", ["huey"], 1.5, at_least=False, ours=LEAN),
)


def evaluate(found: Measurements) -> Iterator[Target]:
    """Yield every target with its figure."""
    for each in RATIO_TARGETS:
        yield each.target(found)
    yield from of_waiting(found)
    yield from of_kills(found)
    idle = found.get("idle", {}).get(HEADRACE.name, {})
    yield Target("idle memory (Pss)", max(idle.get("pss_mib", ()), default=None), 60, "MiB")
    yield Target("idle CPU, of a core", max(idle.get("cpu_percent", ()), default=None), 1.0, "%")
    pops = found.get("pop", {}).get(HEADRACE.name, {})
    ratio = median_ratio(pops.get("many_p99", ()), pops.get("few_p99", ()))
    yield Target("pop p99 while 10^6 wait, of 10^3", ratio, 2.0, "x")


def of_waiting(found: Measurements) -> Iterator[Target]:
    ours = rounds(found, "io", "rate").get(HEADRACE.name, [])
    share = median_ratio(ours, [waiting.CEILING] * len(ours))
    yield Target("jobs that wait, of the ceiling", share, 0.9, "x", at_least=True)


def of_kills(found: Measurements) -> Iterator[Target]:
    """Yield the targets for killed workers: no lost jobs, a fast recovery, the fastest recovery."""
    for what, workload in (("worker killed", "kill"), ("process killed", "kill-process")):
        lost = rounds(found, workload, "lost").get(HEADRACE.name, [])
        yield Target(f"{what}, lost", max(lost, default=None), 0, "jobs")
        again = rounds(found, workload, "again_s").get(HEADRACE.name, [])
        yield Target(
            f"{what}, until all runs again", max(again, default=None), SESSION_TTL + 2, "s"
        )
    rows = rounds(found, "kill", "again_s")
    safe = {
        competitor for competitor, lost in rounds(found, "kill", "lost").items() if not any(lost)
    }
    fastest = "the fastest competitor that loses nothing"
    for whose, competitors in ((fastest, SAME_SERVER), (", ".join(OTHER_SERVER), OTHER_SERVER)):
        theirs = best_of_each_round(rows, competitors & safe, min)
        ratio = median_ratio(rows.get(HEADRACE.name, []), theirs)
        yield Target(f"worker killed, of {whose}", ratio, 1.0, "x")
