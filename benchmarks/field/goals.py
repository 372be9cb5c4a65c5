"""What Headrace must reach beside the others: ratios within a round, and a few plain figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from benchmarks.bars import Bar, beside
from benchmarks.field.contestants import BARE, OURS, OURS_LEAN, RIVALS
from benchmarks.field.run import Found
from benchmarks.field.workloads import waiting

PURE_PYTHON = frozenset(who.name for who in RIVALS if who.pure_python)
SAME_SERVER = frozenset(who.name for who in RIVALS if who.server == "valkey")
# It is no queue on Redis, but a server of its own with a plain loop around its client.
OTHER_SERVER = frozenset(who.name for who in RIVALS if who.server != "valkey")

BEST = "the best rival"
LEAN = OURS_LEAN.name
SESSION_TTL = 3.0

Rows = dict[str, list[float]]


@dataclass(frozen=True)
class Goal:
    """Ours beside a rival, or beside the best of several in every round."""

    what: str
    part: str
    figure: str
    rivals: Collection[str]
    limit: float
    beside: str = ""
    at_least: bool = True
    ours: str = OURS.name

    def bar(self, found: Found) -> Bar:
        rows = rounds(found, self.part, self.figure)
        theirs = best_of_each_round(rows, self.rivals, max if self.at_least else min)
        return Bar(
            f"{self.what}, of {self.beside or ', '.join(self.rivals)}",
            beside(rows.get(self.ours, []), theirs),
            self.limit,
            "x",
            self.at_least,
        )


def rounds(found: Found, part: str, figure: str) -> Rows:
    """The rounds of a figure, of those who have it."""
    everybody = found.get(part, {}).items()
    return {who: figures[figure] for who, figures in everybody if figure in figures}


def best_of_each_round(
    rows: Rows, among: Collection[str], best: Callable[..., float]
) -> list[float]:
    """The best figure of every round among those who were there."""
    there = [rows[name] for name in among if name in rows]
    return [best(found) for found in zip(*there, strict=False)]


GOALS = (
    Goal("put", "put", "rate", ["huey"], 1.2),
    Goal("put", "put", "rate", ["bee-queue"], 1.0),
    Goal("put in bulk", "bulk", "rate", ["ardiq"], 1.0),
    Goal("put in bulk", "bulk", "rate", ["bullmq"], 2.5),
    Goal("put in bulk", "bulk", "rate", ["streaq"], 4.0),
    Goal("drain", "drain", "rate", ["bullmq"], 1.2),
    Goal("drain", "drain", "rate", ["bee-queue"], 1.0),
    Goal("drain", "drain", "rate", PURE_PYTHON, 6.0, "the best in pure Python"),
    Goal("drain by two", "drain2", "rate", SAME_SERVER, 1.2, BEST),
    Goal("drain by two", "drain2", "rate", OTHER_SERVER, 1.2),
    Goal("latency p50", "latency", "p50", SAME_SERVER, 1.0, BEST, at_least=False),
    Goal("latency p99", "latency", "p99", SAME_SERVER, 1.0, BEST, at_least=False),
    Goal("latency p50", "latency", "p50", OTHER_SERVER, 1.0, at_least=False),
    Goal("latency p99", "latency", "p99", OTHER_SERVER, 1.0, at_least=False),
    Goal("latency p50", "latency", "p50", [BARE.name], 2.0, at_least=False),
    Goal("jobs that wait", "io", "rate", ["ardiq"], 1.1),
    Goal("bytes", "bytes", "bytes", ["bullmq"], 1.0, at_least=False),
    Goal("bytes, profile task", "bytes", "bytes", ["huey"], 1.5, at_least=False, ours=LEAN),
)


def judge(found: Found) -> Iterator[Bar]:
    """Every bar."""
    for goal in GOALS:
        yield goal.bar(found)
    yield from of_waiting(found)
    yield from of_kills(found)
    idle = found.get("idle", {}).get(OURS.name, {})
    yield Bar("idle memory (Pss)", max(idle.get("pss_mib", ()), default=None), 60, "MiB")
    yield Bar("idle CPU, of a core", max(idle.get("cpu_percent", ()), default=None), 1.0, "%")
    pops = found.get("pop", {}).get(OURS.name, {})
    ratio = beside(pops.get("many_p99", ()), pops.get("few_p99", ()))
    yield Bar("pop p99 while 10^6 wait, of 10^3", ratio, 2.0, "x")


def of_waiting(found: Found) -> Iterator[Bar]:
    ours = rounds(found, "io", "rate").get(OURS.name, [])
    share = beside(ours, [waiting.CEILING] * len(ours))
    yield Bar("jobs that wait, of the ceiling", share, 0.9, "x", at_least=True)


def of_kills(found: Found) -> Iterator[Bar]:
    """Nothing lost, soon, and sooner than all who lose nothing either."""
    for what, part in (("worker killed", "kill"), ("process killed", "kill-process")):
        lost = rounds(found, part, "lost").get(OURS.name, [])
        yield Bar(f"{what}, lost", max(lost, default=None), 0, "jobs")
        again = rounds(found, part, "again_s").get(OURS.name, [])
        yield Bar(f"{what}, until all runs again", max(again, default=None), SESSION_TTL + 2, "s")
    rows = rounds(found, "kill", "again_s")
    safe = {who for who, lost in rounds(found, "kill", "lost").items() if not any(lost)}
    soonest = "the soonest rival that loses nothing"
    for whose, rivals in ((soonest, SAME_SERVER), (", ".join(OTHER_SERVER), OTHER_SERVER)):
        theirs = best_of_each_round(rows, rivals & safe, min)
        ratio = beside(rows.get(OURS.name, []), theirs)
        yield Bar(f"worker killed, of {whose}", ratio, 1.0, "x")
