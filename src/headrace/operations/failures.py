"""Failed jobs by the thousand: tried again or cancelled, in bounded steps, oldest first."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any

from headrace.engine.call import Answer, Call, build, each_state, is_refusal, optional, pack
from headrace.engine.check import LONGEST_MS, Span, milliseconds, text, whole
from headrace.engine.settings import rate_to_wire
from headrace.engine.timestamps import EPOCH
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.ids import new_nonce
from headrace.operations.jobs import checked_rows, failures
from headrace.operations.paging import page_reader
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import LISTED, queues
from headrace.operations.requests import ask
from headrace.operations.values import Bulk, FailureGroup, Page
from headrace.transport.drive import Operation

STEP = 500
NEVER = 2**53
MOST_GROUPS = 100
DONE = b"DONE"
REFUSED = (b"HAS_DEPENDENTS", b"UNIQUE_TAKEN")

# An id, when the job failed, and for a retry its delay in milliseconds.
Found = tuple[str, int, int]
Progress = Callable[[Bulk], object]
Make = Callable[[Sequence[Found]], Call[list[bytes]]]


def retry_failed(
    client: ClientLike,
    failure: str | None = None,
    *,
    queue: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    count: int | None = None,
    pace: str | None = None,
    delay: Span = 0,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> Operation[Bulk]:
    """Tries failed jobs again: those of a type, a queue, a tag, that failed from since to until.

    The oldest come first, up to count. They start after a delay; with a pace ("100/s") one after
    the other, so that they do not come all at once. Only jobs that failed before the call are
    meant; one that somebody else moves meanwhile is left alone. Interrupted, it may be called
    again. dry_run counts only; on_progress is called with the report so far.
    """
    core = client.core
    starts = _starts(milliseconds("delay", delay), pace)
    nonce = new_nonce()

    def make(rows: Sequence[Found]) -> Call[list[bytes]]:
        expected = pack([(at, delay_ms) for _, at, delay_ms in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("retry", list, ids, delay=0, nonce=nonce, expected=expected)

    sieve = _sieve(core, failure, queue, tag, since, until, count)
    return (yield from _each(client, sieve, starts, None if dry_run else make, on_progress))


def cancel_failed(
    client: ClientLike,
    failure: str | None = None,
    *,
    queue: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    count: int | None = None,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> Operation[Bulk]:
    """Deletes failed jobs, chosen as by retry_failed; one on which others depend is refused."""
    core = client.core

    def make(rows: Sequence[Found]) -> Call[list[bytes]]:
        expected = pack([at for _, at, _ in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("cancel", list, ids, cascade=0, expected=expected)

    sieve = _sieve(core, failure, queue, tag, since, until, count)
    return (
        yield from _each(client, sieve, _starts(0, None), None if dry_run else make, on_progress)
    )


def cancel_chosen(
    client: ClientLike, ids: Sequence[str], *, state: str | None = None, cascade: bool = False
) -> Operation[list[Answer]]:
    """Deletes jobs that are still in a state; for each the state it was in, or why not.

    One on which others depend that stay is refused by itself.
    """

    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        expected = pack([state or ""] * len(rows))
        decode = each_state([str(job_id) for (job_id,) in rows])
        return build("cancel", decode, rows, cascade=int(cascade), expected=expected)

    return (yield from in_batches(client.core, checked_rows(client.core, ids), make))


@dataclass(frozen=True, slots=True)
class _Sieve:
    """Which failed jobs are meant."""

    failure: str | None
    queue: str | None
    tag: str | None
    since: float
    until: float
    count: float

    def lists(self, client: ClientLike) -> Operation[list[tuple[str, str]]]:
        """The lists that are looked through, each by role and name."""
        if self.failure is not None:
            return [("failures", self.failure)]
        if self.queue is not None:
            return [("failed", self.queue)]
        found: list[tuple[str, str]] = []
        for offset in itertools.count(0, LISTED):
            counted = yield from queues(client, offset=offset, count=LISTED)
            found += [("failed", name) for name, counts in counted.items() if counts.failed]
            if len(counted) < LISTED:
                break
        return found

    def step(self, role: str, name: str, until: float, cursor: bytes) -> Call[list[Any]]:
        return build(
            "find_failed",
            list,
            role=role,
            name=name,
            failure=optional(None if role == "failures" else self.failure),
            queue=optional(None if role == "failed" else self.queue),
            tag=optional(self.tag),
            since=self.since,
            until_=until,
            at_most=STEP,
            cursor=cursor,
        )


def _sieve(
    core: Core,
    failure: str | None,
    queue: str | None,
    tag: str | None,
    since: datetime | None,
    until: datetime | None,
    count: int | None,
) -> _Sieve:
    longest = core.limits.name
    return _Sieve(
        None if failure is None else text("failure", failure, longest),
        None if queue is None else text("queue", queue, longest),
        None if tag is None else text("tag", tag, longest),
        0 if since is None else _ms("since", since),
        NEVER if until is None else _ms("until", until) - 1,
        inf if count is None else whole("count", count, 1, 10**9),
    )


def _ms(what: str, value: object) -> int:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidArgument(f"{what} must be a datetime with a time zone, not {value!r}")
    return round((value - EPOCH).total_seconds() * 1000)


def _starts(delay_ms: int, pace: str | None) -> Iterator[int]:
    """The delays of the first job, the second, and so on."""
    starts, span = 1, 0
    if pace is not None:
        starts, span = map(int, rate_to_wire("pace", pace).split("/"))
        if not starts:
            raise InvalidArgument("pace must let some jobs start, not 0")
    return (min(LONGEST_MS, delay_ms + nth * span // starts) for nth in itertools.count())


@dataclass(slots=True)
class _Line:
    """The matching jobs of one list on one shard, oldest first, as far as they were asked for."""

    shard: int
    until: float
    cursor: bytes = b""
    ended: bool = False
    found: deque[tuple[int, str]] = field(default_factory=deque)

    def add(self, reply: list[Any]) -> None:
        self.cursor, self.until, *words = reply
        self.ended = not self.cursor
        self.found += (
            (int(at), job_id.decode()) for job_id, at in zip(words[::2], words[1::2], strict=True)
        )


def _each(
    client: ClientLike,
    sieve: _Sieve,
    starts: Iterator[int],
    make: Make | None,
    on_progress: Progress | None,
) -> Operation[Bulk]:
    report = Bulk()
    for role, name in (yield from sieve.lists(client)):
        lines = [_Line(shard, sieve.until) for shard in range(client.core.shards)]
        while report.matched < sieve.count:
            try:
                yield from _fill(client.core, sieve, role, name, lines)
                most = min(STEP, sieve.count - report.matched)
                rows = [(job_id, at, next(starts)) for at, job_id in _oldest(lines, most)]
                if not rows:
                    break
                report = _counted(report, rows, (yield from _moved(client.core, rows, make)))
            except ServerUnavailable as error:
                error.maybe_done = error.maybe_done or report.done > 0
                raise
            if on_progress is not None:
                on_progress(report)
    return report


def _fill(core: Core, sieve: _Sieve, role: str, name: str, lines: list[_Line]) -> Operation[None]:
    """Asks on until something is known of every line that has not ended."""
    while short := [line for line in lines if not line.found and not line.ended]:
        calls = [(line.shard, sieve.step(role, name, line.until, line.cursor)) for line in short]
        replies = yield from ask(core, calls)
        for line, reply in zip(short, replies, strict=True):
            line.add(reply)


def _oldest(lines: list[_Line], most: float) -> Iterator[tuple[int, str]]:
    """The oldest of all lines, until one of them must be asked for more."""
    taken = 0
    while taken < most and all(line.found or line.ended for line in lines):
        known = [line for line in lines if line.found]
        if not known:
            return
        yield min(known, key=lambda line: line.found[0]).found.popleft()
        taken += 1


def _counted(before: Bulk, rows: list[Found], answers: list[bytes]) -> Bulk:
    done = sum(answer == DONE or not is_refusal(answer) for answer in answers)
    refused = sum(answer.startswith(REFUSED) for answer in answers)
    return Bulk(before.matched + len(rows), before.done + done, before.refused + refused)


def _moved(core: Core, rows: list[Found], make: Make | None) -> Operation[list[bytes]]:
    return [] if make is None else (yield from in_batches(core, rows, make))


# by type


def failure_groups(
    client: ClientLike, *, offset: int = 0, count: int = 25
) -> Operation[list[FailureGroup]]:
    """Failure types, the most frequent first, each with the newest of its failures."""
    core = client.core
    whole("count", count, 1, MOST_GROUPS)
    totals = yield from failures(client, offset=offset, count=count)
    calls: list[tuple[int, Call[Page]]] = [
        (shard, build("failed", page_reader(core), failure=kind, offset=0, count=1, oldest_first=0))
        for kind in totals
        for shard in range(core.shards)
    ]
    pages = (yield from ask(core, calls)) if calls else []
    return [
        group
        for at, (kind, total) in enumerate(totals.items())
        for group in _group(kind, total, pages[at * core.shards : (at + 1) * core.shards])
    ]


def _group(kind: str, total: int, pages: list[Page]) -> Iterator[FailureGroup]:
    found = [
        (job.failure.at, job.id, job.queue or "", job.failure.message)
        for page in pages
        for job in page.jobs
        if job.failure is not None
    ]
    # None are found if somebody has seen to all of them since they were counted.
    for at, job_id, queue, message in sorted(found)[-1:]:
        yield FailureGroup(kind, total, at, message, queue, job_id)
