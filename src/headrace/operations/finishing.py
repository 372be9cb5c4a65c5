"""Finish or renew leased jobs.

A worker proves with a token that it holds a lease; an operator needs no token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from headrace.codecs.codec import bound
from headrace.engine.call import (
    Answer,
    Call,
    build,
    each_state,
    has_first,
    is_refusal,
    job_refusal,
    new_nonce,
    optional,
    pack,
    packed_pair,
)
from headrace.engine.check import (
    Durability,
    Span,
    choice,
    end_of_text,
    free_text,
    listed,
    milliseconds,
    number,
    text,
)
from headrace.engine.timestamps import moment_or_none
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.durability import confirmed
from headrace.operations.ids import batch_of, parents_of
from headrace.operations.lease_watch import while_finishing
from headrace.operations.protocols import ClientLike, LeaseLike
from headrace.operations.putting import job_payload, payload_for
from headrace.operations.requests import ask_one, unchanged
from headrace.operations.values import Fail
from headrace.options import UNSET
from headrace.transport.drive import Operation

T = TypeVar("T")

POSITIONS = ("front", "back")
LOG_LINES = 100
OPERATOR = ""
TRACEBACK_BYTES = 8192
NO_RETRY = -1
# The indexes of the payloads in a row that the script `complete` or `fail` receives.
GIVEN = (2,)
MESSAGE_AND_DATA = (3, 6)

# Another name for UNSET, for arguments that hold a result.
NO_RESULT = UNSET


def sole(answers: Sequence[T | HeadraceError]) -> T:
    """Return the only answer; raise the answer if it is an error."""
    [answer] = answers
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


# Complete.


def complete(
    lease: LeaseLike,
    result: Any = UNSET,
    *,
    data: Any = UNSET,
    next: str | None = None,  # noqa: A002 - the word users know
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
    durability: Durability | None = None,
) -> Operation[str]:
    """Complete the job or move the job to the next queue; return the job's new state.

    Without `next` the job is complete and `result` is stored. With `next` the job moves to that
    queue and can run there after `delay` seconds. `data` replaces the data of the job. In the next
    queue, the job is blocked until the jobs in `depends_on` are complete. With `durability`, the
    call also waits for the append-only file ("aof") or for a number of replicas.

    Raises LeaseLost if the worker no longer holds the job. Raises InvalidArgument if `next` is
    combined with a result, or if `delay` or `depends_on` is passed without `next`. Raises
    NotDurable if the server does not confirm the wanted `durability` in time.

        lease.complete({"sent": 3})
        lease.complete(next="archive", data={"file": "a.txt"})
    """
    rows = [_completion(lease, result, data, next)]
    call = complete_call(lease.core, rows, next, delay, depends_on)
    return (yield from _finish(lease.core, lease.id, lease.token, call, durability))


def _finish(
    core: Core,
    job_id: str,
    token: str,
    call: Call[list[Answer]],
    durability: Durability | None = None,
) -> Operation[str]:
    def request() -> Operation[str]:
        asking = ask_one(core, core.shard_of(job_id), call)
        return sole((yield from while_finishing(core, [(job_id, token)], asking)))

    return (yield from confirmed(core, durability, request()))


def complete_many(
    client: ClientLike,
    leases: Iterable[LeaseLike],
    results: Iterable[Any] | None = None,
    *,
    next: str | None = None,  # noqa: A002
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
    durability: Durability | None = None,
) -> Operation[list[Answer]]:
    """Complete many jobs; return each job's new state, or an error if the server refused the job.

    The arguments are those of Lease.complete, with one result per lease. If the call raises
    NotDurable, `result` of the error is the list of answers.

    Raises InvalidArgument if the numbers of results and leases differ, or for an argument that
    Lease.complete refuses.

        answers = client.leases.complete(leases, results=[1, 2, 3])
    """
    core = client.core
    rows = completions(core, leases, results, next)
    parents = None if depends_on is None else listed("depends_on", depends_on, "str")
    request = in_batches(
        core,
        rows,
        lambda part: complete_call(core, part, next, delay, parents),
        batch_of(core, len(parents or ())),
        () if results is None else GIVEN,
    )
    return (yield from confirmed(core, durability, while_finishing(core, rows, request)))


def finish(client: ClientLike, job_id: str, result: Any = UNSET) -> Operation[str]:
    """Complete a running job as an operator; the worker loses the lease.

    Return the new state of the job. Raises JobNotFound if there is no such job, and WrongState if
    the job is not running.

        client.finish("import-2", {"rows": 1000})
    """
    core = client.core
    text("id", job_id, core.limits.name)
    value = None if result is UNSET else _result(core, job_id, result)
    row = (job_id, OPERATOR, b"" if value is None else packed_pair(value, None))
    call = complete_call(core, [row], None, 0)
    return (yield from _finish(core, job_id, OPERATOR, call))


def completions(
    core: Core,
    leases: Iterable[LeaseLike],
    results: Iterable[Any] | None,
    next_queue: str | None = None,
) -> list[Row]:
    """Return the rows for the script `complete`; without `results` the jobs get no results."""
    held = listed("leases", leases, "leases")
    proofs = _proofs(held)
    if results is None and (next_queue is None or not core.binds):
        return [(job_id, token, b"") for job_id, token in proofs]
    every = [UNSET] * len(held) if results is None else listed("results", results, "values")
    if len(every) != len(proofs):
        raise InvalidArgument(
            f"results must have one value per lease: {len(proofs)} leases, {len(every)} results"
        )
    return [
        _completion(lease, result, UNSET, next_queue)
        for lease, result in zip(held, every, strict=True)
    ]


def _proofs(leases: Iterable[LeaseLike]) -> list[tuple[str, str]]:
    """Return the job id and token of each lease, as proof that the caller holds the lease."""
    try:
        return [(lease.id, lease.token) for lease in listed("leases", leases, "leases")]
    except AttributeError:
        raise InvalidArgument("leases must be a list of leases that pop returned") from None


def _completion(lease: LeaseLike, result: Any, data: Any, next_queue: str | None) -> Row:
    core = lease.core
    if data is UNSET and next_queue is not None and core.binds:
        # The payload belongs to the old queue, so the job needs a new payload in the next queue.
        data = getattr(lease, "data", UNSET)
    if result is UNSET and data is UNSET:
        return (lease.id, lease.token, b"")
    value = None if result is UNSET else _result(core, lease.id, result)
    queue = next_queue or _queue_of(lease)
    payload = None if data is UNSET else job_payload(core, data, lease.id, queue)
    return (lease.id, lease.token, packed_pair(value, payload))


def _result(core: Core, job_id: str, value: Any) -> bytes:
    return payload_for(value, bound(core.codec, job_id, use="result"), core.limits)


def _optional_data(lease: LeaseLike, value: Any) -> bytes:
    if value is UNSET:
        return b""
    return optional(job_payload(lease.core, value, lease.id, _queue_of(lease)))


def _queue_of(lease: LeaseLike) -> str:
    """Return the queue of a lease, or "".

    A lease from a compatibility API may not know its queue.
    """
    return str(getattr(lease, "queue", ""))


def complete_call(
    core: Core,
    rows: Sequence[Row],
    next_queue: str | None,
    delay: Span,
    depends_on: Iterable[str] | None = None,
) -> Call[list[Answer]]:
    """Return a call of the script `complete` for rows of one shard."""
    if next_queue is not None:
        text("next", next_queue, core.limits.name)
        if any(has_first(row[2]) for row in rows):
            raise InvalidArgument(
                "a job that moves to another queue has no result yet; pass data= instead"
            )
    delay_ms = milliseconds("delay", delay)
    if delay_ms and next_queue is None:
        raise InvalidArgument(
            "delay= needs next=: only a job that moves to another queue can be delayed"
        )
    if depends_on is not None and next_queue is None:
        raise InvalidArgument(
            "depends_on= needs next=: only a job that moves to another queue can be blocked"
        )
    ids = [str(row[0]) for row in rows]
    call = build(
        "complete",
        each_state(ids),
        rows,
        next_queue=optional(next_queue),
        delay=delay_ms,
        parents=b"" if depends_on is None else pack(parents_of(core, ids, depends_on)),
    )
    # The record of a complete job contains the token of its last lease. This token shows that the
    # call took effect, so only other calls need a nonce.
    if next_queue is not None or (rows and rows[0][1] == OPERATOR):
        call.ticket = new_nonce()
    return call


# Fail.


def fail(
    lease: LeaseLike,
    failure: str,
    message: str = "",
    *,
    traceback: str | None = None,
    retry_in: Span | None = None,
    data: Any = UNSET,
) -> Operation[str]:
    """Report that the attempt failed and return the new state of the job.

    `failure` is the failure type, a name that groups failures of the same kind. With `retry_in` the
    job runs again after that many seconds if it has retries left. Without `retry_in`, or without
    retries left, the job fails permanently: it stays failed until you retry or cancel it. `data`
    replaces the data of the job. The server stores only the last 8,192 bytes of a long traceback.

    Raises LeaseLost if the worker no longer holds the job.

        lease.fail("smtp", "connection refused", retry_in=30)
    """
    core = lease.core
    item = Fail(lease, failure, message, traceback, retry_in, data)
    call = fail_call(core, [_failed_attempt(item)])
    return (yield from _finish(core, lease.id, lease.token, call))


def fail_many(client: ClientLike, items: Iterable[Fail]) -> Operation[list[Answer]]:
    """Fail many attempts; return each job's new state, or an error if the server refused the job.

    An item is a Fail(lease, failure, message, traceback=..., retry_in=..., data=...).

    Raises InvalidArgument if an item is not a Fail or has an invalid value.

        client.leases.fail([Fail(lease, "smtp", retry_in=30) for lease in leases])
    """
    core = client.core
    rows = [_failed_attempt(item) for item in listed("items", items, "Fail")]
    request = in_batches(core, rows, lambda part: fail_call(core, part), None, MESSAGE_AND_DATA)
    finishing = while_finishing(core, [row[:2] for row in rows], request)
    return (yield from confirmed(core, None, finishing))


def fail_by_id(client: ClientLike, job_id: str, failure: str, message: str = "") -> Operation[str]:
    """Fail a job permanently as an operator, in any state but complete; return the job's new state.

    Raises JobNotFound if there is no such job, and WrongState if the job is complete.

        client.fail("order-7", "fraud", "stolen card")
    """
    core = client.core
    text("id", job_id, core.limits.name)
    call = fail_call(core, [(job_id, OPERATOR, failure, message, None, NO_RETRY, b"")])
    return (yield from _finish(core, job_id, OPERATOR, call))


# A failed attempt: job id, token, failure type, message, traceback, milliseconds until the retry
# (or NO_RETRY), and the new data as an optional argument.
FailedAttempt = tuple[str, str, str, str, str | None, int, bytes]


def _failed_attempt(item: Fail) -> FailedAttempt:
    if not isinstance(item, Fail):
        raise InvalidArgument(f"an item of leases.fail must be a Fail, not {type(item).__name__}")
    [(job_id, token)] = _proofs([item.lease])
    retry_ms = NO_RETRY if item.retry_in is None else milliseconds("retry_in", item.retry_in)
    data = _optional_data(item.lease, item.data)
    return job_id, token, item.failure, item.message, item.traceback, retry_ms, data


def fail_call(core: Core, rows: Sequence[FailedAttempt]) -> Call[list[Answer]]:
    """Return a call of the script `fail` for rows of one shard, with shortened tracebacks."""
    checked = [
        (
            job_id,
            token,
            text("failure", failure, core.limits.name),
            free_text("message", message, core.limits.message),
            optional(_traceback(traceback)),
            retry_ms,
            data,
        )
        for job_id, token, failure, message, traceback, retry_ms, data in rows
    ]
    return build("fail", each_state([row[0] for row in rows]), checked)


def _traceback(given: str | None) -> str | None:
    return end_of_text("traceback", given, TRACEBACK_BYTES) if given else None


# Release.


def release(lease: LeaseLike, *, position: str | None = None, delay: Span = 0) -> Operation[str]:
    """Release the job to its queue without counting a failure, and return the job's new state.

    `position` is "front" or "back"; the default is the setting of the queue. `delay` is the
    number of seconds before the job can be popped again.

    Raises LeaseLost if the worker no longer holds the job.

        lease.release(position="back", delay=5)
    """
    call = release_call([(lease.id, lease.token)], position, delay, "worker")
    return (yield from _finish(lease.core, lease.id, lease.token, call))


def release_many(
    client: ClientLike, leases: Iterable[LeaseLike], *, position: str | None = None, delay: Span = 0
) -> Operation[list[Answer]]:
    """Release many jobs to their queues without counting failures; see Lease.release.

    Return each job's new state, or an error if the server refused the job. Raises InvalidArgument
    if `position` or `delay` is invalid.

        client.leases.release(leases, position="front")
    """
    core = client.core
    rows: list[Row] = [*_proofs(leases)]
    request = in_batches(core, rows, lambda part: release_call(part, position, delay, "worker"))
    return (yield from confirmed(core, None, while_finishing(core, rows, request)))


def release_by_id(
    client: ClientLike, job_id: str, *, position: str | None = None, delay: Span = 0
) -> Operation[str]:
    """Release a running job to its queue as an operator; the worker loses the lease.

    Return the new state of the job. Raises JobNotFound if there is no such job, and WrongState if
    the job is not running.

        client.release("import-2", delay=60)
    """
    core = client.core
    text("id", job_id, core.limits.name)
    call = release_call([(job_id, OPERATOR)], position, delay, "operator")
    return (yield from _finish(core, job_id, OPERATOR, call))


def release_call(
    rows: Sequence[Row], position: str | None, delay: Span, reason: str
) -> Call[list[Answer]]:
    """Return a call of the script `release` for rows of one shard."""
    if position is not None:
        choice("position", position, POSITIONS)
    return build(
        "release",
        each_state([str(row[0]) for row in rows]),
        rows,
        position=position or "",
        delay=milliseconds("delay", delay),
        reason=reason,
    )


# Heartbeat, progress, log.


def heartbeat(
    lease: LeaseLike, *, lease_for: Span | None = None, data: Any = UNSET
) -> Operation[datetime | None]:
    """Renew the lease and return its new deadline, or None if the lease has no deadline.

    `lease_for` is the new duration in seconds; the default is the setting of the queue. A lease
    without a deadline stays without a deadline. `data` replaces the data of the job, for example to
    store the progress for the next attempt.

    Raises LeaseLost if the worker no longer holds the job.

        lease.heartbeat(lease_for=60, data={"offset": 4000})
    """
    core = lease.core
    rows = [(lease.id, lease.token, _optional_data(lease, data))]
    call = heartbeat_call(rows, lease_for)
    return sole((yield from ask_one(core, core.shard_of(lease.id), call)))


def heartbeat_many(
    client: ClientLike, leases: Iterable[LeaseLike], *, lease_for: Span | None = None
) -> Operation[list[datetime | HeadraceError | None]]:
    """Renew many leases; return each new deadline, or an error if the server refused the lease.

    `lease_for` is the new duration in seconds; the default is the setting of the queue.

    Raises InvalidArgument if `leases` is not a list of leases or `lease_for` is invalid.

        deadlines = client.leases.heartbeat(leases, lease_for=60)
    """
    rows: list[Row] = [(job_id, token, b"") for job_id, token in _proofs(leases)]
    return (yield from in_batches(client.core, rows, lambda part: heartbeat_call(part, lease_for)))


def heartbeat_call(
    rows: Sequence[Row], lease_for: Span | None
) -> Call[list[datetime | HeadraceError | None]]:
    """Return a call of the script `heartbeat` for rows of one shard."""

    def decode(answers: list[Any]) -> list[datetime | HeadraceError | None]:
        return [
            job_refusal(str(row[0]), answer) if is_refusal(answer) else moment_or_none(answer)
            for row, answer in zip(rows, answers, strict=True)
        ]

    lease_ms = -1 if lease_for is None else milliseconds("lease_for", lease_for)
    return build("heartbeat", decode, rows, lease=lease_ms)


def progress(lease: LeaseLike, share: float, note: str = "") -> Operation[None]:
    """Report the progress of the job, from 0 to 1, with a note for human readers.

    Raises LeaseLost if the worker no longer holds the job.

        lease.progress(0.4, "400 of 1000 rows")
    """
    if not 0 <= number("share", share) <= 1:
        raise InvalidArgument(f"share must be from 0 to 1, not {share}")
    yield from _report(
        lease, "progress", share=share, note=free_text("note", note, lease.core.limits.message)
    )


def log(lease: LeaseLike, line: str) -> Operation[None]:
    """Add a line to the log of the job; the newest 100 lines are stored.

    Raises LeaseLost if the worker no longer holds the job.

        lease.log("sent 400 of 1000 letters")
    """
    text_line = free_text("line", line, lease.core.limits.message)
    yield from _report(lease, "log", line=text_line, keep=LOG_LINES)


def _report(lease: LeaseLike, op: str, **args: Any) -> Operation[None]:
    call = build(op, unchanged, id=lease.id, token=lease.token, **args)
    answer = yield from ask_one(lease.core, lease.core.shard_of(lease.id), call)
    if is_refusal(answer):
        raise job_refusal(lease.id, answer)
