"""Read and change jobs by their ids."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from headrace.engine.call import Answer, Call, build, each_state
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
from headrace.operations.ids import new_nonce
from headrace.operations.paging import ids_of_page, page_reader, still
from headrace.operations.popping import SAFETY_POLL
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Job, Page, Result, read_job
from headrace.transport.drive import Operation, Receive, Subscribe

# Failure types that are read from each shard, the most frequent first.
MOST_TYPES = 10_000


def checked_rows(core: Core, ids: Sequence[str]) -> list[Row]:
    """Return ids as the rows of a batch call; raise InvalidArgument if one is malformed."""
    return [(text("id", job_id, core.limits.name),) for job_id in listed("ids", ids, "str")]


def _state_calls(op: str, **args: Any) -> Any:
    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        return build(op, each_state([str(row[0]) for row in rows]), rows, **args)

    return make


def job(client: ClientLike, job_id: str) -> Operation[Job | None]:
    """Return the job with this id, or None.

    The job is a snapshot; read it again to see later changes.

        job = client.job("order-7")
        print(job.state, job.attempt, job.data)
    """
    found = yield from jobs(client, [job_id])
    return found[0] if found else None


def jobs(client: ClientLike, ids: Sequence[str]) -> Operation[list[Job]]:
    """Return the jobs with these ids, in the given order; unknown ids are left out."""
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

    A worker that runs a cancelled job loses its lease. With `cascade` the dependents of the jobs
    are cancelled too.

    Raises HasDependents if a job has dependents that are not among the ids, unless `cascade` is
    set. Then the call cancels none of the jobs on that shard.

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


def timeout(client: ClientLike, *ids: str) -> Operation[list[Answer]]:
    """Revoke the leases of running jobs now, as if they had expired.

    The jobs return to the front of their queues. Return the new state of each, or the error that
    refused it: JobNotFound, or WrongState if the job is not running.
    """
    rows = checked_rows(client.core, ids)
    return (yield from in_batches(client.core, rows, _state_calls("timeout")))


def requeue(
    client: ClientLike, job_id: str, queue: str | None = None, *, delay: Span = 0
) -> Operation[str]:
    """Put an existing job into a queue (by default its own) like a new one; return its new state.

    It keeps its data and options. A worker that runs it loses its lease.

    Raises JobNotFound if there is no such job, JobExists if its unique value is taken in the queue.

        client.requeue("order-7", "slow", delay=60)
    """
    core = client.core
    rows = checked_rows(core, [job_id])
    name = "" if queue is None else text("queue", queue, core.limits.name)
    return sole((yield from in_batches(core, rows, _requeue_calls(name, delay))))


def _requeue_calls(queue: str, delay: Span, state: str = "") -> Any:
    delay_ms = milliseconds("delay", delay)
    return _state_calls("requeue", queue=queue, delay=delay_ms, nonce=new_nonce(), state=state)


def prioritise(client: ClientLike, job_id: str, priority: float) -> Operation[str]:
    """Change the priority of a job and return its state.

    A waiting job moves to its new position in the queue, before jobs of the same priority that were
    put later.

    Raises JobNotFound if there is no such job, WrongState if it is complete.
    """
    rows = checked_rows(client.core, [job_id])
    make = _state_calls("prioritise", priority=number("priority", priority))
    return sole((yield from in_batches(client.core, rows, make)))


def retry(
    client: ClientLike,
    *ids: str,
    failure: str | None = None,
    count: int = 25,
    delay: Span = 0,
    queue: str | None = None,
) -> Operation[list[Answer]]:
    """Retry failed jobs: those with the given ids, or the oldest of a failure type, up to count.

    With `queue` they are put there like new jobs; otherwise they go to the back of their own queue
    with all their retries. Return the new state of each, or the error that refused it: JobNotFound,
    WrongState if the job is not failed, JobExists if its unique value is taken.

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
        found = yield from _failed_page(client, failure, 0, count, oldest_first=True)
        ids = tuple(one.id for one in found.jobs)
    delay_ms = milliseconds("delay", delay)
    make = _state_calls("retry", delay=delay_ms, nonce=new_nonce(), expected=b"")
    if target is not None:
        make = _requeue_calls(target, delay, "failed")
    return (yield from in_batches(core, checked_rows(core, ids), make))


