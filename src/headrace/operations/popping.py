"""Pop the next jobs of a queue; a message wakes a pop that waits for a job."""

from __future__ import annotations

import math
import os
import random
import time
from asyncio import CancelledError
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, refuse_pop
from headrace.engine.check import PAGE, Span, milliseconds, text, whole
from headrace.engine.record import Record, decode_record
from headrace.errors import ServerUnavailable
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.finishing import release_call
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import (
    Retries,
    ask_if_allowed,
    ask_one,
    check_permission,
    is_transient,
)
from headrace.operations.values import Job, payload_of, read_job
from headrace.transport.drive import Operation, Receive, Sleep, Subscribe

T = TypeVar("T")

# The maximum number of jobs that one pop returns.
MOST = 500
# Seconds after which a waiting pop tries again, in case a message was lost.
SAFETY_POLL = 5.0
# Seconds after which a waiting pop tries again while it receives no messages.
BROKEN_POLL = 0.1
# Seconds for which a pop from several shards repeats a call to one shard. A broken connection is
# replaced in this time, so that the repeated pop returns the jobs of the first one.
RETRY_ONE_OF_MANY = 0.1
# Special lease durations: use the duration in the queue's settings, or let the lease last as long
# as the worker's session.
LEASE_OF_QUEUE = -1
LEASE_OF_SESSION = -2
# A pop returns this value as the due time if another client is doing the housekeeping of the queue.
# This client then pops again after about BUSY_PAUSE seconds.
BUSY = -2
BUSY_PAUSE = 0.05


class Popped(NamedTuple):
    """A popped job, before it becomes a Lease or an AsyncLease."""

    id: str
    record: Record
    packed: bytes
    payload: bytes


