"""What is asked and said of jobs by their ids."""

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

# Types group failures, so there are few; a shard tells its most frequent ones.
MOST_TYPES = 10_000


def checked_rows(core: Core, ids: Sequence[str]) -> list[Row]:
    """Ids as rows of a batch call."""
    return [(text("id", job_id, core.limits.name),) for job_id in listed("ids", ids, "str")]


def _state_calls(op: str, **args: Any) -> Any:
    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        return build(op, each_state([str(row[0]) for row in rows]), rows, **args)

    return make


def job(client: ClientLike, job_id: str) -> Operation[Job | None]:
    """The job of this id, or None."""
    found = yield from jobs(client, [job_id])
    return found[0] if found else None


def jobs(client: ClientLike, ids: Sequence[str]) -> Operation[list[Job]]:
    """The jobs of these ids, in the given order; unknown ones are left out."""
    core = client.core

    def make(rows: Sequence[Row]) -> Call[list[Job | None]]:
        def decode(reply: list[Any]) -> list[Job | None]:
            found = {described[0].decode(): read_job(core.codec, described) for described in reply}
            return [found.get(str(row[0])) for row in rows]

        return build("get", decode, rows)

    found = yield from in_batches(core, checked_rows(core, ids), make)
    return [one for one in found if one is not None]


def cancel(client: ClientLike, *ids: str, cascade: bool = False) -> Operation[list[str]]:
    """Deletes jobs that are not complete and returns the ids of those; unknown ids are fine.

    Raises HasDependents if others depend on one of them, unless these are all named as well, or
    cascade says to cancel whatever depends on them too.
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
    """Takes the leases of running jobs back now; for each its new state, or why not."""
    rows = checked_rows(client.core, ids)
    return (yield from in_batches(client.core, rows, _state_calls("timeout")))


def requeue(
    client: ClientLike, job_id: str, queue: str | None = None, *, delay: Span = 0
) -> Operation[str]:
    """Puts a job that exists into a queue (its own by default) as if new; JobNotFound if not."""
    core = client.core
    rows = checked_rows(core, [job_id])
    name = "" if queue is None else text("queue", queue, core.limits.name)
    return sole((yield from in_batches(core, rows, _requeue_calls(name, delay))))


def _requeue_calls(queue: str, delay: Span, state: str = "") -> Any:
    delay_ms = milliseconds("delay", delay)
    return _state_calls("requeue", queue=queue, delay=delay_ms, nonce=new_nonce(), state=state)


def prioritise(client: ClientLike, job_id: str, priority: float) -> Operation[str]:
    """Changes the priority of a job; if it waits it moves to its new place. Returns its state."""
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
    """Tries failed jobs again: these, or up to count of the oldest that failed with a type.

    With a queue they are put there as if new, otherwise they stay where they are. For each its new
    state, or the error that says why not.
    """
    core = client.core
    if bool(ids) == (failure is not None):
        raise InvalidArgument("give either ids or failure=, one of them")
    into = None if queue is None else text("queue", queue, core.limits.name)
    if failure is not None:
        whole("count", count, 1, PAGE)
        text("failure", failure, core.limits.name)
        found = yield from _failed_page(client, failure, 0, count, oldest_first=True)
        ids = tuple(one.id for one in found.jobs)
    delay_ms = milliseconds("delay", delay)
    make = _state_calls("retry", delay=delay_ms, nonce=new_nonce(), expected=b"")
    if into is not None:
        make = _requeue_calls(into, delay, "failed")
    return (yield from in_batches(core, checked_rows(core, ids), make))


def failures(client: ClientLike, *, offset: int = 0, count: int = 25) -> Operation[dict[str, int]]:
    """Failure types and how many jobs each has, the most frequent first."""
    core = client.core
    offset, count = page(offset, count)
    # What is frequent in all need not be on any shard, so every type of each is asked for.
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
    """A page of the jobs that failed with a type, most recent first."""
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
    """A page of the jobs of a queue in one state, and how many there are."""
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
    """The result of a job, waited for if it is not there yet; take=True removes it for others.

    Raises NoResult when there is none in time, JobNotFound when the job stays unknown or is gone
    without a result, WrongState when it is failed.
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
            # It could be read, so it can be taken; what cannot be read stays where it is.
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
