"""What a worker says of the jobs it holds, by token, and an operator of running ones, by id."""

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


class Held(Protocol):
    """A lease of either colour."""

    @property
    def core(self) -> Core: ...

    @property
    def id(self) -> str: ...

    @property
    def token(self) -> str: ...


class Missing:
    """Tells "no result" from a result that is None or empty."""

    def __repr__(self) -> str:
        return "no result"


NO_RESULT = Missing()


def sole(answers: Sequence[Answer]) -> str:
    """The one answer, or raises its refusal."""
    [answer] = answers
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


# complete


def complete(
    lease: Held,
    result: Any = NO_RESULT,
    *,
    data: Any = NO_RESULT,
    next: str | None = None,  # noqa: A002 - the word users know
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
) -> Operation[str]:
    """Ends the job well, keeping a result if one is given, or moves it on to the next queue.

    There it is blocked until those that it depends_on are complete. Returns the new state; raises
    LeaseLost if the job is no longer yours.
    """
    rows = [_completion(lease.core, lease.id, lease.token, result, data)]
    return (yield from _ended(lease, complete_call(lease.core, rows, next, delay, depends_on)))


def _ended(lease: Held, call: Call[list[Answer]]) -> Operation[str]:
    core = lease.core
    asking = ask_one(core, core.shard_of(lease.id), call)
    return sole((yield from while_finishing(core, [(lease.id, lease.token)], asking)))


def complete_many(
    client: ClientLike,
    leases: Iterable[Held],
    results: Iterable[Any] | None = None,
    *,
    next: str | None = None,  # noqa: A002
    delay: Span = 0,
    depends_on: Iterable[str] | None = None,
) -> Operation[list[Answer]]:
    """Ends jobs well; for each its new state, or the error that says why not."""
    core = client.core
    rows = completions(core, leases, results)
    parents = None if depends_on is None else listed("depends_on", depends_on, "str")
    asking = in_batches(
        core,
        rows,
        lambda part: complete_call(core, part, next, delay, parents),
        batch_of(core, len(parents or ())),
    )
    return (yield from while_finishing(core, rows, asking))


def finish(client: ClientLike, job_id: str, result: Any = NO_RESULT) -> Operation[str]:
    """Ends a running job well as an operator, whoever holds it."""
    core = client.core
    text("id", job_id, core.limits.name)
    rows = [_completion(core, job_id, OPERATOR, result, NO_RESULT)]
    call = complete_call(core, rows, None, 0)
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


def completions(core: Core, leases: Iterable[Held], results: Iterable[Any] | None) -> list[Row]:
    """Rows of a complete call; without results there are none."""
    proofs = _proofs(leases)
    if results is None:
        return [(job_id, token, b"") for job_id, token in proofs]
    every = listed("results", results, "values")
    if len(every) != len(proofs):
        raise InvalidArgument(f"{len(proofs)} leases, but {len(every)} results")
    return [
        _completion(core, job_id, token, result, NO_RESULT)
        for (job_id, token), result in zip(proofs, every, strict=True)
    ]


def _proofs(leases: Iterable[Held]) -> list[tuple[str, str]]:
    """What shows that jobs are ours: their ids and tokens."""
    try:
        return [(lease.id, lease.token) for lease in listed("leases", leases, "leases")]
    except AttributeError:
        raise InvalidArgument("leases must be a list of what pop returned") from None


def _completion(core: Core, job_id: str, token: str, result: Any, data: Any) -> Row:
    if result is NO_RESULT and data is NO_RESULT:
        return (job_id, token, b"")
    parts = [None if part is NO_RESULT else encoded(core, part) for part in (result, data)]
    return (job_id, token, packed_pair(*parts))


def _given(core: Core, value: Any) -> bytes:
    return b"" if value is NO_RESULT else optional(encoded(core, value))


