"""Pop the next jobs of a queue; a message wakes a pop that waits for a job."""

from __future__ import annotations

import math
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from redis.exceptions import NoPermissionError

from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, refuse_pop
from headrace.engine.check import PAGE, Span, milliseconds, text, whole
from headrace.engine.record import Record, decode_record
from headrace.errors import ServerUnavailable
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import ask, ask_one, check_permission
from headrace.operations.values import Job, payload_of, read_job
from headrace.transport.drive import Operation, Receive, Subscribe

T = TypeVar("T")

# The maximum number of jobs that one pop returns.
MOST = 500
# Seconds after which a waiting pop tries again, in case a message was lost.
SAFETY_POLL = 5.0
# Special lease durations: the duration in the queue's settings, and the duration of the worker's
# session.
LEASE_OF_QUEUE = -1
LEASE_OF_SESSION = -2


class Popped(NamedTuple):
    """A popped job, before it becomes a Lease or an AsyncLease."""

    id: str
    record: Record
    packed: bytes
    payload: bytes


class Handout(NamedTuple):
    """The reply to one pop: the jobs, and the seconds until the next job is due, or None."""

    due: float | None
    jobs: list[Popped]


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
    handout = yield from _pop_once(queue, make_call(count), make_call)
    if handout.jobs or (deadline is not None and time.monotonic() >= deadline):
        return handout.jobs
    core = queue.core
    channels = [core.channel(shard, keys.queue_channel, queue.name) for shard in range(core.shards)]
    subscription = yield Subscribe(channels)
    while True:
        check_permission(subscription)
        if subscription.broken:
            subscription = yield Subscribe(channels)
        handout = yield from _pop_once(queue, make_call(count), make_call)
        left = SAFETY_POLL if deadline is None else deadline - time.monotonic()
        if handout.jobs or left <= 0:
            return handout.jobs
        pauses = [left, SAFETY_POLL if not subscription.broken else 0.1]
        if handout.due is not None:
            pauses.append(handout.due)
        yield Receive(subscription, max(0.001, min(pauses)))


def pop_call(queue: QueueLike, worker: str, count: int, lease: Span | None, offer: Span = 0) -> Any:
    """Check the arguments of a pop and return a function that builds the script calls for that pop.

    `offer` is a time in seconds. If the pop finds no job, the worker offers for this time to take a
    job: the server hands the next new job without options directly to this worker.
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


def _pop_once(queue: QueueLike, first_call: Call[Handout], make_call: Any) -> Operation[Handout]:
    """Pop from one shard after the other; the first shard changes with every call."""
    core = queue.core
    count = int(first_call.args[3])
    start = core.next_shard
    core.next_shard = (start + 1) % core.shards
    due: float | None = None
    jobs: list[Popped] = []
    for step in range(core.shards):
        shard = (start + step) % core.shards
        call = first_call if not jobs and step == 0 else make_call(count - len(jobs))
        try:
            handout = yield from pop_after_housekeeping(core, shard, call, make_call)
        except ServerUnavailable:
            if jobs:
                break
            raise
        jobs += handout.jobs
        if handout.due is not None:
            due = handout.due if due is None else min(due, handout.due)
        if len(jobs) >= count:
            break
    return Handout(due, jobs)


def pop_after_housekeeping(
    core: Any, shard: int, call: Call[Handout], make_call: Any
) -> Operation[Handout]:
    """Pop, and repeat the pop while the server does housekeeping instead of returning jobs."""
    while True:
        [handout] = yield from ask(core, [(shard, call)])
        if handout.jobs or handout.due != 0:
            return handout
        call = make_call(int(call.args[3]))


def peek(queue: QueueLike, count: int = 1) -> Operation[list[Job]]:
    """Return the next jobs in the order in which pop would lease them, without leasing them.

    As in pop, due jobs first start to wait, and pushed elements become jobs. A client that may only
    read skips this step, so such jobs may be missing.

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
    """Do the work that a pop does first; return False if the user may only read."""
    call = build("prepare_peek", int, queue=queue.name)
    try:
        while not (yield from ask_one(queue.core, shard, call)):
            pass
    except ServerUnavailable as refused:
        if not isinstance(refused.__cause__, NoPermissionError):
            raise
        return False
    return True


def _interleaved(lists: list[list[Job]]) -> list[Job]:
    longest = max(map(len, lists))
    return [jobs[at] for at in range(longest) for jobs in lists if at < len(jobs)]
