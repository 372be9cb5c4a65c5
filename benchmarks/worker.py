"""The worker beside dramatiq, huey, taskiq and BullMQ on one server in one run: draining jobs that
do nothing, latency when idle, recovery from kill -9, memory and CPU of a worker with nothing to do.
Each is set up as its documentation advises; the versions are in benchmarks/rivals.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.rivals.bars import Bar, judge, percentiles
from benchmarks.rivals.field import BARE, RIVALS, CannotInstall, Contestant, headrace, install
from benchmarks.rivals.measure import Bench, NotMeasured
from headrace.client.scratch import private_server, scratch_directory

RESULTS = Path(__file__).parent / "results"
HOST = "127.0.0.1"
PARTS = ("drain", "latency", "kill", "idle")


@dataclass(frozen=True)
class Effort:
    """How much of each is done."""

    rounds: int
    jobs: int
    latencies: int
    idle_seconds: float
    # Whether rivals are also measured where we are held against something else.
    rivals_everywhere: bool


WHOLE = Effort(rounds=3, jobs=20_000, latencies=500, idle_seconds=20, rivals_everywhere=True)
QUICK = Effort(rounds=1, jobs=5_000, latencies=100, idle_seconds=5, rivals_everywhere=False)


@dataclass
class Run:
    """One run: what was found, and who fell out and why."""

    bench: Bench
    effort: Effort
    console: Console
    drain: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    latency: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    recovery: dict[str, list[float]] = field(default_factory=dict)
    idle: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def do(self, parts: Iterable[str]) -> None:
        """Do these parts, one after the other."""
        rivals = self.installed()
        if "drain" in parts:
            self.rounds("drain", self.drain, (headrace("noop"), *rivals), self.drained)
        if not self.effort.rivals_everywhere:
            rivals = []
        if "latency" in parts:
            self.rounds("latency", self.latency, (BARE, headrace("late"), *rivals), self.waited)
        if "kill" in parts:
            self.kills()
        if "idle" in parts:
            self.rounds("idle", self.idle, (headrace("noop"), *rivals), self.rested, once=True)

    def installed(self) -> list[Contestant]:
        """The rivals that are here; what stands in the way of the others is kept and shown."""
        failures: dict[str, str] = {}
        for home in dict.fromkeys(rival.home for rival in RIVALS):
            try:
                with self.console.status(f"{home}: installing, unless it is there"):
                    install(home)
            except CannotInstall as error:
                failures[home] = f"could not be installed: {error}"
        self.missing |= {who.name: failures[who.home] for who in RIVALS if who.home in failures}
        return [rival for rival in RIVALS if rival.home not in failures]

    def rounds(
        self,
        part: str,
        found: dict[str, dict[str, list[float]]],
        field: Sequence[Contestant],
        measure: Callable[[Contestant], dict[str, float]],
        *,
        once: bool = False,
    ) -> None:
        """All in turn, again and again; who fails once is left out of this part."""
        failed: set[str] = set()
        rounds = 1 if once else self.effort.rounds
        for number in range(1, rounds + 1):
            for who in field:
                if who.name in failed:
                    continue
                label = f"{part}, round {number} of {rounds}: {who.name}"
                try:
                    with self.console.status(label):
                        figures = measure(who)
                except NotMeasured as error:
                    failed.add(who.name)
                    self.missing[f"{who.name}, {part}"] = str(error)
                    found.pop(who.name, None)
                    continue
                self.console.print(f"{label}  {shown(figures)}", highlight=False, soft_wrap=True)
                for name, figure in figures.items():
                    found.setdefault(who.name, {}).setdefault(name, []).append(figure)

    def drained(self, who: Contestant) -> dict[str, float]:
        return self.bench.drain(who, self.effort.jobs)

    def waited(self, who: Contestant) -> dict[str, float]:
        return percentiles(self.bench.latency(who, self.effort.latencies))

    def rested(self, who: Contestant) -> dict[str, float]:
        return self.bench.idle(who, self.effort.idle_seconds)

    def kills(self) -> None:
        for number in range(1, self.effort.rounds + 1):
            for what in ("the process", "the tree"):
                label = f"kill -9 of {what}, round {number} of {self.effort.rounds}"
                try:
                    with self.console.status(label):
                        seconds = self.bench.recovery(whole_tree=what == "the tree")
                except NotMeasured as error:
                    self.missing[label] = str(error)
                    continue
                self.console.print(f"{label}  {seconds:.2f} s", highlight=False, soft_wrap=True)
                self.recovery.setdefault(what, []).append(seconds)

    def figures(self) -> dict[str, Any]:
        found = {"drain": self.drain, "latency": self.latency}
        return {**found, "recovery": self.recovery, "idle": self.idle, "missing": self.missing}


def shown(figures: dict[str, float]) -> str:
    return "  ".join(f"{name} {figure:,.2f}" for name, figure in figures.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of all, in under two minutes")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        default=PARTS,
        help="do these parts; the bars of the others count as missed",
    )
    chosen = parser.parse_args()
    # Whoever asks to end it wants the workers ended as well, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    port = free_port()
    with private_server("--port", str(port), "--bind", HOST), scratch_directory() as home:
        bench = Bench(f"redis://{HOST}:{port}", home)
        run = Run(bench, QUICK if chosen.quick else WHOLE, Console())
        run.do(chosen.only)
    return report(run, quick=chosen.quick)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def report(run: Run, *, quick: bool) -> int:
    figures = run.figures()
    bars = judge(figures, [rival.name for rival in RIVALS if rival.pure_python])
    for table in (drains(run.drain), latencies(run.latency), rests(run.idle), judged(bars)):
        if table.row_count:
            run.console.print(table)
    for name, why in run.missing.items():
        run.console.print(f"not measured: {name}: {why}", markup=False)
    if not quick:
        write(run.effort, figures, bars)
    return int(not all(bar.reached for bar in bars))


def drains(found: dict[str, dict[str, list[float]]]) -> Table:
    table = Table("draining", "jobs/s", "from", "to", "worker us/job", "server us/job")
    for name, rows in found.items():
        rates = rows["rate"]
        costs = median(rows["cpu_us"]), median(rows["server_us"])
        cells = (median(rates), min(rates), max(rates), *costs)
        table.add_row(name, *(f"{cell:,.0f}" for cell in cells))
    return table


def latencies(found: dict[str, dict[str, list[float]]]) -> Table:
    table = Table("idle latency", "p50 ms", "p99 ms")
    for name, rows in found.items():
        table.add_row(name, f"{median(rows['p50']):.2f}", f"{median(rows['p99']):.2f}")
    return table


def rests(found: dict[str, dict[str, list[float]]]) -> Table:
    table = Table("idle", "processes", "Pss MiB", "Rss MiB", "CPU %")
    for name, rows in found.items():
        count, pss, rss, cpu = (rows[column][0] for column in rows)
        table.add_row(name, f"{count:.0f}", f"{pss:.0f}", f"{rss:.0f}", f"{cpu:.2f}")
    return table


def judged(bars: list[Bar]) -> Table:
    table = Table("bar", "found", "must be", "")
    for bar in bars:
        found = "not measured" if bar.found is None else f"{bar.found:.2f} {bar.unit}"
        limit = f"{'at least' if bar.at_least else 'under'} {bar.limit:g} {bar.unit}"
        table.add_row(bar.name, found, limit, "reached" if bar.reached else "missed")
    return table


def write(effort: Effort, figures: dict[str, Any], bars: list[Bar]) -> None:
    now = datetime.now(UTC)
    found = {
        "at": now.isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "effort": asdict(effort),
        **rounded(figures),
        "bars": [rounded(asdict(bar)) | {"reached": bar.reached} for bar in bars],
    }
    path = RESULTS / f"worker-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(found, indent=2) + "\n")


def rounded(found: Any) -> Any:
    """The same with three decimals: more are noise."""
    if isinstance(found, float):
        return round(found, 3)
    if isinstance(found, list):
        return [rounded(item) for item in found]
    if isinstance(found, dict):
        return {name: rounded(item) for name, item in found.items()}
    return found


if __name__ == "__main__":
    sys.exit(main())