def complete_call(
    core: Core,
    rows: Sequence[Row],
    next_queue: str | None,
    delay: Span,
    depends_on: Iterable[str] | None = None,
) -> Call[list[Answer]]:
    """A complete call for rows of one shard."""
    if next_queue is not None:
        text("next", next_queue, core.limits.name)
        if any(has_first(row[2]) for row in rows):
            raise InvalidArgument("a job that moves on has no result yet; give data= instead")
    delay_ms = milliseconds("delay", delay)
    if delay_ms and next_queue is None:
        raise InvalidArgument("delay= needs next=: only a job that moves on can be delayed")
    if depends_on is not None and next_queue is None:
        raise InvalidArgument("depends_on= needs next=: only a job that moves on can be blocked")
    ids = [str(row[0]) for row in rows]
    return build(
        "complete",
        each_state(ids),
        rows,
        next_queue=optional(next_queue),
        delay=delay_ms,
        parents=b"" if depends_on is None else pack(parents_of(core, ids, depends_on)),
    )


# fail


def fail(
    lease: Held,
    failure: str,
    message: str = "",
    *,
    traceback: str | None = None,
    retry_in: Span | None = None,
    data: Any = UNSET,
) -> Operation[str]:
    """Says that the attempt failed, with a type that groups such failures and a message.

    With retry_in the job is tried again after that time, if it has retries left; without, or
    without retries left, it is set aside as failed. Of a long traceback the end is kept. Returns
    the new state.
    """
    core = lease.core
    item = Fail(lease, failure, message, traceback, retry_in, data)
    return (yield from _ended(lease, fail_call(core, [_failing(core, item)])))


def fail_many(client: ClientLike, items: Iterable[Fail]) -> Operation[list[Answer]]:
    """Says of jobs that their attempts failed; for each its new state, or why not.

    An item is a Fail(lease, failure, message, traceback=..., retry_in=..., data=...).
    """
    core = client.core
    rows = [_failing(core, item) for item in listed("items", items, "Fail")]
    asking = in_batches(core, rows, lambda part: fail_call(core, part))
    return (yield from while_finishing(core, [row[:2] for row in rows], asking))


def fail_by_id(client: ClientLike, job_id: str, failure: str, message: str = "") -> Operation[str]:
    """Sets a job aside as failed as an operator, in any state but complete."""
    core = client.core
    text("id", job_id, core.limits.name)
    call = fail_call(core, [(job_id, OPERATOR, failure, message, None, NO_RETRY, b"")])
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


# A job that failed: its id and token, type, message, traceback, in how many milliseconds it is
# tried again (NO_RETRY: not), and its new data as an optional argument.
Failing = tuple[str, str, str, str, str | None, int, bytes]


def _failing(core: Core, item: Fail) -> Failing:
    if not isinstance(item, Fail):
        raise InvalidArgument(f"an item of fail_many is a Fail, not {type(item).__name__}")
    [(job_id, token)] = _proofs([item.lease])
    retry_ms = NO_RETRY if item.retry_in is None else milliseconds("retry_in", item.retry_in)
    data = b"" if item.data is UNSET else optional(encoded(core, item.data))
    return job_id, token, item.failure, item.message, item.traceback, retry_ms, data


def fail_call(core: Core, rows: Sequence[Failing]) -> Call[list[Answer]]:
    """A fail call for rows of one shard; texts are checked, and cut where they are too long."""
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


# release


def release(lease: Held, *, position: str | None = None, delay: Span = 0) -> Operation[str]:
    """Gives the job back unharmed, to the front or the back (default: as the queue says)."""
    call = release_call([(lease.id, lease.token)], position, delay, "worker")
    return (yield from _ended(lease, call))


def release_many(
    client: ClientLike, leases: Iterable[Held], *, position: str | None = None, delay: Span = 0
) -> Operation[list[Answer]]:
    """Gives jobs back unharmed; for each its new state, or the error that says why not."""
    core = client.core
    rows: list[Row] = [*_proofs(leases)]
    asking = in_batches(core, rows, lambda part: release_call(part, position, delay, "worker"))
    return (yield from while_finishing(core, rows, asking))


def release_by_id(
    client: ClientLike, job_id: str, *, position: str | None = None, delay: Span = 0
) -> Operation[str]:
    """Gives a running job back as an operator; its holder loses it."""
    core = client.core
    text("id", job_id, core.limits.name)
    call = release_call([(job_id, OPERATOR)], position, delay, "operator")
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


