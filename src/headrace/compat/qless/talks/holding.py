"""What the holder of a job says of it, by the token of its delivery."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from headrace.client.lease import LeaseBase
from headrace.compat.qless.dialect import Face, NotHeld
from headrace.compat.qless.talks.refusing import unless_refused
from headrace.compat.qless.values import STATES, seconds
from headrace.engine.check import Span, text
from headrace.errors import InvalidArgument
from headrace.operations import finishing
from headrace.options import UNSET
from headrace.transport.drive import Operation

Refused = Literal[False]


class JobFace(Face, Protocol):
    """A job of the dialect."""

    @property
    def id(self) -> str: ...

    @property
    def lease(self) -> LeaseBase | None: ...


def held(face: Face, job_id: str, worker: str | None = None) -> LeaseBase | NotHeld:
    """What shows that this client holds a job, for that worker if one is named."""
    text("id", job_id, face.core.limits.name)
    if worker is not None:
        text("worker", worker, face.core.limits.name)
    lease = face.dialect.lease_of(job_id)
    if lease is None or worker not in (None, lease.worker):
        return NotHeld(face.core, job_id)
    return lease


def proof(job: JobFace) -> LeaseBase | NotHeld:
    """The delivery by which this very object came, else the last one to this client."""
    return job.lease or held(job, job.id)


def heartbeat(job: JobFace, data: Any = UNSET) -> Operation[float | Refused | None]:
    """Renews the lock for the queue's heartbeat, and may replace the data.

    Returns when it now expires, or False if the job is not yours any more.
    """
    return (yield from renewed(job, proof(job), None, data))


def renewed(
    face: Face, lease: LeaseBase | NotHeld, lease_for: Span | None, data: Any
) -> Operation[float | Refused | None]:
    """Renews a lock."""
    given = finishing.NO_RESULT if data is UNSET else data
    asking = finishing.heartbeat(lease, lease_for=lease_for, data=given)
    deadline = yield from unless_refused(face.dialect, asking)
    return False if deadline is False else seconds(deadline)


def complete(
    job: JobFace,
    next: str | None = None,
    delay: Span = 0,
    depends: Iterable[str] | None = None,
    *,
    data: Any = UNSET,
) -> Operation[str | Refused]:
    """Completes the job, or puts it into the next queue in the same step.

    Returns the new state, or False if the job is not yours any more.
    """
    return (yield from completed(job, proof(job), data, next, delay, depends))


def completed(
    face: Face,
    lease: LeaseBase | NotHeld,
    data: Any,
    next: str | None,
    delay: Span,
    depends: Iterable[str] | None = None,
) -> Operation[str | Refused]:
    """Completes a job."""
    given = finishing.NO_RESULT if data is UNSET else data
    asking = finishing.complete(lease, data=given, next=next, delay=delay, depends_on=depends)
    state = yield from unless_refused(face.dialect, asking)
    return _ended(face, lease, state)


def _ended(face: Face, lease: LeaseBase | NotHeld, state: str | Refused) -> str | Refused:
    if state is False:
        return False
    face.dialect.let_go(lease)
    return STATES.get(state, state)


def fail(job: JobFace, type: str, message: str, *, data: Any = UNSET) -> Operation[str | Refused]:
    """Sets the job aside under a type, and returns its id; False if it is not yours any more.

    A job that this client did not pop is failed as by an operator, in any state but complete.
    """
    return (yield from failed(job, proof(job), type, message, data))


def failed(
    face: Face, lease: LeaseBase | NotHeld, type: str, message: str, data: Any
) -> Operation[str | Refused]:
    """Sets a job aside."""
    if isinstance(lease, NotHeld):
        if data is not UNSET:
            raise InvalidArgument("only who holds a job may replace its data")
        asking = finishing.fail_by_id(face, lease.id, type, message)
    else:
        asking = finishing.fail(lease, type, message, data=data)
    state = yield from unless_refused(face.dialect, asking)
    return _ended(face, lease, state) and lease.id


def retry(
    job: JobFace, delay: Span = 0, group: str | None = None, message: str = ""
) -> Operation[int | Refused | None]:
    """Gives the job back, to be tried again after a delay; it costs a retry.

    Returns how many are left, None where there is no limit, -1 if there was none left and the job
    is failed now under the group. False if it is not yours any more.
    """
    return (yield from retried(job, proof(job), delay, group, message))


def retried(
    face: Face, lease: LeaseBase | NotHeld, delay: Span, group: str | None, message: str
) -> Operation[int | Refused | None]:
    """Gives a job back."""
    failure = f"failed-retries-{lease.queue}" if group is None else group
    asking = finishing.fail(lease, failure, message, retry_in=delay)
    state = _ended(face, lease, (yield from unless_refused(face.dialect, asking)))
    if state is False or isinstance(lease, NotHeld):
        return False
    remaining = lease.job.remaining
    return -1 if state == "failed" else None if remaining is None else remaining - 1


def log(job: JobFace, message: str) -> Operation[bool]:
    """Adds a line to the log of the job; False if it is not yours any more."""
    done = yield from unless_refused(job.dialect, finishing.log(proof(job), message))
    return done is not False
