"""What the demo reports at its end, computed from the event log and the server's statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from headrace import Event
from headrace.cli.demo.run import DemoRun
from headrace.cli.output import counted, span
from headrace.cli.queues import bars
from headrace.engine.statistics import merged, quantile
from headrace.errors import HeadraceError

FINISHED = ("completed", "failed", "cancelled")
ATTEMPT_ENDS = (*FINISHED, "retried", "released", "lost")
RECOVERIES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Recovery:
    """A job of the dead worker and its next delivery; times in seconds after the kill."""

    job_id: str
    queue: str
    lost_after: float
    again_after: float
    by: str
    attempt: int


@dataclass(slots=True)
class FailureTally:
    """The failed attempts of one type: how many were retried, how many jobs failed."""

    retried: int = 0
    failed: int = 0


def recoveries(events: Iterable[Event], held: Iterable[str], died_at: datetime) -> list[Recovery]:
    """Return the next delivery of each job that a dead worker held."""
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


def failures(events: Iterable[Event]) -> dict[str, FailureTally]:
    """Count failed attempts by type, most frequent first."""
    found: dict[str, FailureTally] = defaultdict(FailureTally)
    for event in events:
        if event.kind == "retried":
            found[event.failure or ""].retried += 1
        elif event.kind == "failed":
            found[event.failure or ""].failed += 1
    return dict(sorted(found.items(), key=lambda item: -item[1].retried - item[1].failed))


def most_at_once(events: Iterable[Event], owners: Mapping[str, str]) -> dict[str, int]:
    """Return the highest number of jobs of each owner that ran at the same time."""
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


def seconds_of_work(events: Sequence[Event]) -> float:
    """Return the time from the first pop to the end of the last job."""
    started = [event.at for event in events if event.kind == "popped"]
    ended = [event.at for event in events if event.kind in ("completed", "failed")]
    return (max(ended) - min(started)).total_seconds() if started and ended else 0.0


def show_recoveries(demo: DemoRun, found: Sequence[Recovery]) -> None:
    """Print some recovered jobs, first one of each queue."""
    firsts = list({one.queue: one for one in reversed(found)}.values())[::-1]
    shown = (firsts + [one for one in found if one not in firsts])[:RECOVERIES_SHOWN]
    workers = demo.workers.started
    demo.display.table(
        ("job", "queue", "lost", "again", "on", "attempt"),
        [
            (
                one.job_id,
                one.queue,
                f"{one.lost_after:.1f} s",
                f"{one.again_after:.1f} s",
                next((f"worker {w.number}" for w in workers if w.is_named(one.by)), one.by),
                one.attempt,
            )
            for one in shown
        ],
    )


def show_summary(demo: DemoRun) -> None:
    """Print the counts, times, failures and books of the day.

    Raises HeadraceError if the books do not balance.
    """
    events = list(demo.hr.events())
    _show_queues(demo, events)
    _show_failures(demo, events)
    _show_books(demo, events)


def _show_queues(demo: DemoRun, events: list[Event]) -> None:
    hr, day, found = demo.hr, demo.day, demo.found
    counts, stats = hr.queues(), {queue: hr.queue(queue).stats() for queue in day.jobs}
    seconds = seconds_of_work(events)
    scheduled = {event.job_id for event in events if event.schedule}
    jobs = sum(event.kind in FINISHED and event.job_id not in scheduled for event in events)
    found["work"] = {"jobs": jobs, "seconds": seconds, "events": len(events)}
    found["counts"] = {queue: asdict(counts[queue]) for queue in day.jobs}
    found["stats"] = {
        queue: {"wait": one.wait.mean, "run": one.run.mean, "retries": one.retries}
        for queue, one in stats.items()
    }
    demo.say(
        "numbers",
        f"{jobs:,} jobs in {seconds:.1f} s, [bold]{jobs / seconds:,.0f} per second[/bold];"
        f"\nthe event log has {len(events):,} events. "
        "Mean times and p95 of waiting:",
    )
    rows = []
    for queue, one in stats.items():
        p95 = quantile(one.wait.bins, 0.95)
        rows.append(
            (
                queue,
                f"{counts[queue].complete:,}",
                f"{counts[queue].failed:,}",
                f"{one.retries:,}",
                span(one.wait.mean),
                span(p95[1]) if p95 else "",
                span(one.run.mean),
            )
        )
    demo.display.table(("queue", "complete", "failed", "retries", "wait", "p95", "run"), rows)
    for label, words, series in (
        ("wait", "time between put and start", [one.wait for one in stats.values()]),
        ("run", "time between start and end", [one.run for one in stats.values()]),
    ):
        demo.say(label, words)
        demo.display.histogram(bars(merged(series).bins))


def _show_failures(demo: DemoRun, events: list[Event]) -> None:
    types = failures(events)
    demo.found["failures"] = {kind: asdict(one) for kind, one in types.items()}
    failed = sum(one.failed for one in types.values())
    demo.say("failures", f"{counted(failed, 'job')} failed for good and can be retried:")
    demo.display.table(
        ("failure", "retried", "failed"),
        [(kind, one.retried or "", one.failed or "") for kind, one in types.items()],
    )


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
