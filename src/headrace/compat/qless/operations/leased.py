"""Operations of the holder of a job: heartbeat, complete, fail, retry, log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.client.lease import LeaseBase
from headrace.compat.qless.context import NotLeased, QlessJobLike, QlessLike, Refused
from headrace.compat.qless.values import STATES, seconds
from headrace.engine.check import Span, text
from headrace.errors import InvalidArgument
from headrace.operations import finishing
from headrace.options import UNSET
from headrace.transport.drive import Operation


def lease_by_id(owner: QlessLike, job_id: str, worker: str | None = None) -> LeaseBase | NotLeased:
    """Return the lease that this client has on a job, for the named worker if one is given."""
    text("id", job_id, owner.core.limits.name)
    if worker is not None:
        text("worker", worker, owner.core.limits.name)
    lease = owner.context.lease_of(job_id)
    if lease is None or worker not in (None, lease.worker):
        return NotLeased(owner.core, job_id)
    return lease


def _lease_of(job: QlessJobLike) -> LeaseBase | NotLeased:
    """Return the lease that came with this object, or the last one of this client."""
    return job.lease or lease_by_id(job, job.id)


def heartbeat(job: QlessJobLike, data: Any = UNSET) -> Operation[float | Refused | None]:
    """Renew the lock for the heartbeat of the queue, and replace the data if some is given.

    Return when the lock now expires, or False if you no longer hold the job.
    """
    return (yield from renew(job, _lease_of(job), None, data))


def renew(
    owner: QlessLike, lease: LeaseBase | NotLeased, lease_for: Span | None, data: Any
) -> Operation[float | Refused | None]:
    """Renew a lock; see heartbeat."""
    given = finishing.NO_RESULT if data is UNSET else data
    operation = finishing.heartbeat(lease, lease_for=lease_for, data=given)
    deadline = yield from owner.context.unless_refused(operation)
    return False if deadline is False else seconds(deadline)


def complete(
    job: QlessJobLike,
    next: str | None = None,
    delay: Span = 0,
    depends: Iterable[str] | None = None,
    *,
    data: Any = UNSET,
) -> Operation[str | Refused]:
    """Complete the job, or move it to the next queue in the same step.

    Return the new state, or False if you no longer hold the job.
    """
    return (yield from complete_lease(job, _lease_of(job), data, next, delay, depends))


def complete_lease(
    owner: QlessLike,
    lease: LeaseBase | NotLeased,
    data: Any,
    next: str | None,
    delay: Span,
    depends: Iterable[str] | None = None,
) -> Operation[str | Refused]:
    """Complete a leased job; see complete."""
    given = finishing.NO_RESULT if data is UNSET else data
    operation = finishing.complete(lease, data=given, next=next, delay=delay, depends_on=depends)
    state = yield from owner.context.unless_refused(operation)
    return _finished(owner, lease, state)


def _finished(
    owner: QlessLike, lease: LeaseBase | NotLeased, state: str | Refused
) -> str | Refused:
    if state is False:
        return False
    owner.context.drop_lease(lease)
    return STATES.get(state, state)


def fail(
    job: QlessJobLike, type: str, message: str, *, data: Any = UNSET
) -> Operation[str | Refused]:
    """Fail the job with a type and return its id, or False if you no longer hold the job.

    A job that this client did not pop is failed as by an operator, in any state but complete.
    """
    return (yield from fail_lease(job, _lease_of(job), type, message, data))


def fail_lease(
    owner: QlessLike, lease: LeaseBase | NotLeased, type: str, message: str, data: Any
) -> Operation[str | Refused]:
    """Fail a leased job; see fail."""
    if isinstance(lease, NotLeased):
        if data is not UNSET:
            raise InvalidArgument("only the holder of a job may replace its data")
        operation = finishing.fail_by_id(owner, lease.id, type, message)
    else:
        operation = finishing.fail(lease, type, message, data=data)
    state = yield from owner.context.unless_refused(operation)
    return _finished(owner, lease, state) and lease.id


def retry(
    job: QlessJobLike, delay: Span = 0, group: str | None = None, message: str = ""
) -> Operation[int | Refused | None]:
    """Return the job to its queue, to be retried after a delay; this costs a retry.

    Return how many retries are left, or None without a limit. Return -1 if none was left: then the
    job is failed under the group. Return False if you no longer hold the job.
    """
    return (yield from retry_lease(job, _lease_of(job), delay, group, message))


def retry_lease(
    owner: QlessLike, lease: LeaseBase | NotLeased, delay: Span, group: str | None, message: str
) -> Operation[int | Refused | None]:
    """Return a leased job to its queue; see retry."""
    failure = f"failed-retries-{lease.queue}" if group is None else group
    operation = finishing.fail(lease, failure, message, retry_in=delay)
    state = _finished(owner, lease, (yield from owner.context.unless_refused(operation)))
    if state is False or isinstance(lease, NotLeased):
        return False
    remaining = lease.job.remaining
    return -1 if state == "failed" else None if remaining is None else remaining - 1


def log(job: QlessJobLike, message: str) -> Operation[bool]:
    """Add a line to the log of the job. Return False if you no longer hold the job."""
    operation = finishing.log(_lease_of(job), message)
    return (yield from job.context.unless_refused(operation)) is not False