def failures(client: ClientLike, *, offset: int = 0, count: int = 25) -> Operation[dict[str, int]]:
    """Return the failure types with their numbers of failed jobs, most frequent first."""
    core = client.core
    offset, count = page(offset, count)
    # A type that is frequent in total may be rare on each shard, so all types are read.
    call = build("failures", list, offset=0, count=MOST_TYPES)
    totals: dict[str, int] = {}
    replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    for reply in replies:
        for kind, times in zip(reply[::2], reply[1::2], strict=True):
            totals[kind.decode()] = totals.get(kind.decode(), 0) + int(times)
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[offset : offset + count])


def failed(
    client: ClientLike, failure: str, *, offset: int = 0, count: int = 25
) -> Operation[Page]:
    """Return a page of the jobs that failed with a failure type, most recent first."""
    text("failure", failure, client.core.limits.name)
    return (yield from _failed_page(client, failure, *page(offset, count), oldest_first=False))


def _failed_page(
    client: ClientLike, failure: str, offset: int, count: int, *, oldest_first: bool
) -> Operation[Page]:
    core = client.core
    if core.shards > 1:
        total, ids = yield from ids_of_page(
            core, "failures", failure, offset, count, newest_first=not oldest_first
        )
        return Page(total, still((yield from jobs(client, ids)), "failed"))
    call = build(
        "failed",
        page_reader(core),
        failure=failure,
        offset=offset,
        count=count,
        oldest_first=int(oldest_first),
    )
    return (yield from ask_one(core, 0, call))


def queue_jobs(
    queue: QueueLike, state: str, *, offset: int = 0, count: int = 25
) -> Operation[Page]:
    """Return a page of the jobs of a queue in one state, and their total number.

    The states are waiting, scheduled, blocked, running, failed and complete.

        page = queue.jobs("running", count=10)
        print(page.total, [job.id for job in page.jobs])
    """
    core = queue.core
    choice("state", state, STATES)
    offset, count = page(offset, count)
    if core.shards > 1:
        total, ids = yield from ids_of_page(
            core,
            state,
            queue.name,
            offset,
            count,
            newest_first=state in ("failed", "complete"),
        )
        return Page(total, still((yield from jobs(queue, ids)), state))
    call = build(
        "jobs", page_reader(core), queue=queue.name, state=state, offset=offset, count=count
    )
    return (yield from ask_one(core, 0, call))


def result(
    client: ClientLike, job_id: str, *, wait: Span | None = 0, take: bool = False
) -> Operation[Result]:
    """Return the result of a job; wait up to `wait` seconds for it, None without a limit.

    With `take` the result is removed from the server, so that no other call gets it.

    Raises NoResult if there is no result in time or the job completed without one, JobNotFound if
    the job is unknown or was deleted, WrongState if it failed.

        result = client.result(job_id, wait=30)
        print(result.value)
    """
    core = client.core
    text("id", job_id, core.limits.name)
    shard = core.shard_of(job_id)
    taking = False
    until = None if wait is None else time.monotonic() + milliseconds("wait", wait) / 1000
    subscription = None
    seen = False
    while True:
        call = build("result", lambda reply: reply, id=job_id, take=int(taking))
        state, has_result, value, payload = yield from ask_one(core, shard, call)
        if has_result:
            found = Result(core.codec.decode(value), core.codec.decode(payload))
            if taking or not take:
                return found
            # Take the result only after it could be decoded; otherwise it stays on the server.
            taking = True
            continue
        left = SAFETY_POLL if until is None else until - time.monotonic()
        if state == b"failed":
            raise WrongState(job_id, "failed")
        if left <= 0 or state == b"complete" or (seen and not state):
            raise NoResult(job_id, state.decode()) if state else JobNotFound(job_id)
        seen = bool(state)
        if subscription is None or subscription.broken:
            subscription = yield Subscribe([core.channel(shard, "ended", "")])
        else:
            yield Receive(subscription, min(left, SAFETY_POLL))