def release_call(
    rows: Sequence[Row], position: str | None, delay: Span, reason: str
) -> Call[list[Answer]]:
    """A release call for rows of one shard."""
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


# heartbeat, progress, log


def heartbeat(
    lease: Held, *, lease_for: Span | None = None, data: Any = NO_RESULT
) -> Operation[datetime | None]:
    """Renews the lease and may replace the data; the new deadline, None where there is none."""
    core = lease.core
    rows = [(lease.id, lease.token, _given(core, data))]
    call = heartbeat_call(rows, lease_for)
    [answer] = yield from ask_one(core, core.shard_of(lease.id), call)
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


def heartbeat_many(
    client: ClientLike, leases: Iterable[Held], *, lease_for: Span | None = None
) -> Operation[list[datetime | HeadraceError | None]]:
    """Renews leases; for each its new deadline, or the error that says why not."""
    rows: list[Row] = [(job_id, token, b"") for job_id, token in _proofs(leases)]
    return (yield from in_batches(client.core, rows, lambda part: heartbeat_call(part, lease_for)))


def heartbeat_call(
    rows: Sequence[Row], lease_for: Span | None
) -> Call[list[datetime | HeadraceError | None]]:
    """A heartbeat call for rows of one shard."""

    def decode(answers: list[Any]) -> list[datetime | HeadraceError | None]:
        return [
            job_refusal(str(row[0]), answer) if is_refusal(answer) else moment_or_none(answer)
            for row, answer in zip(rows, answers, strict=True)
        ]

    lease_ms = -1 if lease_for is None else milliseconds("lease_for", lease_for)
    return build("heartbeat", decode, rows, lease=lease_ms)


def progress(lease: Held, share: float, note: str = "") -> Operation[None]:
    """Says how far the job is, from 0 to 1, with a note for people."""
    core = lease.core
    if not 0 <= number("share", share) <= 1:
        raise InvalidArgument(f"share must be from 0 to 1, not {share}")
    call = build(
        "progress",
        _raises(lease.id),
        id=lease.id,
        token=lease.token,
        share=share,
        note=free_text("note", note, core.limits.message),
    )
    yield from ask_one(core, core.shard_of(lease.id), call)


def log(lease: Held, line: str) -> Operation[None]:
    """Adds a line to the log of the job; the newest lines are kept."""
    core = lease.core
    call = build(
        "log",
        _raises(lease.id),
        id=lease.id,
        token=lease.token,
        line=free_text("line", line, core.limits.message),
        keep=LOG_LINES,
        nonce=new_nonce(),
    )
    yield from ask_one(core, core.shard_of(lease.id), call)


def _raises(job_id: str) -> Any:
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
    """The commands of a node are carried out in order, so what is completed here is not in the
    way of what is popped; the pop goes to one shard, another one each time.
    """
    core = queue.core
    rows = completions(core, leases, results)
    make_pop = pop_call(queue, worker, count, lease)
    every_turn = list(rounds(core, rows))
    if len(every_turn) > 1:
        raise InvalidArgument(f"up to {core.limits.batch} jobs of a shard can be completed so")
    turn = every_turn[0] if every_turn else []
    calls: list[Any] = [
        (shard, complete_call(core, [rows[i] for i in positions], None, 0))
        for shard, positions in turn
    ]
    shard = core.next_shard
    core.next_shard = (shard + 1) % core.shards
    popped = Handout(None, [])

    def asking() -> Operation[list[Answer]]:
        nonlocal popped
        *completed, popped = yield from ask(core, [*calls, (shard, make_pop(count))])
        answers: dict[int, Answer] = {}
        for (_, positions), found in zip(turn, completed, strict=True):
            answers.update(zip(positions, found, strict=True))
        return [answers[i] for i in range(len(rows))]

    answers = yield from while_finishing(core, rows, asking())
    if not popped.jobs and popped.due == 0:
        popped = yield from pop_after_housekeeping(core, shard, make_pop(count), make_pop)
    return answers, popped.jobs