class Handout(NamedTuple):
    """The reply to one pop: the jobs, and in how many seconds the next job is due.

    `due` covers scheduled jobs, schedules and the ends of leases. It is None if the queue has none
    of these, and 0 if the caller should pop again at once.

    A pop from several shards also says whether a shard answered, and the error of a shard that did
    not answer. If another client is doing the housekeeping of the queue, jobs may become available
    soon, so the caller should repeat a pop that returned no jobs.
    """

    due: float | None
    jobs: list[Popped]
    answered: bool = True
    failure: ServerUnavailable | None = None
    is_busy: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the pop returned jobs, or the server gave no reason to pop again soon."""
        return bool(self.jobs) or not (self.is_busy or self.due == 0)


# The pops whose replies were lost, by shard. A repeated pop returns the jobs of the lost pop.
LostPops = dict[int, Call[Handout]]


def pop(
    queue: QueueLike,
    worker: str,
    *,
    count: int = 1,
    lease: Span | None = None,
    wait: Span | None = 0,
) -> Operation[list[Popped]]:
    """Pop up to `count` jobs; wait up to `wait` seconds for the first job; see Queue.pop."""
    make_call = pop_call(queue, worker, count, lease)
    deadline = _deadline(wait)
    lost_pops: LostPops = {}
    handout = yield from _pop_once(queue.core, make_call, count, lost_pops)
    if not handout.jobs and (handout.failure is not None or deadline is None or _left(deadline)):
        again = partial(_pop_once, queue.core, make_call, count, lost_pops)
        handout = yield from _wait_for_jobs(queue, handout, again, deadline)
    return handout.jobs


def _wait_for_jobs(
    queue: QueueLike,
    handout: Handout,
    pop_again: Callable[[], Operation[Handout]],
    deadline: float | None,
) -> Operation[Handout]:
    """Repeat a pop that returned no jobs, until it returns jobs or the time is over.

    Raises ServerUnavailable if no shard answers for `retry_for` seconds, or if a shard has not
    answered when the time is over.
    """
    core = queue.core
    channels = [core.channel(shard, keys.queue_channel, queue.name) for shard in range(core.shards)]
    subscription = None
    retries = Retries(core)
    while True:
        left = SAFETY_POLL if deadline is None else _left(deadline)
        if handout.jobs or (not left and handout.failure is None):
            return handout
        if left and handout.answered:
            retries = Retries(core)
        failure = handout.failure
        if failure is not None and not (
            left and handout.answered and is_transient(failure.__cause__)
        ):
            yield from retries.pause_after(failure)
        elif subscription is None or subscription.broken:
            was_broken = subscription is not None
            subscription = yield Subscribe(channels)
            check_permission(subscription)
            if was_broken and subscription.broken:
                yield Receive(subscription, max(0.001, min(left, BROKEN_POLL)))
        else:
            pauses = [left, SAFETY_POLL] + ([] if handout.due is None else [handout.due])
            yield Receive(subscription, max(0.001, min(pauses)))
        handout = yield from pop_again()


def pop_call(queue: QueueLike, worker: str, count: int, lease: Span | None, offer: Span = 0) -> Any:
    """Check the arguments of a pop and return a function that builds the script calls for that pop.

    `offer` is a time in seconds. If the pop finds no job, the worker offers to take one within this
    time. The server then hands the next new job without options directly to this worker.
    """
    text("worker", worker, queue.core.limits.name)
    whole("count", count, 1, MOST)
    lease_ms = _lease_ms(lease)
    offer_ms = milliseconds("offer", offer)
    name = queue.name

    def decode(reply: Any) -> Handout:
        refuse_pop(worker, name, reply)
        due, listed = reply[0], reply[1]
        separate = dict(zip(listed[::2], listed[1::2], strict=True))
        jobs = [
            _popped(job_id.decode(), packed, separate.get(job_id, b""))
            for job_id, packed in zip(reply[2::2], reply[3::2], strict=True)
        ]
        if due == BUSY:
            return Handout(BUSY_PAUSE * random.uniform(0.5, 1.5), jobs, is_busy=True)  # noqa: S311
        return Handout(None if due < 0 else due / 1000, jobs)

    def make(wanted: int) -> Call[Handout]:
        return build(
            "pop",
            decode,
            queue=name,
            worker=worker,
            secret=urlsafe_b64encode(os.urandom(12)),
            count=wanted,
            lease=lease_ms,
            offer=offer_ms,
        )

    return make


def none_if_refused(call: Call[Handout]) -> Call[Handout | None]:
    """Return a pop call that returns None, instead of raising, if the server refuses the pop.

    The server refuses a pop if the worker's session has ended.
    """
    return Call(call.op, call.args, lambda reply: None if is_refusal(reply) else call.decode(reply))


def divide_evenly(targets: Sequence[T], count: int) -> list[tuple[T, int]]:
    """Divide a number of jobs among targets such as shards.

    If the number does not divide evenly, the first targets get one more job each. Targets that get
    no jobs are left out.
    """
    share, remainder = divmod(count, len(targets))
    counts = [share + (at < remainder) for at in range(len(targets))]
    return [(target, part) for target, part in zip(targets, counts, strict=True) if part]


def _lease_ms(lease: Span | None) -> int:
    if lease is None:
        return LEASE_OF_QUEUE
    return LEASE_OF_SESSION if lease == math.inf else milliseconds("lease", lease)


def _popped(job_id: str, packed: bytes, separate: bytes) -> Popped:
    record = decode_record(packed)
    return Popped(job_id, record, packed, separate or payload_of(record, separate))


def _deadline(wait: Span | None) -> float | None:
    return None if wait is None else time.monotonic() + milliseconds("wait", wait) / 1000


def next_reachable_shard(core: Core) -> int:
    """Return the next shard to pop from, in turn; skip shards that did not answer the last pop."""
    for _ in range(core.shards):
        shard = core.next_shard
        core.next_shard = (shard + 1) % core.shards
        if shard not in core.unreachable:
            break
    return shard


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _pop_once(core: Core, make_call: Any, count: int, lost_pops: LostPops) -> Operation[Handout]:
    """Pop from one shard after the other; each call starts with another shard.

    Shards that were unreachable the last time come last, and only if the other shards have no job.
    """
    if core.shards == 1:
        return (yield from pop_after_housekeeping(core, 0, make_call(count), make_call))
    start = core.next_shard
    core.next_shard = (start + 1) % core.shards
    order = [(start + step) % core.shards for step in range(core.shards)]
    found = Handout(None, [], answered=False)
    for shard in sorted(order, key=core.unreachable.__contains__):
        jobs = found.jobs
        if len(jobs) >= count or (jobs and shard in core.unreachable):
            break
        try:
            handout = yield from _pop_from(core, shard, make_call, count - len(jobs), lost_pops)
        except CancelledError:
            yield from _release(core, found.jobs)
            raise
        found = Handout(
            min((due for due in (found.due, handout.due) if due is not None), default=None),
            jobs + handout.jobs,
            found.answered or handout.answered,
            found.failure or handout.failure,
        )
    return found


def _pop_from(
    core: Core, shard: int, make_call: Any, count: int, lost_pops: LostPops
) -> Operation[Handout]:
    """Pop from one of several shards; if the shard does not answer, the handout has the error."""
    lost = lost_pops.pop(shard, None)
    call = lost or make_call(count)
    try:
        handout = yield from pop_after_housekeeping(
            core, shard, call, make_call, again=lost is not None
        )
    except ServerUnavailable as error:
        core.unreachable.add(shard)
        if error.maybe_done:
            lost_pops[shard] = call
        return Handout(None, [], answered=False, failure=error)
    core.unreachable.discard(shard)
    return handout


def pop_after_housekeeping(
    core: Core, shard: int, call: Call[Handout], make_call: Any, *, again: bool = False
) -> Operation[Handout]:
    """Pop, and repeat the pop while the server does housekeeping instead of returning jobs."""
    # With several shards, one unreachable shard must not delay pops from the others, so a failed
    # call is repeated only briefly.
    retry_for = None if core.shards == 1 else RETRY_ONE_OF_MANY
    while True:
        try:
            handout = yield from ask_one(core, shard, call, again=again, retry_for=retry_for)
        except CancelledError:
            yield from give_back(core, shard, call)
            raise
        if handout.is_final:
            return handout
        if handout.is_busy:
            yield Sleep(handout.due or 0.0)
        call, again = make_call(int(call.args[3])), False


def give_back(core: Core, shard: int, call: Call[Handout]) -> Operation[None]:
    """Release the jobs that a pop has leased if the pop was cancelled before its reply was read."""
    queue, worker, secret, _, *others = call.args
    # With a count of 0, the repeated pop returns the jobs of the first pop and leases no others.
    repeated = Call(call.op, (queue, worker, secret, 0, *others), call.decode)
    handout = yield from ask_one(core, shard, repeated, again=True)
    yield from _release(core, handout.jobs)


def _release(core: Core, jobs: Sequence[Popped]) -> Operation[None]:
    rows = [(popped.id, popped.record.token) for popped in jobs]
    yield from in_batches(core, rows, lambda part: release_call(part, "front", 0, "worker"))


def peek(queue: QueueLike, count: int = 1) -> Operation[list[Job]]:
    """Return the next jobs in the order in which pop would lease them, without leasing them.

    As in pop, due jobs first start to wait, and pushed elements become jobs. This step is skipped
    if the user may only read or the server refuses to write, so such jobs may be missing.

    Raises InvalidArgument if `count` is not from 1 to 1,000.

        for job in queue.peek(10):
            print(job.id, job.data)
    """
    whole("count", count, 1, PAGE)
    core = queue.core
    call = build("peek", list, queue=queue.name, count=count)
    found: list[Any] = []
    for shard in range(core.shards):
        is_early, *described = yield from ask_one(core, shard, call)
        if is_early and (yield from _prepare_peek(queue, shard)):
            _, *described = yield from ask_one(core, shard, call)
        found.append([read_job(core.codec, job) for job in described])
    return _interleaved(found)[:count]


def _prepare_peek(queue: QueueLike, shard: int) -> Operation[bool]:
    """Add due jobs and pushed elements to the waiting jobs, as a pop does first.

    Return False if the server refuses to write.
    """
    call = build("prepare_peek", int, queue=queue.name)
    done: int | None = 0
    while done == 0:
        done = yield from ask_if_allowed(queue.core, shard, call)
    return done is not None


def _interleaved(lists: list[list[Job]]) -> list[Job]:
    longest = max(map(len, lists))
    return [jobs[at] for at in range(longest) for jobs in lists if at < len(jobs)]
