"""Headrace beside other queues on one server in one run: putting, draining, latency, jobs that wait
and jobs that compute, memory, killed workers. Each is set up as its documentation advises; the
versions are in benchmarks/rivals/requirements.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace

from rich.console import Console

from benchmarks.field import plot, report, results
from benchmarks.field.bench import QUICK, Bench, Effort
from benchmarks.field.contestants import FIELD, OURS, RIVALS
from benchmarks.field.goals import judge
from benchmarks.field.parts import PARTS
from benchmarks.field.run import Run
from benchmarks.field.servers import Server, Valkey, servers
from headrace.local_server.scratch import scratch_directory

# The rivals that tell most, and the parts that take seconds.
TELLING = ["huey", "ardiq", "bullmq", "bee-queue"]
SHORT = ["put", "bulk", "drain", "drain2", "latency", "io", "cpu", "bytes", "idle"]

NAMES = [part.name for part in PARTS]
HOMES = list(dict.fromkeys(who.home for who in RIVALS))
ENDED_EARLY = 130
WIDE = 160


def main() -> int:
    chosen = arguments()
    # Whoever asks to end it wants the workers ended as well, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with scratch_directory() as home, servers(home) as ready:
        run = Run(Bench(ready, home, QUICK if chosen.quick else Effort()), console())
        ended_early = not measured(run, chosen)
        found = results.made(
            run.bench.effort, version(ready), run.found, run.missing, list(judge(run.found))
        )
    show(run.console, found)
    if ended_early:
        kept = found.found and not chosen.quick
        where = f", and in benchmarks/results/{found.write(partial=True).name}" if kept else ""
        run.say(f"ended early: what was found until then is above{where}")
        return ENDED_EARLY
    if chosen.again:
        found = again(found, chosen.only)
        show(run.console, found)
    if chosen.again or is_whole(chosen):
        keep(run, found)
    return int(is_missed(found))


def console() -> Console:
    """A terminal as wide as it is; a file wide enough for every figure."""
    made = Console()
    return made if made.is_terminal else Console(width=WIDE)


def measured(run: Run, chosen: argparse.Namespace) -> bool:
    """Everything that was asked for; False if somebody ended it."""
    try:
        field = run.installed(who for who in FIELD if not who.home or who.home in chosen.who)
        for part in PARTS:
            if part.name in chosen.only:
                run.do(part, field)
    except KeyboardInterrupt:
        return False
    return True


def show(console: Console, found: results.Results) -> None:
    for sheet in report.sheets(found):
        console.print(sheet.for_terminal())
    for line in report.missing(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def is_whole(chosen: argparse.Namespace) -> bool:
    """Only what has everything is kept."""
    return not chosen.quick and chosen.who == HOMES and chosen.only == NAMES


def is_missed(found: results.Results) -> bool:
    """A bar, or a figure of our own."""
    ours = any(what.startswith(OURS.name) for what in found.missing)
    return ours or any(bar.verdict == "missed" for bar in found.judged())


def newest() -> results.Results:
    """The newest whole run that is kept; ends the program if there is none."""
    path = results.newest()
    if path is None:
        sys.exit("no whole run is kept that could be renewed: benchmarks/results")
    return results.read(path)


def again(found: results.Results, only: list[str]) -> results.Results:
    """The newest whole run, with what was found now in the place of what was found then."""
    earlier = newest()
    if (earlier.versions, earlier.machine) != (found.versions, found.machine):
        sys.exit("the newest run that is kept had other versions: measure everything")
    parts = {part.name: part.about for part in PARTS if part.name in only}
    renewed = results.renewed(earlier, found, parts)
    bars = [results.rounded(asdict(bar)) for bar in judge(renewed.found)]
    return replace(renewed, bars=bars)


def keep(run: Run, found: results.Results) -> None:
    """Every round, the tables and the picture, by day."""
    path = found.write(partial=False)
    plot.draw(found, path.with_suffix(".png"))
    path.with_suffix(".md").write_text("\n".join(report.page(found)) + "\n")
    run.say(f"kept as {path.name} in benchmarks/results; make docs brings it to the documents")


def version(ready: Mapping[str, Server]) -> str:
    server = ready["valkey"]
    return server.version() if isinstance(server, Valkey) else ""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once, less, and the telling ones")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="these parts")
    parser.add_argument("--who", nargs="+", choices=HOMES, help="these rivals")
    parser.add_argument(
        "--again", action="store_true", help="renew these parts of the newest run that is kept"
    )
    chosen = parser.parse_args()
    if chosen.again and (chosen.quick or chosen.who or not chosen.only):
        parser.error("--again is for the parts of --only, everybody, and the whole effort")
    if chosen.again:
        newest()
    chosen.only = chosen.only or (SHORT if chosen.quick else NAMES)
    chosen.who = chosen.who or (TELLING if chosen.quick else HOMES)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
