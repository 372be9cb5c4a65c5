"""Retry or cancel many failed jobs, oldest first, in steps of bounded size."""

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

# The id of a failed job, when it failed, and the delay of its retry in milliseconds.
FailedRow = tuple[str, int, int]
Progress = Callable[[Bulk], object]
MakeCall = Callable[[Sequence[FailedRow]], Call[list[bytes]]]


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
    """Retry failed jobs of a failure type, a queue or a tag, and return a report.

    It selects jobs that failed from `since` until before `until`, oldest first, up to `count`. Jobs
    that fail after the call began, or that change meanwhile, are not touched. They start after
    `delay`; `pace` ("100/s") spreads their starts. `dry_run` only counts. `on_progress` is called
    with the report so far. If the call is interrupted, call it again.

    Raises InvalidArgument if `since` or `until` has no time zone or `pace` is malformed.

        report = client.failures.retry("smtp", queue="mail", pace="100/s")
        print(report.matched, report.done, report.refused)
    """
    core = client.core
    delays = _delays(milliseconds("delay", delay), pace)
    nonce = new_nonce()

    def make(rows: Sequence[FailedRow]) -> Call[list[bytes]]:
        expected = pack([(at, delay_ms) for _, at, delay_ms in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("retry", list, ids, delay=0, nonce=nonce, expected=expected)

    selection = _selection(core, failure, queue, tag, since, until, count)
    return (
        yield from _change_each(client, selection, delays, None if dry_run else make, on_progress)
    )


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
    """Delete failed jobs, selected as in `failures.retry`, and return a report.

    A job that has dependents is refused and counted as such in the report.

        client.failures.cancel("smtp", until=yesterday, dry_run=True)
    """
    core = client.core

    def make(rows: Sequence[FailedRow]) -> Call[list[bytes]]:
        expected = pack([at for _, at, _ in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("cancel", list, ids, cascade=0, expected=expected)

    selection = _selection(core, failure, queue, tag, since, until, count)
    return (
        yield from _change_each(
            client, selection, _delays(0, None), None if dry_run else make, on_progress
        )
    )


def cancel_chosen(
    client: ClientLike, ids: Sequence[str], *, state: str | None = None, cascade: bool = False
) -> Operation[list[Answer]]:
    """Delete jobs that are still in `state`; return the former state of each, or its error.

    A job whose dependents stay is refused; the others are still deleted.
    """

    def make(rows: Sequence[Row]) -> Call[list[Answer]]:
        expected = pack([state or ""] * len(rows))
        decode = each_state([str(job_id) for (job_id,) in rows])
        return build("cancel", decode, rows, cascade=int(cascade), expected=expected)

    return (yield from in_batches(client.core, checked_rows(client.core, ids), make))


@dataclass(frozen=True, slots=True)
class _Selection:
    """The failed jobs that a call selects; times are in milliseconds."""

    failure: str | None
    queue: str | None
    tag: str | None
    since: float
    until: float
    count: float

    def lists(self, client: ClientLike) -> Operation[list[tuple[str, str]]]:
        """Return the lists to search, each as (role, name)."""
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


def _selection(
    core: Core,
    failure: str | None,
    queue: str | None,
    tag: str | None,
    since: datetime | None,
    until: datetime | None,
    count: int | None,
) -> _Selection:
    longest = core.limits.name
    return _Selection(
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


def _delays(delay_ms: int, pace: str | None) -> Iterator[int]:
    """Return the delays of the first job, the second, and so on, in milliseconds."""
    jobs, period_ms = 1, 0
    if pace is not None:
        jobs, period_ms = map(int, rate_to_wire("pace", pace).split("/"))
        if not jobs:
            raise InvalidArgument("pace must let at least one job start, not 0")
    return (min(LONGEST_MS, delay_ms + nth * period_ms // jobs) for nth in itertools.count())


@dataclass(slots=True)
class _Search:
    """The search of one list on one shard: its cursor and the jobs found, oldest first."""

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


def _change_each(
    client: ClientLike,
    selection: _Selection,
    delays: Iterator[int],
    make: MakeCall | None,
    on_progress: Progress | None,
) -> Operation[Bulk]:
    report = Bulk()
    for role, name in (yield from selection.lists(client)):
        searches = [_Search(shard, selection.until) for shard in range(client.core.shards)]
        while report.matched < selection.count:
            try:
                yield from _fill(client.core, selection, role, name, searches)
                most = min(STEP, selection.count - report.matched)
                rows = [(job_id, at, next(delays)) for at, job_id in _oldest(searches, most)]
                if not rows:
                    break
                report = _add_counts(report, rows, (yield from _apply(client.core, rows, make)))
            except ServerUnavailable as error:
                error.maybe_done = error.maybe_done or report.done > 0
                raise
            if on_progress is not None:
                on_progress(report)
    return report


def _fill(
    core: Core, selection: _Selection, role: str, name: str, searches: list[_Search]
) -> Operation[None]:
    """Search on until each search has found a job or has ended."""
    while unfilled := [search for search in searches if not search.found and not search.ended]:
        calls = [
            (search.shard, selection.step(role, name, search.until, search.cursor))
            for search in unfilled
        ]
        replies = yield from ask(core, calls)
        for search, reply in zip(unfilled, replies, strict=True):
            search.add(reply)


def _oldest(searches: list[_Search], most: float) -> Iterator[tuple[int, str]]:
    """Yield the oldest jobs of all searches until one of them must be continued."""
    taken = 0
    while taken < most and all(search.found or search.ended for search in searches):
        known = [search for search in searches if search.found]
        if not known:
            return
        yield min(known, key=lambda search: search.found[0]).found.popleft()
        taken += 1


def _add_counts(before: Bulk, rows: list[FailedRow], answers: list[bytes]) -> Bulk:
    done = sum(answer == DONE or not is_refusal(answer) for answer in answers)
    refused = sum(answer.startswith(REFUSED) for answer in answers)
    return Bulk(before.matched + len(rows), before.done + done, before.refused + refused)


def _apply(core: Core, rows: list[FailedRow], make: MakeCall | None) -> Operation[list[bytes]]:
    return [] if make is None else (yield from in_batches(core, rows, make))


# By failure type.


def failure_groups(
    client: ClientLike, *, offset: int = 0, count: int = 25
) -> Operation[list[FailureGroup]]:
    """Return the failure types, most frequent first, each with its newest failure."""
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
    # The page is empty if all of them were retried or cancelled since they were counted.
    for at, job_id, queue, message in sorted(found)[-1:]:
        yield FailureGroup(kind, total, at, message, queue, job_id)
