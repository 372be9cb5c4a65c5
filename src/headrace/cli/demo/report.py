"""The state of a demo run, and the summary that the demo prints at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from headrace import Client, Event
from headrace.cli.demo.environment import DemoEnvironment, DemoWorker, DemoWorkers
from headrace.cli.output import aligned, counted, span, wants_json
from headrace.cli.queues import series_lines
from headrace.demo import ShopDay
from headrace.engine.statistics import merged
from headrace.errors import HeadraceError
from headrace.operations.namespace_snapshot import NamespaceSnapshot, snapshot
from headrace.transport.drive import drive

FINISHED = ("completed", "failed", "cancelled")
ATTEMPT_ENDS = (*FINISHED, "retried", "released", "lost")
RECOVERIES_SHOWN = 6
LABEL = 10


@dataclass(slots=True)
class DemoRun:
    """The state that the steps of the demo share. With --json, the steps print nothing."""

    hr: Client
    environment: DemoEnvironment
    workers: DemoWorkers
    jobs: int
    day: ShopDay = field(init=False)
    snapshot: NamespaceSnapshot = field(init=False)
    dead: DemoWorker = field(init=False)
    died_at: datetime = field(init=False)
    held: list[str] = field(init=False)
    found: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    console: Console = field(default_factory=lambda: Console(quiet=wants_json(), highlight=False))

    def say(self, label: str, words: str) -> None:
        """Print lines of text after a label."""
        for at, line in enumerate(words.split("\n")):
            head = "" if at else label
            self.console.print(f"[bold cyan]{head:<{LABEL}}[/] {line}", soft_wrap=True)

    def show(self, lines: Iterable[str]) -> None:
        """Print indented lines without a label."""
        for line in lines:
            self.console.print(Text.from_ansi(" " * (LABEL + 1) + line))
        self.console.print()

    def look(self) -> NamespaceSnapshot:
        """Take a snapshot of the namespace."""
        core = self.hr.core
        self.snapshot = drive(core.transport, snapshot(core, detailed=()))
        return self.snapshot

    @property
    def finished(self) -> int:
        """The number of jobs that were finished at the last snapshot."""
        queues = self.snapshot.queues.items()
        return sum(max(0, self.day.jobs.get(name, 0) - one.counts.length) for name, one in queues)

    @property
    def total(self) -> int:
        """The number of jobs that were put."""
        return sum(self.day.jobs.values())

    def held_by(self, worker: DemoWorker) -> int:
        """Return the number of jobs that a worker held in the last snapshot."""
        return sum(one.jobs for one in self.snapshot.workers if worker.is_named(one.name))


@dataclass(frozen=True, slots=True)
class Recovery:
    """A job that the killed worker held, and its next delivery.

    Times are seconds after the kill.
    """

    job_id: str
    queue: str
    lost_after: float
    again_after: float
    by: str
    attempt: int


def recoveries(events: Iterable[Event], held: Iterable[str], died_at: datetime) -> list[Recovery]:
    """Return the next delivery of each job that the killed worker held."""
    waiting, lost = set(held), dict[str, Event]()
    found = []
    for event in events:
        if event.job_id not in waiting:
            continue
        if event.kind == "lost" and event.at >= died_at:
            lost[event.job_id] = event
        elif event.kind == "popped" and event.job_id in lost:
            waiting.discard(event.job_id)
            lost_after = (lost[event.job_id].at - died_at).total_seconds()
            again_after = (event.at - died_at).total_seconds()
            found.append(
                Recovery(
                    event.job_id, event.queue, lost_after, again_after, event.worker, event.attempt
                )
            )
    return found


def failures(events: Iterable[Event]) -> dict[str, Counter[str]]:
    """Count the retried attempts and the failed jobs of each failure type.

    The most frequent failure type comes first.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        if event.kind in ("retried", "failed"):
            found[event.failure or ""][event.kind] += 1
    return dict(sorted(found.items(), key=lambda item: -item[1].total()))


def most_at_once(events: Iterable[Event], owners: Mapping[str, str]) -> dict[str, int]:
    """For each owner, return the largest number of the owner's jobs that ran at the same time.

    `owners` maps job ids to owners.
    """
    running: dict[str, set[str]] = defaultdict(set)
    most: Counter[str] = Counter()
    for event in events:
        owner = owners.get(event.job_id)
        if owner is None:
            continue
        if event.kind == "popped":
            running[owner].add(event.job_id)
            most[owner] = max(most[owner], len(running[owner]))
        elif event.kind in ATTEMPT_ENDS:
            running[owner].discard(event.job_id)
    return dict(most)


