"""The checks of a namespace: its jobs make progress, and its counters match its jobs."""

from __future__ import annotations

from collections.abc import Callable

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning
from headrace.cli.doctor.target import NamespaceTarget
from headrace.cli.lake.common import lag_warnings
from headrace.cli.output import counted, some, span
from headrace.engine.timestamps import moment
from headrace.operations import function_libraries
from headrace.transport.drive import drive

MAX_AUDITED = 200_000
MAX_WRITES = 1000
OVERDUE = 60.0
RECENT = 3600.0
LOG_TOO_LONG = 1.1
LOG_SLACK = 1000
START_A_WORKER = "start a worker for these queues, or run headrace sweep regularly"


def books(namespace: NamespaceTarget) -> Finding:
    """Check that the counters of the queues match the jobs that exist."""
    jobs = sum(
        counts.length + counts.failed + counts.complete for counts in namespace.queues.values()
    )
    if jobs > MAX_AUDITED:
        return not_applicable(
            f"not checked: {jobs:,} jobs are too many for this check",
            "run headrace audit, which reads every job",
        )
    audit = namespace.hr.audit()
    if audit.balanced:
        checked = f"{counted(audit.jobs, 'job')} in {counted(audit.queues, 'queue')}"
        return ok(f"{checked}: the books balance")
    return problem(
        f"the books do not balance: {some(audit.problems)}",
        "see Audit in docs/guides/operations.md for the meaning of each problem",
    )


def overdue(namespace: NamespaceTarget) -> Finding:
    """Check that no due job and no expired lease has waited too long."""
    found = {}
    for state, part, what in (
        ("running", "late", "expired lease"),
        ("scheduled", "due", "due job"),
    ):
        for name, counts in namespace.queues.items():
            if number := getattr(counts, part):
                firsts = namespace.ask("ZRANGE", state, [name], 0, 0, "WITHSCORES")
                since = min((float(first[1]) for first in firsts if first), default=namespace.now)
                found[f"{name} has {counted(number, what)}"] = (namespace.now - since) / 1000
    old = [words for words, seconds in found.items() if seconds > OVERDUE]
    if old:
        longest = span(max(found.values()))
        return warning(f"{some(old)}, overdue for up to {longest}", START_A_WORKER)
    return ok(f"no job or lease has been overdue for more than {span(OVERDUE)}")


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
            f"waiting jobs, but no running job and no worker with a session: {some(idle)}",
            "start a worker for the queue; this check cannot see workers without a session",
        )
    workers = counted(len(namespace.workers), "worker")
    return ok(f"{workers} with a session; every queue with waiting jobs is served")


def failures(namespace: NamespaceTarget) -> Finding:
    """Check that no job has failed recently."""
    names = [name for name, counts in namespace.queues.items() if counts.failed]
    total = counted(sum(namespace.queues[name].failed for name in names), "failed job")
    since = namespace.now - 1000 * RECENT
    recent = sum(namespace.ask("ZCOUNT", "failed", names, since, "+inf"))
    if not recent:
        return ok(f"{total}, none in the last hour")
    return warning(
        f"{total} in {some(names)}, {recent:,} of them in the last hour",
        "find the reason with headrace failures, then use headrace retry or headrace cancel",
    )


def schedules(namespace: NamespaceTarget) -> Finding:
    """Check that schedules put their jobs on time."""
    found = namespace.hr.schedules.list(count=1000)
    if not found:
        return not_applicable("no schedules")
    late = moment(namespace.now - 1000 * OVERDUE)
    behind = [one.id for one in found if one.next < late]
    if behind:
        return warning(f"{counted(len(behind), 'schedule')} behind: {some(behind)}", START_A_WORKER)
    return ok(f"{counted(len(found), 'schedule')}, none behind")


def event_log(namespace: NamespaceTarget) -> Finding:
    """Check the length of the event log."""
    cap = int(namespace.hr.config.get("events_count"))
    longest = max(log.length for log in namespace.snapshot.logs)
    lags = (behind for log in namespace.snapshot.logs for behind in log.behind.values())
    if longest <= cap or not any(behind > cap for behind in lags):
        return log_length(longest, cap)
    return ok(f"{longest:,} events in the longest shard, kept for a lake; see the check lakes")


def log_length(longest: int, cap: int) -> Finding:
    """Assess the length of the event log."""
    what = f"{longest:,} of {cap:,} events in the longest shard"
    if longest > LOG_TOO_LONG * cap + LOG_SLACK:
        return warning(what, "run headrace sweep: the log was not trimmed recently")
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
    return ok(f"{counted(len(names), 'lake')}, at most {counted(behind, 'event')} behind")


def writes(namespace: NamespaceTarget) -> Finding:
    """Check that the rows of committed Spark writes became jobs, and that no row was lost."""
    found = namespace.hr.writes.list(count=MAX_WRITES)
    if not found:
        return not_applicable("no recent writes from Spark")
    late = moment(namespace.now - 1000 * OVERDUE)
    left = [one.id for one in found if one.published_at is None and one.committed_at < late]
    if left:
        return warning(
            f"{counted(len(left), 'write')} committed but not published: {some(left)}",
            "run headrace sweep, which publishes these writes",
        )
    short = [one.id for one in found if one.lost]
    if short:
        return warning(
            f"the server has lost rows of {counted(len(short), 'write')}: {some(short)}",
            "client.writes.get(id).lost counts lost rows for each shard; write the lost rows again",
        )
    return ok(f"{counted(len(found), 'recent write')}, all published")


def functions(namespace: NamespaceTarget) -> Finding:
    """Check that the server runs operations as functions, and count the libraries."""
    core, _ = namespace.core, namespace.workers  # reading workers makes a call on each shard
    if core.uses_scripts:
        return warning(
            "the server refused functions, so every call runs a slower script",
            "check the version of the server, free memory, and the permissions function|load, "
            "fcall and fcall_ro; see Rights in docs/guides/operations.md",
        )
    removed: set[str] = set()
    if namespace.remove_libraries:
        removed = drive(core.transport, function_libraries.remove_unused_libraries(core))
    others = drive(core.transport, function_libraries.other_libraries(core))
    if others is None:
        return ok("loaded; libraries were not checked: the user may not run FUNCTION LIST")
    used = {name for (_, name), in_use in others.items() if in_use}
    idle = {name for _, name in others} - used
    deleted = f"{len(removed)} deleted, " if namespace.remove_libraries else ""
    return ok(
        f"loaded; libraries of other versions: {deleted}{len(used)} in use, {len(idle)} without a "
        f"client (headrace sweep deletes these after {function_libraries.UNUSED_DAYS} days)"
    )


CHECKS: tuple[tuple[str, Callable[[NamespaceTarget], Finding]], ...] = (
    ("functions", functions),
    ("books", books),
    ("overdue", overdue),
    ("workers", served),
    ("failures", failures),
    ("schedules", schedules),
    ("event log", event_log),
    ("lakes", lakes),
    ("writes", writes),
)
