"""pop: the next jobs of a queue go to a worker; waiting for work is not polling."""

from __future__ import annotations

import math
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from headrace.engine.call import Call, build, is_refusal, refuse_pop
from headrace.engine.check import PAGE, Span, milliseconds, text, whole
from headrace.engine.record import Record, decode_record
from headrace.errors import ServerUnavailable
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import ask
from headrace.operations.values import Job, payload_of, read_job
from headrace.transport.drive import Operation, Receive, Subscribe

T = TypeVar("T")

MOST = 500
SAFETY_POLL = 5.0
QUEUES_OWN = -1
WHILE_SESSION = -2


class Popped(NamedTuple):
    """A job that was handed out, before it becomes a lease of either colour."""

    id: str
    record: Record
    packed: bytes
    payload: bytes


class Handout(NamedTuple):
    """The answer of one pop: jobs, and in how many seconds something is due (None: never)."""

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
    """Hands up to count jobs to a worker; waits for the first for `wait` seconds, None for ever.

    A lease of math.inf lasts as long as the worker's session.
    """
    make_call = pop_call(queue, worker, count, lease)
    until = _until(wait)
    handout = yield from _pop_once(queue, make_call(count), make_call)
    if handout.jobs or (until is not None and time.monotonic() >= until):
        return handout.jobs
    core = queue.core
    channels = [core.channel(shard, "queue", queue.name) for shard in range(core.shards)]
    subscription = yield Subscribe(channels)
    while True:
        if subscription.broken:
            subscription = yield Subscribe(channels)
        handout = yield from _pop_once(queue, make_call(count), make_call)
        left = SAFETY_POLL if until is None else until - time.monotonic()
        if handout.jobs or left <= 0:
            return handout.jobs
        pauses = [left, SAFETY_POLL if not subscription.broken else 0.1]
        if handout.due is not None:
            pauses.append(handout.due)
        yield Receive(subscription, max(0.001, min(pauses)))


def pop_call(queue: QueueLike, worker: str, count: int, lease: Span | None, offer: Span = 0) -> Any:
    """A maker of pop calls whose arguments have been checked.

    With an offer a worker that finds nothing is handed the next plain job within that time.
    """
    text("worker", worker, queue.core.limits.name)
    whole("count", count, 1, MOST)
    lease_ms = _lease_ms(lease)
    offer_ms = milliseconds("offer", offer)
    name = queue.name

    def decode(reply: Any) -> Handout:
        refuse_pop(worker, name, reply)
        due, listed = reply[0], reply[1]
        apart = dict(zip(listed[::2], listed[1::2], strict=True))
        jobs = [
            _popped(job_id.decode(), packed, apart.get(job_id, b""))
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
    """Return the same pop call, which gives None instead of raising if the server refuses it.

    The server refuses a pop if the worker's session has ended.
    """
    return Call(call.op, call.args, lambda reply: None if is_refusal(reply) else call.decode(reply))


def divide_evenly(targets: Sequence[T], count: int) -> list[tuple[T, int]]:
    """Divide a number of jobs over targets such as shards.

    The first targets get one more if the number does not divide evenly. Targets that get none are
    left out.
    """
    share, rest = divmod(count, len(targets))
    counts = [share + (at < rest) for at in range(len(targets))]
    return [(target, part) for target, part in zip(targets, counts, strict=True) if part]


def _lease_ms(lease: Span | None) -> int:
    if lease is None:
        return QUEUES_OWN
    return WHILE_SESSION if lease == math.inf else milliseconds("lease", lease)


def _popped(job_id: str, packed: bytes, apart: bytes) -> Popped:
    record = decode_record(packed)
    return Popped(job_id, record, packed, apart or payload_of(record, apart))


def _until(wait: Span | None) -> float | None:
    return None if wait is None else time.monotonic() + milliseconds("wait", wait) / 1000


def _pop_once(queue: QueueLike, first_call: Call[Handout], make_call: Any) -> Operation[Handout]:
    """Asks the shards one after the other, beginning with another one each time."""
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
    """Repeats a pop whose turn went into housekeeping, which is bounded a call."""
    while True:
        [handout] = yield from ask(core, [(shard, call)])
        if handout.jobs or handout.due != 0:
            return handout
        call = make_call(int(call.args[3]))


def peek(queue: QueueLike, count: int = 1) -> Operation[list[Job]]:
    """The next jobs in the order in which pop would hand them out; nobody gets them."""
    whole("count", count, 1, PAGE)
    core = queue.core
    call = build("peek", list, queue=queue.name, count=count)
    found: list[Any] = []
    for shard in range(core.shards):
        done = 0
        while not done:
            [[done, *described]] = yield from ask(core, [(shard, call)])
        found.append([read_job(core.codec, job) for job in described])
    return _interleaved(found)[:count]


def _interleaved(lists: list[list[Job]]) -> list[Job]:
    longest = max(map(len, lists))
    return [jobs[at] for at in range(longest) for jobs in lists if at < len(jobs)]