def show_recoveries(demo: DemoRun, found: Sequence[Recovery]) -> None:
    """Print the first 6 recovered jobs."""
    workers = demo.workers.started
    demo.show(
        aligned(
            ("job", "queue", "lost", "again", "on", "attempt"),
            (
                (
                    one.job_id,
                    one.queue,
                    f"{one.lost_after:.1f} s",
                    f"{one.again_after:.1f} s",
                    next((f"worker {w.number}" for w in workers if w.is_named(one.by)), one.by),
                    one.attempt,
                )
                for one in found[:RECOVERIES_SHOWN]
            ),
        )
    )


def show_summary(demo: DemoRun) -> None:
    """Print the counts, times and failures of the day, and check the queues' counters (books).

    Raises HeadraceError if the books do not balance.
    """
    events = list(demo.hr.events())
    _show_queues(demo, events)
    _show_failures(demo, events)
    _show_books(demo, events)


def _show_queues(demo: DemoRun, events: list[Event]) -> None:
    counts = demo.hr.queues()
    stats = {queue: demo.hr.queue(queue).stats() for queue in demo.day.jobs}
    started = [event.at for event in events if event.kind == "popped"]
    ended = [event.at for event in events if event.kind in ("completed", "failed")]
    seconds = (max(ended) - min(started)).total_seconds()
    scheduled = {event.job_id for event in events if event.schedule}
    jobs = sum(event.kind in FINISHED and event.job_id not in scheduled for event in events)
    demo.found["work"] = {"jobs": jobs, "seconds": seconds, "events": len(events)}
    demo.say(
        "numbers",
        f"{jobs:,} jobs in {seconds:.1f} s, [bold]{jobs / seconds:,.0f} per second[/bold];"
        f"\nthe event log has {len(events):,} events. Mean times:",
    )
    columns = ("queue", "complete", "failed", "retries", "wait", "run")
    rows = (
        (
            queue,
            f"{counts[queue].complete:,}",
            f"{counts[queue].failed:,}",
            f"{one.retries:,}",
            span(one.wait.mean),
            span(one.run.mean),
        )
        for queue, one in stats.items()
    )
    demo.show(aligned(columns, rows))
    demo.say("wait", "time between put and start")
    demo.show(series_lines(merged(one.wait for one in stats.values())))
    demo.say("run", "time between start and end")
    demo.show(series_lines(merged(one.run for one in stats.values())))


def _show_failures(demo: DemoRun, events: list[Event]) -> None:
    types = failures(events)
    demo.found["failures"] = types
    failed = sum(times["failed"] for times in types.values())
    demo.say("failures", f"{counted(failed, 'job')} failed permanently; you can still retry them:")
    rows = ((kind, times["retried"] or "", times["failed"] or "") for kind, times in types.items())
    demo.show(aligned(("failure", "retried", "failed"), rows))


def _show_books(demo: DemoRun, events: list[Event]) -> None:
    hr, held, found = demo.hr, demo.held, demo.found
    ends = Counter(event.job_id for event in events if event.kind in FINISHED)
    found["recovered"] = sum(ends[job_id] for job_id in held)
    found["over_twice"] = sum(times - 1 for times in ends.values())
    demo.say(
        "recovered",
        f"{found['recovered']} of the {len(held)} jobs of the dead worker are finished;\n"
        f"{found['over_twice']} jobs finished twice",
    )
    found["most_at_once"] = max(most_at_once(events, demo.day.customers).values())
    demo.say("limits", f"at most {found['most_at_once']} invoices of a customer ran at once")
    [cron] = hr.schedules.list()
    left = max(0.0, (cron.next - datetime.now(UTC)).total_seconds())
    runs = f"runs so far: {cron.made}, next in {left:.0f} s"
    demo.say("cron", f"count_stock runs every minute; {runs}")
    audit = hr.audit()
    found["audit"] = {**asdict(audit), "balanced": audit.balanced}
    if not audit.balanced:
        raise HeadraceError(f"the books do not balance: {'; '.join(audit.problems)}")
    demo.say(
        "audit",
        f"checked {audit.jobs:,} jobs in {audit.queues} queues: "
        "[bold green]the books balance[/bold green]",
    )
