"""Finish or renew leased jobs: a worker by its tokens, an operator by job ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from headrace.engine.call import (
    Answer,
    Call,
    build,
    each_state,
    has_first,
    is_refusal,
    job_refusal,
    optional,
    pack,
    packed_pair,
)
from headrace.engine.check import (
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
from headrace.operations.batches import Row, in_batches, rounds
from headrace.operations.core import Core
from headrace.operations.ids import batch_of, new_nonce, parents_of
from headrace.operations.lease_watch import while_finishing
from headrace.operations.popping import Handout, Popped, pop_after_housekeeping, pop_call
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.putting import encoded
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Fail
from headrace.options import UNSET
from headrace.transport.drive import Operation

POSITIONS = ("front", "back")
LOG_LINES = 100
OPERATOR = ""
TRACEBACK_BYTES = 8192
NO_RETRY = -1


class LeaseLike(Protocol):
    """A Lease or an AsyncLease."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...

    @property
    def id(self) -> str:
        """The id of the job."""
        ...

    @property
    def token(self) -> str:
        """The secret that proves the ownership."""
        ...


class Missing:
    """The type of NO_RESULT, which differs from a result that is None or empty."""

    def __repr__(self) -> str:
        return "no result"


NO_RESULT = Missing()


def sole(answers: Sequence[Answer]) -> str:
    """Return the only answer, or raise it if it is an error."""
    [answer] = answers
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


# Complete.


def complete(
    lease: LeaseLike,
    result: Any = NO_RESULT,
    *,
    data: Any = NO_RESULT,
    next: str | None = None,  # noqa: A002 - the word users know
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
) -> Operation[str]:
    """Complete the job and store its result, or move it to the next queue; return its new state.

    With `next` the job goes to that queue after `delay` seconds, with `data` as its new data if
    given. It is blocked there until the jobs in `depends_on` are complete.

    Raises LeaseLost if the worker no longer holds the job, InvalidArgument if a result is combined
    with `next`, or `delay` or `depends_on` is given without it.

        lease.complete({"sent": 3})
        lease.complete(next="archive", data={"file": "a.txt"})
    """
    rows = [_completion(lease.core, lease.id, lease.token, result, data)]
    return (yield from _finish(lease, complete_call(lease.core, rows, next, delay, depends_on)))


def _finish(lease: LeaseLike, call: Call[list[Answer]]) -> Operation[str]:
    core = lease.core
    request = ask_one(core, core.shard_of(lease.id), call)
    return sole((yield from while_finishing(core, [(lease.id, lease.token)], request)))


def complete_many(
    client: ClientLike,
    leases: Iterable[LeaseLike],
    results: Iterable[Any] | None = None,
    *,
    next: str | None = None,  # noqa: A002
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
) -> Operation[list[Answer]]:
    """Complete many jobs and return the new state of each, or the error that refused it.

    The arguments are those of Lease.complete, with one result per lease.

        answers = client.leases.complete(leases, results=[1, 2, 3])
    """
    core = client.core
    rows = completions(core, leases, results)
    parents = None if depends_on is None else listed("depends_on", depends_on, "str")
    request = in_batches(
        core,
        rows,
        lambda part: complete_call(core, part, next, delay, parents),
        batch_of(core, len(parents or ())),
    )
    return (yield from while_finishing(core, rows, request))


def finish(client: ClientLike, job_id: str, result: Any = NO_RESULT) -> Operation[str]:
    """Complete a running job as an operator and return its new state; its worker loses the lease.

    Raises JobNotFound if there is no such job, WrongState if it is not running.
    """
    core = client.core
    text("id", job_id, core.limits.name)
    rows = [_completion(core, job_id, OPERATOR, result, NO_RESULT)]
    call = complete_call(core, rows, None, 0)
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


def completions(
    core: Core, leases: Iterable[LeaseLike], results: Iterable[Any] | None
) -> list[Row]:
    """Return the rows of a complete call; without `results` the jobs get no results."""
    proofs = _proofs(leases)
    if results is None:
        return [(job_id, token, b"") for job_id, token in proofs]
    every = listed("results", results, "values")
    if len(every) != len(proofs):
        raise InvalidArgument(
            f"results must have one value per lease: {len(proofs)} leases, {len(every)} results"
        )
    return [
        _completion(core, job_id, token, result, NO_RESULT)
        for (job_id, token), result in zip(proofs, every, strict=True)
    ]


def _proofs(leases: Iterable[LeaseLike]) -> list[tuple[str, str]]:
    """Return the ids and tokens that prove that the caller holds these leases."""
    try:
        return [(lease.id, lease.token) for lease in listed("leases", leases, "leases")]
    except AttributeError:
        raise InvalidArgument("leases must be a list of leases that pop returned") from None


