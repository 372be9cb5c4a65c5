"""The checks of a namespace: whether its work gets done, and its books balance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning
from headrace.cli.doctor.patient import Namespace
from headrace.cli.lake.lagging import lagging
from headrace.cli.words import some, span
from headrace.engine.timestamps import moment

AUDITED_AT_MOST = 200_000
WRITES_LOOKED_AT = 1000
OVERDUE = 60.0
LATELY = 3600.0
LOG_TOO_LONG = 1.1
LOG_SLACK = 1000
START_A_WORKER = "start a worker that pops them, or run headrace sweep now and then"


def books(namespace: Namespace) -> Finding:
    """Whether what is booked is there."""
    jobs = sum(
        counts.length + counts.failed + counts.complete for counts in namespace.queues.values()
    )
    if jobs > AUDITED_AT_MOST:
        return not_applicable(
            f"not looked at: there are {jobs:,} jobs", "run headrace audit, which reads every job"
        )
    audit = namespace.hr.audit()
    if audit.balanced:
        return ok(f"{audit.jobs:,} jobs in {audit.queues} queues: the books balance")
    return problem(
        f"the books do not balance: {some(audit.problems)}",
        "see docs/guides/operations.md, Audit: it says what to do for each",
    )


def overdue(namespace: Namespace) -> Finding:
    """Whether leases have run out, or jobs are due, and nobody has taken them."""
    said = []
    longest = 0.0
    for state, part, what in (("running", "late", "lost leases"), ("scheduled", "due", "due jobs")):
        names = [name for name, counts in namespace.queues.items() if getattr(counts, part)]
        for name in names:
            since = _overdue_for(namespace, state, name)
            if since > OVERDUE:
                longest = max(longest, since)
                said.append(f"{name} has {getattr(namespace.queues[name], part)} {what}")
    if said:
        return warning(f"{some(said)}, the oldest for {span(longest)}", START_A_WORKER)
    return ok(f"nothing has been overdue for more than {span(OVERDUE)}")


def _overdue_for(namespace: Namespace, state: str, name: str) -> float:
    firsts = namespace.read(
        [
            (shard, "ZRANGE", namespace.key(shard, state, name), 0, 0, "WITHSCORES")
            for shard in namespace.shards
        ]
    )
    moments = [float(first[1]) for first in firsts if first]
    return (namespace.now - min(moments)) / 1000 if moments else 0.0


def served(namespace: Namespace) -> Finding:
    """Whether queues with waiting jobs have workers."""
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
            f"no worker with a session serves {some(idle)}, and nobody holds a job of it",
            "start a worker for it; one that pops without a session is not seen here",
        )
    return ok(f"{len(namespace.workers)} workers with a session; no queue waits for one")


def failures(namespace: Namespace) -> Finding:
    """Whether dead letters grow in number."""
    names = [name for name, counts in namespace.queues.items() if counts.failed]
    total = sum(namespace.queues[name].failed for name in names)
    since = namespace.now - 1000 * LATELY
    found = namespace.read(
        [
            (shard, "ZCOUNT", namespace.key(shard, "failed", name), since, "+inf")
            for name in names
            for shard in namespace.shards
        ]
        or [(0, "TIME")]
    )
    lately = sum(found) if names else 0
    if not lately:
        return ok(f"{total:,} jobs are failed, none of them since an hour")
    return warning(
        f"{total:,} jobs are failed, {lately:,} of them since an hour, in {some(names)}",
        "see why with headrace failures, then headrace retry or headrace cancel",
    )


def schedules(namespace: Namespace) -> Finding:
    """Whether turns of schedules have passed without a job."""
    found = namespace.hr.schedules.list(count=1000)
    if not found:
        return not_applicable("there are none")
    late = moment(namespace.now) - timedelta(seconds=OVERDUE)
    behind = [one.id for one in found if one.next < late]
    if behind:
        return warning(f"{len(behind)} are behind: {some(behind)}", START_A_WORKER)
    return ok(f"{len(found)}, none behind")


def event_log(namespace: Namespace) -> Finding:
    """Whether the event log keeps to its bound."""
    cap = int(namespace.hr.config.get("events_count"))
    logs = namespace.read(
        [
            (shard, "HMGET", namespace.core.key(shard, "log"), "number", "trimmed")
            for shard in namespace.shards
        ]
    )
    longest = max(int(number or 0) - int(trimmed or 0) for number, trimmed in logs)
    if longest <= cap or not any(row.behind > cap for row in namespace.hr.lakes.list()):
        return log_length(longest, cap)
    return ok(f"{longest:,} events in the longest shard, kept for a lake: see lakes")


def lakes(namespace: Namespace) -> Finding:
    """Whether lakes take events before they are dropped."""
    rows = namespace.hr.lakes.list()
    if not rows:
        return not_applicable("no lake takes the events")
    said = lagging(namespace.hr, rows)
    if said:
        return warning(
            some(said),
            "keep headrace lake sync --follow running; headrace lake forget ends a lake",
        )
    names = {row.lake for row in rows}
    behind = max(row.behind for row in rows)
    return ok(f"{len(names)}, at most {behind:,} events behind")


def writes(namespace: Namespace) -> Finding:
    """Whether writes from Spark were decided and are not published, or have lost rows."""
    found = namespace.hr.writes.list(count=WRITES_LOOKED_AT)
    if not found:
        return not_applicable("nothing was written from Spark lately")
    late = moment(namespace.now) - timedelta(seconds=OVERDUE)
    left = [one.id for one in found if one.published_at is None and one.decided_at < late]
    if left:
        return warning(
            f"{len(left)} were decided and are not published: {some(left)}",
            "run headrace sweep, which publishes what is left of them",
        )
    short = [one.id for one in found if one.lost]
    if short:
        return warning(
            f"the server has lost rows of {len(short)}: {some(short)}",
            "client.written(id).lost says how many of which shard; write them again",
        )
    return ok(f"{len(found)} lately, all published")


def log_length(longest: int, cap: int) -> Finding:
    """What a length of the log means."""
    what = f"{longest:,} of {cap:,} events" + " in the longest shard"
    if longest > LOG_TOO_LONG * cap + LOG_SLACK:
        return warning(what, "run headrace sweep: nothing has trimmed the log for a while")
    return ok(what)


CHECKS: tuple[tuple[str, Callable[[Namespace], Finding]], ...] = (
    ("books", books),
    ("overdue", overdue),
    ("workers", served),
    ("failures", failures),
    ("schedules", schedules),
    ("event log", event_log),
    ("lakes", lakes),
    ("writes", writes),
)
