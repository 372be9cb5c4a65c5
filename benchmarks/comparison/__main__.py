"""Compare Headrace with other queues on one server in one run.

The workloads are: put, drain, latency, jobs that wait, jobs that compute, memory and killed
workers. Each queue is configured as its documentation recommends; the versions are in
benchmarks/competitors/requirements.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace

from rich.console import Console

from benchmarks.comparison import plot, report, results
from benchmarks.comparison.bench import QUICK, Bench, Effort
from benchmarks.comparison.competitors import ALL, COMPETITORS, HEADRACE
from benchmarks.comparison.registry import WORKLOADS
from benchmarks.comparison.run import Run
from benchmarks.comparison.servers import Server, Valkey, servers
from benchmarks.comparison.targets import evaluate
from headrace.local_server.scratch import scratch_directory

# Competitors and workloads of --quick: the most informative competitors and the short workloads.
INFORMATIVE = ["huey", "ardiq", "bullmq", "bee-queue"]
SHORT = ["put", "bulk", "drain", "drain2", "latency", "io", "cpu", "bytes", "idle"]

NAMES = [workload.name for workload in WORKLOADS]
ENVIRONMENTS = list(dict.fromkeys(competitor.environment for competitor in COMPETITORS))
ENDED_EARLY = 130
WIDE = 160


def main() -> int:
    chosen = arguments()
    # SIGTERM must also end the workers, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with scratch_directory() as directory, servers(directory) as ready:
        run = Run(Bench(ready, directory, QUICK if chosen.quick else Effort()), console())
        ended_early = not measured(run, chosen)
        found = results.made(
            run.bench.effort, version(ready), run.found, run.missing, list(evaluate(run.found))
        )
    show(run.console, found)
    if ended_early:
        stored = found.found and not chosen.quick
        where = f", and in benchmarks/results/{found.write(partial=True).name}" if stored else ""
        run.print(f"interrupted: the results so far are above{where}")
        return ENDED_EARLY
    if chosen.replace:
        found = updated(found, chosen.only)
        show(run.console, found)
    if chosen.replace or is_whole(chosen):
        store(run, found)
    return int(is_missed(found))


def console() -> Console:
    """Return a console as wide as the terminal, or wide enough for every figure in a file."""
    made = Console()
    return made if made.is_terminal else Console(width=WIDE)


def measured(run: Run, chosen: argparse.Namespace) -> bool:
    """Run the chosen workloads; return False if the user interrupted them."""
    try:
        installed = run.installed(
            competitor
            for competitor in ALL
            if not competitor.environment or competitor.environment in chosen.competitors
        )
        for workload in WORKLOADS:
            if workload.name in chosen.only:
                run.measure(workload, installed)
    except KeyboardInterrupt:
        return False
    return True


def show(console: Console, found: results.Results) -> None:
    for sheet in report.sheets(found):
        console.print(sheet.for_terminal())
    for line in report.missing(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def is_whole(chosen: argparse.Namespace) -> bool:
    """Return whether all competitors and workloads were measured; only such a run is stored."""
    return not chosen.quick and chosen.competitors == ENVIRONMENTS and chosen.only == NAMES


def is_missed(found: results.Results) -> bool:
    """Return whether Headrace missed a target, or whether a figure of Headrace is missing."""
    missing = any(what.startswith(HEADRACE.name) for what in found.missing)
    return missing or any(target.verdict == "missed" for target in found.judged())


def newest() -> results.Results:
    """Return the newest complete run; exit if no complete run is stored."""
    path = results.newest()
    if path is None:
        sys.exit(
            "benchmarks/results contains no complete run to update; run without --replace first"
        )
    return results.read(path)


def updated(found: results.Results, only: list[str]) -> results.Results:
    """Return the newest complete run with the given workloads replaced by this run."""
    earlier = newest()
    if (earlier.versions, earlier.machine) != (found.versions, found.machine):
        sys.exit(
            "the newest stored run has other versions or another machine; run without --replace"
        )
    workloads = {workload.name: workload.about for workload in WORKLOADS if workload.name in only}
    renewed = results.renewed(earlier, found, workloads)
    targets = [results.rounded(asdict(target)) for target in evaluate(renewed.found)]
    return replace(renewed, bars=targets)


def store(run: Run, found: results.Results) -> None:
    """Store every round, the tables and the plot under the date."""
    path = found.write(partial=False)
    plot.draw(found, path.with_suffix(".png"))
    path.with_suffix(".md").write_text("\n".join(report.page(found)) + "\n")
    run.print(f"stored as {path.name} in benchmarks/results; run make docs to update the documents")


def version(ready: Mapping[str, Server]) -> str:
    server = ready["valkey"]
    return server.version() if isinstance(server, Valkey) else ""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one short round with the most informative competitors"
    )
    parser.add_argument("--only", nargs="+", choices=NAMES, help="run only these workloads")
    parser.add_argument("--competitors", nargs="+", choices=ENVIRONMENTS, help="measure only these")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace the workloads of --only in the newest stored run",
    )
    chosen = parser.parse_args()
    if chosen.replace and (chosen.quick or chosen.competitors or not chosen.only):
        parser.error("--replace needs --only, and cannot be combined with --quick or --competitors")
    if chosen.replace:
        newest()
    chosen.only = chosen.only or (SHORT if chosen.quick else NAMES)
    chosen.competitors = chosen.competitors or (INFORMATIVE if chosen.quick else ENVIRONMENTS)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
