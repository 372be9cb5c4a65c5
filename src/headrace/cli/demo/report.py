"""The summary at the end of the demo, computed from the event log and the server's statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from headrace import Event
from headrace.cli.demo.demo_state import DemoRun
from headrace.cli.output import aligned, counted, span
from headrace.cli.queues import series_lines
from headrace.engine.statistics import merged
from headrace.errors import HeadraceError

FINISHED = ("completed", "failed", "cancelled")
ATTEMPT_ENDS = (*FINISHED, "retried", "released", "lost")
RECOVERIES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Recovery:
    """A job of the killed worker and the job's next delivery. Times are seconds after the kill."""

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
    """Return for each owner the maximum number of the owner's jobs that ran at the same time.

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


def seconds_of_work(events: Sequence[Event]) -> float:
    """Return the time from the first pop to the end of the last job."""
    started = [event.at for event in events if event.kind == "popped"]
    ended = [event.at for event in events if event.kind in ("completed", "failed")]
    return (max(ended) - min(started)).total_seconds() if started and ended else 0.0


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
