"""Read and change jobs by their ids."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from headrace.codecs.codec import bound
from headrace.engine import keys
from headrace.engine.call import Answer, Call, build, each_state, pack
from headrace.engine.check import (
    PAGE,
    Span,
    choice,
    listed,
    milliseconds,
    number,
    page,
    text,
    whole,
)
from headrace.engine.states import STATES
from headrace.errors import (
    HasDependents,
    HeadraceError,
    InvalidArgument,
    JobNotFound,
    NoResult,
    WrongState,
)
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.finishing import sole
from headrace.operations.paging import ids_of_page
from headrace.operations.popping import SAFETY_POLL
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.requests import ask_one, check_permission, unchanged
from headrace.operations.values import Job, Page, Result, read_job
from headrace.transport.drive import Operation, Receive, Subscribe

MakeCall = Callable[[Sequence[Row]], Call[list[Answer]]]


def checked_rows(core: Core, ids: Sequence[str]) -> list[Row]:
    """Return one row per id for a batch call; raise InvalidArgument if an id is malformed."""
    return [(text("id", job_id, core.limits.name),) for job_id in listed("ids", ids, "str")]


def state_calls(op: str, **args: Any) -> MakeCall:
    """Return a function that builds calls of a script that replies with the state of each job."""

    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        return build(op, each_state([str(row[0]) for row in rows]), rows, **args)

    return make


def job(client: ClientLike, job_id: str) -> Operation[Job | None]:
    """Return the job with this id, or None.

    The job is a snapshot; read the job again to see later changes.

    Raises InvalidArgument if the id is malformed.

        job = client.job("order-7")
        print(job.state, job.attempt, job.data)
    """
    found = yield from jobs(client, [job_id])
    return found[0] if found else None


def jobs(client: ClientLike, ids: Sequence[str]) -> Operation[list[Job]]:
    """Return the jobs with these ids, in the given order; unknown ids are left out.

    Raises InvalidArgument if an id is malformed.

        for job in client.jobs(["order-7", "order-8"]):
            print(job.id, job.state)
    """
    core = client.core

    def make(rows: Sequence[Row]) -> Call[list[Job | None]]:
        def decode(reply: list[Any]) -> list[Job | None]:
            found = {described[0].decode(): read_job(core.codec, described) for described in reply}
            return [found.get(str(row[0])) for row in rows]

        return build("get", decode, rows)

    found = yield from in_batches(core, checked_rows(core, ids), make)
    return [one for one in found if one is not None]


def cancel(client: ClientLike, *ids: str, cascade: bool = False) -> Operation[list[str]]:
    """Delete jobs that are not complete and return their ids; unknown ids are ignored.

    If a worker is running a cancelled job, that worker loses the lease of the job. With `cascade`
    the dependents of the jobs are cancelled too.

    Raises HasDependents if a job has dependents that are not among the ids, unless `cascade` is
    set. If the call raises this error, it cancels no job on the shard of that job.

        client.cancel("order-7", "order-8")
    """
    rows = checked_rows(client.core, ids)
    answers = yield from in_batches(
        client.core, rows, lambda part: _cancel_call(part, cascade=cascade)
    )
    return [
        job_id
        for job_id, answer in zip(ids, answers, strict=True)
        if not isinstance(answer, HeadraceError)
    ]


def _cancel_call(rows: Sequence[Row], *, cascade: bool) -> Call[list[Answer]]:
    states = each_state([str(row[0]) for row in rows])

    def decode(answers: list[bytes]) -> list[Answer]:
        if answers[0] == b"HAS_DEPENDENTS":
            job_id, *dependents = (word.decode() for word in answers[1:])
            raise HasDependents(job_id, dependents)
        return states(answers)

    return build("cancel", decode, rows, cascade=int(cascade), expected=b"")


def cancel_in_state(
    client: ClientLike, ids: Sequence[str], *, state: str | None = None, cascade: bool = False
) -> Operation[list[Answer]]:
    """Delete jobs that are still in `state`; return the former state of each job, or an error.

    A job is refused with HasDependents if its dependents are not deleted too. The other jobs are
    deleted.
    """

    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        expected = pack([state or ""] * len(rows))
        decode = each_state([str(job_id) for (job_id,) in rows])
        return build("cancel", decode, rows, cascade=int(cascade), expected=expected)

    return (yield from in_batches(client.core, checked_rows(client.core, ids), make))


def timeout(client: ClientLike, *ids: str) -> Operation[list[Answer]]:
    """Revoke the leases of running jobs now, as if the leases had expired.

    The jobs come before all other waiting jobs of their queues, also before jobs of a better
    priority. Return the new state of each job, or an error:
    JobNotFound, or WrongState if the job is not running.

    Raises InvalidArgument if an id is malformed.

        client.timeout("import-2")
    """
    rows = checked_rows(client.core, ids)
    return (yield from in_batches(client.core, rows, state_calls("timeout")))


def requeue(
    client: ClientLike, job_id: str, queue: str | None = None, *, delay: Span = 0
) -> Operation[str]:
    """Put an existing job into a queue like a new job; return the job's new state.

    The default queue is the job's own queue. The job keeps its data and options. If a worker is
    running the job, that worker loses the lease.

    Raises JobNotFound if there is no such job, and JobExists if another job in the queue has the
    same unique value.

        client.requeue("order-7", "slow", delay=60)
    """
    core = client.core
    rows = checked_rows(core, [job_id])
    name = "" if queue is None else text("queue", queue, core.limits.name)
    return sole((yield from in_batches(core, rows, _requeue_calls(name, delay))))


def _requeue_calls(queue: str, delay: Span, state: str = "") -> MakeCall:
    delay_ms = milliseconds("delay", delay)
    return state_calls("requeue", queue=queue, delay=delay_ms, state=state)


def prioritise(client: ClientLike, job_id: str, priority: float) -> Operation[str]:
    """Change the priority of a job and return the state of the job.

    A waiting job moves to its new position in the queue, before jobs of the same priority that were
    put later.

    Raises JobNotFound if there is no such job, and WrongState if the job is complete.

        client.prioritise("order-7", -10)
    """
    rows = checked_rows(client.core, [job_id])
    make = state_calls("prioritise", priority=number("priority", priority))
    return sole((yield from in_batches(client.core, rows, make)))


def retry(
    client: ClientLike,
    *ids: str,
    failure: str | None = None,
    count: int = 25,
    delay: Span = 0,
    queue: str | None = None,
) -> Operation[list[Answer]]:
    """Retry failed jobs, by their ids or by failure type.

    With `failure`, the call retries the `count` oldest jobs of that type. With `queue`, the call
    puts the jobs into that queue like new jobs. Without `queue`, each job goes to the back of its
    own queue and has all its retries again. Return the new state of each job, or an error:
    JobNotFound, WrongState if the job is not failed, or JobExists if another job has the same
    unique value.

    Raises InvalidArgument unless either ids or `failure` is passed.

        client.retry("order-7")
        client.retry(failure="smtp", count=100, delay=30)
    """
    core = client.core
    if bool(ids) == (failure is not None):
        raise InvalidArgument("pass either ids or failure=")
    target = None if queue is None else text("queue", queue, core.limits.name)
    if failure is not None:
        whole("count", count, 1, PAGE)
        text("failure", failure, core.limits.name)
        bounds = (0, count)
        found = yield from page_of_jobs(client, keys.failures, failure, bounds, newest_first=False)
        ids = tuple(one.id for one in found.jobs)
    delay_ms = milliseconds("delay", delay)
    make = state_calls("retry", delay=delay_ms, expected=b"")
    if target is not None:
        make = _requeue_calls(target, delay, "failed")
    return (yield from in_batches(core, checked_rows(core, ids), make))


def queue_jobs(
    queue: QueueLike, state: str, *, offset: int = 0, count: int = 25
) -> Operation[Page]:
    """Return a page of the queue's jobs in one state, and the total number of jobs in that state.

    The states are waiting, scheduled, blocked, running, failed and complete.

    Raises InvalidArgument if there is no such state, or `offset` or `count` is out of range.

        page = queue.jobs("running", count=10)
        print(page.total, [job.id for job in page.jobs])
    """
    choice("state", state, STATES)
    bounds = page(offset, count)
    newest_first = state in ("failed", "complete")
    return (yield from page_of_jobs(queue, state, queue.name, bounds, newest_first=newest_first))


def page_of_jobs(
    client: ClientLike, role: str, name: str, bounds: tuple[int, int], *, newest_first: bool
) -> Operation[Page]:
    """Return a page of the jobs in the sorted set with this role and name.

    `bounds` are the offset and the count. The operation first reads the ids, and then the jobs. The
    page omits jobs that left the set between the two reads.
    """
    total, ids = yield from ids_of_page(client.core, role, name, *bounds, newest_first=newest_first)
    found = yield from jobs(client, ids)
    return Page(total, [job for job in found if _is_listed(job, role, name)])


def _is_listed(job: Job, role: str, name: str) -> bool:
    if role == keys.tag:
        return name in job.tags
    return job.state == ("failed" if role == keys.failures else role)


def result(
    client: ClientLike, job_id: str, *, wait: Span | None = 0, take: bool = False
) -> Operation[Result]:
    """Return the result of a job; wait up to `wait` seconds for the result (None: no limit).

    With `take`, the call removes the result from the server, so that no other call gets it.

    Raises NoResult if no result arrives in time, or if the job completed without a result. Raises
    JobNotFound if the job is unknown or was deleted, WrongState if the job failed, and Unreadable
    if the codec cannot decode the result.

        result = client.result(job_id, wait=30)
        print(result.value)
    """
    return (yield from wait_for_result(client, job_id, wait=wait, take=take))


def wait_for_result(
    client: ClientLike,
    job_id: str,
    *,
    wait: Span | None,
    take: bool,
    through_failures: bool = False,
) -> Operation[Result]:
    """Return the result of a job, as `result` does.

    With `through_failures`, the call also waits while the job is failed, because the job may be
    retried.
    """
    core = client.core
    text("id", job_id, core.limits.name)
    shard = core.shard_of(job_id)
    taking = False
    until = None if wait is None else time.monotonic() + milliseconds("wait", wait) / 1000
    subscription = None
    seen = False
    while True:
        call = build("take_result" if taking else "result", unchanged, id=job_id)
        state, has_result, value, payload = yield from ask_one(core, shard, call)
        if has_result:
            found = Result(
                bound(core.codec, job_id, use="result").decode(value),
                bound(core.codec, job_id).decode(payload),
            )
            if taking or not take:
                return found
            # Remove the result from the server only after it was decoded. Otherwise a result that
            # cannot be decoded would be lost.
            taking = True
            continue
        left = SAFETY_POLL if until is None else until - time.monotonic()
        if state == b"failed" and not through_failures:
            raise WrongState(job_id, "failed")
        if left <= 0 or state == b"complete" or (seen and not state):
            raise NoResult(job_id, state.decode()) if state else JobNotFound(job_id)
        seen = bool(state)
        if subscription is None or subscription.broken:
            subscription = yield Subscribe([core.channel(shard, keys.ended_channel, "")])
            check_permission(subscription)
        else:
            yield Receive(subscription, min(left, SAFETY_POLL))