def _completion(core: Core, job_id: str, token: str, result: Any, data: Any) -> Row:
    if result is NO_RESULT and data is NO_RESULT:
        return (job_id, token, b"")
    parts = [None if part is NO_RESULT else encoded(core, part) for part in (result, data)]
    return (job_id, token, packed_pair(*parts))


def _optional_data(core: Core, value: Any) -> bytes:
    return b"" if value is NO_RESULT else optional(encoded(core, value))


def complete_call(
    core: Core,
    rows: Sequence[Row],
    next_queue: str | None,
    delay: Span,
    depends_on: Iterable[str] | None = None,
) -> Call[list[Answer]]:
    """Return a complete call for rows of one shard."""
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
    return build(
        "complete",
        each_state(ids),
        rows,
        next_queue=optional(next_queue),
        delay=delay_ms,
        parents=b"" if depends_on is None else pack(parents_of(core, ids, depends_on)),
    )


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

    `failure` is a type that groups such failures. With `retry_in` the job runs again after that
    many seconds if it has retries left. Otherwise it becomes a failed job and stays until it is
    retried or cancelled. `data` replaces the data of the job. Only the end of a long traceback is
    stored (8,192 bytes).

    Raises LeaseLost if the worker no longer holds the job.

        lease.fail("smtp", "connection refused", retry_in=30)
    """
    core = lease.core
    item = Fail(lease, failure, message, traceback, retry_in, data)
    return (yield from _finish(lease, fail_call(core, [_failed_attempt(core, item)])))


def fail_many(client: ClientLike, items: Iterable[Fail]) -> Operation[list[Answer]]:
    """Report many failed attempts; return the new state of each job, or the error that refused it.

    An item is a Fail(lease, failure, message, traceback=..., retry_in=..., data=...).

        client.leases.fail([Fail(lease, "smtp", retry_in=30) for lease in leases])
    """
    core = client.core
    rows = [_failed_attempt(core, item) for item in listed("items", items, "Fail")]
    request = in_batches(core, rows, lambda part: fail_call(core, part))
    return (yield from while_finishing(core, [row[:2] for row in rows], request))


def fail_by_id(client: ClientLike, job_id: str, failure: str, message: str = "") -> Operation[str]:
    """Fail a job permanently as an operator, in any state but complete; return its new state.

    Raises JobNotFound if there is no such job, WrongState if it is complete.
    """
    core = client.core
    text("id", job_id, core.limits.name)
    call = fail_call(core, [(job_id, OPERATOR, failure, message, None, NO_RETRY, b"")])
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


# A failed attempt: id, token, failure type, message, traceback, milliseconds until the retry (or
# NO_RETRY), and the new data as an optional argument.
FailedAttempt = tuple[str, str, str, str, str | None, int, bytes]


def _failed_attempt(core: Core, item: Fail) -> FailedAttempt:
    if not isinstance(item, Fail):
        raise InvalidArgument(f"an item of leases.fail must be a Fail, not {type(item).__name__}")
    [(job_id, token)] = _proofs([item.lease])
    retry_ms = NO_RETRY if item.retry_in is None else milliseconds("retry_in", item.retry_in)
    data = b"" if item.data is UNSET else optional(encoded(core, item.data))
    return job_id, token, item.failure, item.message, item.traceback, retry_ms, data


def fail_call(core: Core, rows: Sequence[FailedAttempt]) -> Call[list[Answer]]:
    """Return a fail call for rows of one shard; a traceback that is too long is cut."""
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
    """Return the job to its queue without counting a failure; return its new state.

    `position` is "front" or "back"; the default is the setting of the queue. `delay` is the
    number of seconds before it waits again.

    Raises LeaseLost if the worker no longer holds the job.

        lease.release(position="back", delay=5)
    """
    call = release_call([(lease.id, lease.token)], position, delay, "worker")
    return (yield from _finish(lease, call))


def release_many(
    client: ClientLike, leases: Iterable[LeaseLike], *, position: str | None = None, delay: Span = 0
) -> Operation[list[Answer]]:
    """Return many jobs to their queues without counting failures; see Lease.release.

    Return the new state of each job, or the error that refused it.
    """
    core = client.core
    rows: list[Row] = [*_proofs(leases)]
    request = in_batches(core, rows, lambda part: release_call(part, position, delay, "worker"))
    return (yield from while_finishing(core, rows, request))


def release_by_id(
    client: ClientLike, job_id: str, *, position: str | None = None, delay: Span = 0
) -> Operation[str]:
    """Return a running job to its queue as an operator; its worker loses the lease.

    Return the new state of the job. Raises JobNotFound if there is no such job, WrongState if it is
    not running.
    """
    core = client.core
    text("id", job_id, core.limits.name)
    call = release_call([(job_id, OPERATOR)], position, delay, "operator")
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


def release_call(
    rows: Sequence[Row], position: str | None, delay: Span, reason: str
) -> Call[list[Answer]]:
    """Return a release call for rows of one shard."""
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
    lease: LeaseLike, *, lease_for: Span | None = None, data: Any = NO_RESULT
) -> Operation[datetime | None]:
    """Renew the lease and return its new deadline, None if the lease has none.

    `lease_for` is the new duration in seconds. The default is the setting of the queue; a lease
    without a deadline keeps none. `data` replaces the data of the job, so that the next attempt can
    go on from there.

    Raises LeaseLost if the worker no longer holds the job.

        lease.heartbeat(lease_for=60, data={"offset": 4000})
    """
    core = lease.core
    rows = [(lease.id, lease.token, _optional_data(core, data))]
    call = heartbeat_call(rows, lease_for)
    [answer] = yield from ask_one(core, core.shard_of(lease.id), call)
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


def heartbeat_many(
    client: ClientLike, leases: Iterable[LeaseLike], *, lease_for: Span | None = None
) -> Operation[list[datetime | HeadraceError | None]]:
    """Renew many leases; return the new deadline of each, or the error that refused it."""
    rows: list[Row] = [(job_id, token, b"") for job_id, token in _proofs(leases)]
    return (yield from in_batches(client.core, rows, lambda part: heartbeat_call(part, lease_for)))


def heartbeat_call(
    rows: Sequence[Row], lease_for: Span | None
) -> Call[list[datetime | HeadraceError | None]]:
    """Return a heartbeat call for rows of one shard."""

    def decode(answers: list[Any]) -> list[datetime | HeadraceError | None]:
        return [
            job_refusal(str(row[0]), answer) if is_refusal(answer) else moment_or_none(answer)
            for row, answer in zip(rows, answers, strict=True)
        ]

    lease_ms = -1 if lease_for is None else milliseconds("lease_for", lease_for)
    return build("heartbeat", decode, rows, lease=lease_ms)


def progress(lease: LeaseLike, share: float, note: str = "") -> Operation[None]:
    """Report the progress of the job, from 0 to 1, with a note for people.

    Raises LeaseLost if the worker no longer holds the job.

        lease.progress(0.4, "400 of 1000 rows")
    """
    core = lease.core
    if not 0 <= number("share", share) <= 1:
        raise InvalidArgument(f"share must be from 0 to 1, not {share}")
    call = build(
        "progress",
        _raise_refusal(lease.id),
        id=lease.id,
        token=lease.token,
        share=share,
        note=free_text("note", note, core.limits.message),
    )
    yield from ask_one(core, core.shard_of(lease.id), call)


def log(lease: LeaseLike, line: str) -> Operation[None]:
    """Add a line to the log of the job; the newest 100 lines are stored.

    Raises LeaseLost if the worker no longer holds the job.
    """
    core = lease.core
    call = build(
        "log",
        _raise_refusal(lease.id),
        id=lease.id,
        token=lease.token,
        line=free_text("line", line, core.limits.message),
        keep=LOG_LINES,
        nonce=new_nonce(),
    )
    yield from ask_one(core, core.shard_of(lease.id), call)


def _raise_refusal(job_id: str) -> Any:
    def decode(answer: Any) -> None:
        if is_refusal(answer):
            raise job_refusal(job_id, answer)

    return decode


def complete_and_pop(
    queue: QueueLike,
    leases: Iterable[Any],
    worker: str,
    results: Iterable[Any] | None,
    count: int,
    lease: Span | None,
) -> Operation[tuple[list[Answer], list[Popped]]]:
    """Complete jobs and pop the next ones in one round trip.

    A node carries out commands in order, so the completed jobs no longer count against the limits
    when it pops. The pop goes to one shard, a different one each time.
    """
    core = queue.core
    rows = completions(core, leases, results)
    make_pop = pop_call(queue, worker, count, lease)
    batches = list(rounds(core, rows))
    if len(batches) > 1:
        raise InvalidArgument(
            f"complete_and_pop takes up to {core.limits.batch} jobs per shard; use leases.complete"
        )
    batch = batches[0] if batches else []
    calls: list[Any] = [
        (shard, complete_call(core, [rows[i] for i in positions], None, 0))
        for shard, positions in batch
    ]
    shard = core.next_shard
    core.next_shard = (shard + 1) % core.shards
    popped = Handout(None, [])

    def request() -> Operation[list[Answer]]:
        nonlocal popped
        *completed, popped = yield from ask(core, [*calls, (shard, make_pop(count))])
        answers: dict[int, Answer] = {}
        for (_, positions), found in zip(batch, completed, strict=True):
            answers.update(zip(positions, found, strict=True))
        return [answers[i] for i in range(len(rows))]

    answers = yield from while_finishing(core, rows, request())
    if not popped.jobs and popped.due == 0:
        popped = yield from pop_after_housekeeping(core, shard, make_pop(count), make_pop)
    return answers, popped.jobs
