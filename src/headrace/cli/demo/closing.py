"""The end of the demo: what was counted and timed, as tables and histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from headrace.cli.demo import findings
from headrace.cli.demo.screen import Screen
from headrace.cli.demo.workers import WorkerProgram
from headrace.cli.words import span
from headrace.engine.statistics import BINS, Series, merged
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace import Client, Event
    from headrace.demo.day import Day

SHOWN = 6
ROWS = 12
# Columns of words; the others are of numbers.
WORDS = ("job", "queue", "on", "failure")
BAR = 40
UNITS = {"s": "s", "m": "min", "q": "/4 h", "h": "h", "d": "days"}
RUN_BINS = (10, 20, 50, 100, 200, 300, 400, 500, 1000)
OVER = ("completed", "failed", "cancelled")


def recovery_table(again: Sequence[findings.Recovery], programs: Sequence[WorkerProgram]) -> Table:
    """Some of the jobs that came back, one of each queue first."""
    table = _table("job", "queue", "lost", "again", "on", "attempt")
    firsts = list({one.queue: one for one in reversed(again)}.values())[::-1]
    rows = (firsts + [one for one in again if one not in firsts])[:SHOWN]
    for one in rows:
        table.add_row(
            one.job_id,
            one.queue,
            f"{one.lost_after:.1f} s",
            f"{one.again_after:.1f} s",
            _called(one.by, programs),
            str(one.attempt),
        )
    if more := len(again) - len(rows):
        table.add_row(f"and {more} more")
    return table


def sum_up(
    hr: Client, screen: Screen, day: Day, held: Sequence[str], found: dict[str, Any]
) -> None:
    """Everything that a new user may want to know of the day, each number measured."""
    events = list(hr.events())
    _queues(hr, screen, day, events, found)
    _histograms(hr, screen, day, events)
    _failures(hr, screen, events, found)
    _books(hr, screen, day, events, held, found)


def _queues(
    hr: Client, screen: Screen, day: Day, events: list[Event], found: dict[str, Any]
) -> None:
    times, stats = findings.times(events), {queue: hr.queue(queue).stats() for queue in day.jobs}
    counts = hr.queues()
    table = _table("queue", "complete", "failed", "retries", "wait", "p95", "run", "p95")
    for queue in day.jobs:
        series, of_queue = stats[queue], times.get(queue, findings.Times())
        table.add_row(
            queue,
            f"{counts[queue].complete:,}",
            f"{counts[queue].failed:,}",
            f"{series.retries:,}",
            span(series.wait.mean),
            span(findings.share(of_queue.waits, 0.95)),
            span(series.run.mean),
            span(findings.share(of_queue.runs, 0.95)),
        )
    seconds = findings.seconds_of_work(events)
    by_cron = {event.job_id for event in events if event.schedule}
    over = sum(event.kind in OVER and event.job_id not in by_cron for event in events)
    found["work"] = {"jobs": over, "seconds": seconds, "events": len(events)}
    found["counts"] = {queue: asdict(counts[queue]) for queue in day.jobs}
    found["stats"] = {
        queue: {"wait": one.wait.mean, "run": one.run.mean, "retries": one.retries}
        for queue, one in stats.items()
    }
    screen.say(
        "numbers",
        f"{over:,} jobs in {seconds:.1f} s, [bold]{over / seconds:,.0f} a second[/bold]; "
        f"everything that happened is\nin the log, {len(events):,} events. Means, and what 95 % "
        "stay below:",
    )
    screen.show(table)


def _histograms(hr: Client, screen: Screen, day: Day, events: list[Event]) -> None:
    wait = merged(hr.queue(queue).stats().wait for queue in day.jobs)
    runs = [run for one in findings.times(events).values() for run in one.runs]
    screen.say("wait", "how long jobs waited to be handed out")
    screen.show(_drawn(_by_second(wait)))
    screen.say("run", "how long they ran")
    screen.show(_drawn(_by_bin(runs)))


def _by_second(series: Series) -> list[tuple[str, int]]:
    """So many rows at most; above a minute the bins are minutes, and more."""
    counts = series.histogram
    last = max((at for at, times in enumerate(counts) if times), default=0)
    step = -(-(last + 1) // ROWS)
    return [
        (f"from {BINS[at][1:]} {UNITS[BINS[at][0]]}", sum(counts[at : at + step]))
        for at in range(0, last + 1, step)
    ]


def _by_bin(values: Sequence[int]) -> list[tuple[str, int]]:
    edges = [*RUN_BINS, max([*values, *RUN_BINS]) + 1]
    rows = [
        (f"from {span(low / 1000)}" if low else "less", sum(low <= one < high for one in values))
        for low, high in pairwise([0, *edges])
    ]
    filled = [at for at, (_, times) in enumerate(rows) if times]
    return rows[filled[0] : filled[-1] + 1] if filled else []


def _drawn(rows: Sequence[tuple[str, int]]) -> Table:
    table = Table.grid(padding=(0, 1))
    most = max((times for _, times in rows), default=0) or 1
    table.add_column(justify="right", min_width=11)
    for name, times in rows:
        table.add_row(
            name,
            Text("█" * -(-BAR * times // most) + " " * bool(times), "cyan") + Text(f"{times:,}"),
        )
    return table


def _failures(hr: Client, screen: Screen, events: list[Event], found: dict[str, Any]) -> None:
    kinds = findings.failures(events)
    found["failures"] = {kind: asdict(one) for kind, one in kinds.items()}
    table = _table("failure", "tried again", "set aside")
    for kind, one in kinds.items():
        table.add_row(kind, str(one.retried or ""), Text(str(one.failed or ""), "red"))
    waiting = sum(hr.failures.counts().values())
    screen.say("failures", f"by type; {waiting} jobs are set aside until somebody decides")
    screen.show(table)


def _books(
    hr: Client,
    screen: Screen,
    day: Day,
    events: list[Event],
    held: Sequence[str],
    found: dict[str, Any],
) -> None:
    over = Counter(event.job_id for event in events if event.kind in OVER)
    found["recovered"] = sum(over[job_id] for job_id in held)
    found["over_twice"] = sum(times - 1 for times in over.values())
    screen.say(
        "recovered",
        f"{found['recovered']} of the {len(held)} jobs of the dead worker are over; "
        f"{found['over_twice']} jobs ended twice",
    )
    most = max(findings.most_at_once(events, day.customers).values())
    found["most_at_once"] = most
    screen.say("limits", f"at most {most} invoices of a customer were written at once")
    [cron] = hr.schedules.list()
    left = max(0.0, (cron.next - datetime.now(UTC)).total_seconds())
    screen.say("cron", f"besides, count_stock was put on time: {cron.made}, next in {left:.0f} s")
    audit = hr.audit()
    found["audit"] = {**asdict(audit), "balanced": audit.balanced}
    if not audit.balanced:
        raise HeadraceError(f"the books do not balance: {'; '.join(audit.problems)}")
    screen.say(
        "audit",
        f"{audit.jobs:,} jobs in {audit.queues} queues looked at: "
        "[bold green]the books balance[/bold green]",
    )


def _called(worker: str, programs: Sequence[WorkerProgram]) -> str:
    return next((f"worker {one.number}" for one in programs if one.names(worker)), worker)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in WORDS else "right", no_wrap=True)
    return table
