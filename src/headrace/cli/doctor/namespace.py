"""The checks of a namespace: whether its jobs make progress and its books balance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning
from headrace.cli.doctor.target import NamespaceTarget
from headrace.cli.lake.common import lag_warnings
from headrace.cli.output import counted, some, span
from headrace.engine.timestamps import moment

MAX_AUDITED = 200_000
MAX_WRITES = 1000
OVERDUE = 60.0
RECENT = 3600.0
LOG_TOO_LONG = 1.1
LOG_SLACK = 1000
START_A_WORKER = "start a worker for these queues, or run headrace sweep regularly"


def books(namespace: NamespaceTarget) -> Finding:
    """Check that the books match the jobs."""
    jobs = sum(
        counts.length + counts.failed + counts.complete for counts in namespace.queues.values()
    )
    if jobs > MAX_AUDITED:
        return not_applicable(
            f"not checked: there are {jobs:,} jobs", "run headrace audit, which reads every job"
        )
    audit = namespace.hr.audit()
    if audit.balanced:
        checked = f"{counted(audit.jobs, 'job')} in {counted(audit.queues, 'queue')}"
        return ok(f"{checked}: the books balance")
    return problem(
        f"the books do not balance: {some(audit.problems)}",
        "see docs/guides/operations.md, Audit, for each problem",
    )


def overdue(namespace: NamespaceTarget) -> Finding:
    """Check that no worker is missing for expired leases and due jobs."""
    found = []
    longest = 0.0
    for state, part, what in (
        ("running", "late", "expired lease"),
        ("scheduled", "due", "due job"),
    ):
        names = [name for name, counts in namespace.queues.items() if getattr(counts, part)]
        for name in names:
            since = _overdue_for(namespace, state, name)
            if since > OVERDUE:
                longest = max(longest, since)
                found.append(f"{name} has {counted(getattr(namespace.queues[name], part), what)}")
    if found:
        return warning(f"{some(found)}, the oldest for {span(longest)}", START_A_WORKER)
    return ok(f"nothing has been overdue for more than {span(OVERDUE)}")


def _overdue_for(namespace: NamespaceTarget, state: str, name: str) -> float:
    key = namespace.core.key
    firsts = namespace.read(
        [
            (shard, "ZRANGE", key(shard, f"{state}:{name}"), 0, 0, "WITHSCORES")
            for shard in namespace.shards
        ]
    )
    times = [float(first[1]) for first in firsts if first]
    return (namespace.now - min(times)) / 1000 if times else 0.0


def served(namespace: NamespaceTarget) -> Finding:
    """Check that queues with waiting jobs have workers."""
    names = {queue for worker in namespace.workers for queue in worker.queues}
    idle = [
        f"{name} ({counts.waiting} waiting)"
        for name, counts in namespace.queues.items()
        if counts.waiting
        and name not in names
        and not counts.paused
        and counts.running <= counts.late
    ]
    if idle:
        return warning(
            f"no worker with a session serves {some(idle)}, and no job of it is running",
            "start a worker for it; workers without a session are not visible here",
        )
    workers = counted(len(namespace.workers), "worker")
    return ok(f"{workers} with a session; every queue with waiting jobs is served")


def failures(namespace: NamespaceTarget) -> Finding:
    """Check that no job has failed recently."""
    names = [name for name, counts in namespace.queues.items() if counts.failed]
    total = counted(sum(namespace.queues[name].failed for name in names), "failed job")
    key, since = namespace.core.key, namespace.now - 1000 * RECENT
    found = namespace.read(
        [
            (shard, "ZCOUNT", key(shard, f"failed:{name}"), since, "+inf")
            for name in names
            for shard in namespace.shards
        ]
        or [(0, "TIME")]
    )
    recent = sum(found) if names else 0
    if not recent:
        return ok(f"{total}, none in the last hour")
    return warning(
        f"{total}, {recent:,} in the last hour, in {some(names)}",
        "find the reason with headrace failures, then use headrace retry or headrace cancel",
    )


def schedules(namespace: NamespaceTarget) -> Finding:
    """Check that schedules put their jobs on time."""
    found = namespace.hr.schedules.list(count=1000)
    if not found:
        return not_applicable("there are none")
    late = moment(namespace.now) - timedelta(seconds=OVERDUE)
    behind = [one.id for one in found if one.next < late]
    if behind:
        return warning(f"{len(behind)} are behind: {some(behind)}", START_A_WORKER)
    return ok(f"{len(found)}, none behind")


def event_log(namespace: NamespaceTarget) -> Finding:
    """Check the length of the event log."""
    cap = int(namespace.hr.config.get("events_count"))
    longest = max(log.length for log in namespace.snapshot.logs)
    lags = (behind for log in namespace.snapshot.logs for behind in log.behind.values())
    if longest <= cap or not any(behind > cap for behind in lags):
        return log_length(longest, cap)
    return ok(f"{longest:,} events in the longest shard, kept for a lake: see lakes")


def log_length(longest: int, cap: int) -> Finding:
    """Assess a length of the event log."""
    what = f"{longest:,} of {cap:,} events in the longest shard"
    if longest > LOG_TOO_LONG * cap + LOG_SLACK:
        return warning(what, "run headrace sweep: nothing has trimmed the log for some time")
    return ok(what)


def lakes(namespace: NamespaceTarget) -> Finding:
    """Check that lakes copy events before the server drops them."""
    rows = namespace.hr.lakes.list()
    if not rows:
        return not_applicable("no lake copies the events")
    warnings = lag_warnings(namespace.hr, rows)
    if warnings:
        return warning(
            some(warnings),
            "keep headrace lake sync --follow running; headrace lake forget removes a lake",
        )
    names = {row.lake for row in rows}
    behind = max(row.behind for row in rows)
    return ok(f"{len(names)}, at most {counted(behind, 'event')} behind")


def writes(namespace: NamespaceTarget) -> Finding:
    """Check that committed writes from Spark were published without losses."""
    found = namespace.hr.writes.list(count=MAX_WRITES)
    if not found:
        return not_applicable("no recent writes from Spark")
    late = moment(namespace.now) - timedelta(seconds=OVERDUE)
    left = [one.id for one in found if one.published_at is None and one.committed_at < late]
    if left:
        return warning(
            f"{len(left)} committed but not published: {some(left)}",
            "run headrace sweep, which publishes the rest of them",
        )
    short = [one.id for one in found if one.lost]
    if short:
        return warning(
            f"the server has lost rows of {len(short)}: {some(short)}",
            "client.written(id).lost has the number for each shard; write these rows again",
        )
    return ok(f"{len(found)} recent, all published")


CHECKS: tuple[tuple[str, Callable[[NamespaceTarget], Finding]], ...] = (
    ("books", books),
    ("overdue", overdue),
    ("workers", served),
    ("failures", failures),
    ("schedules", schedules),
    ("event log", event_log),
    ("lakes", lakes),
    ("writes", writes),
)
