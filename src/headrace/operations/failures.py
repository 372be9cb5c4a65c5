"""Count, list, retry and cancel failed jobs, by failure type.

The bulk retry and the bulk cancel process the jobs oldest first, in steps of bounded size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from math import inf
from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build, is_refusal, optional, pack
from headrace.engine.check import LONGEST_MS, Span, milliseconds, moment_ms, page, text, whole
from headrace.engine.settings import rate_to_wire
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.operations.batches import chunks, in_batches
from headrace.operations.core import Core
from headrace.operations.jobs import jobs, page_of_jobs
from headrace.operations.paging import MOST_NAMES, all_items, counts_of_names
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import queues
from headrace.operations.requests import ask, raw
from headrace.operations.values import Bulk, FailureGroup, Page
from headrace.transport.drive import Operation
from headrace.transport.transport import Command

STEP = 500
NEVER = 2**53
MOST_GROUPS = 100
REFUSED = (b"HAS_DEPENDENTS", b"UNIQUE_TAKEN")

# A failed job: its id, when it failed, and how long to delay its retry (both in milliseconds).
FailedRow = tuple[str, int, int]
Progress = Callable[[Bulk], object]
MakeCall = Callable[[Sequence[FailedRow]], Call[list[bytes]]]


def failure_counts(
    client: ClientLike, *, offset: int = 0, count: int = 25
) -> Operation[dict[str, int]]:
    """Return the number of failed jobs of each failure type, most frequent type first.

    Raises InvalidArgument if `offset` or `count` is out of range.

        for failure, jobs in client.failures.counts().items():
            print(failure, jobs)
    """
    return (yield from frequent_failures(client.core, *page(offset, count)))


def frequent_failures(
    core: Core, offset: int, count: int, *, most: int = MOST_NAMES
) -> Operation[dict[str, int]]:
    """Return a page of failure types, most frequent first, with their numbers of jobs.

    From each shard, the operation reads only the `most` most frequent types.
    """
    totals = yield from counts_of_names(core, keys.FAILURE_TYPES, most=most)
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[offset : offset + count])


def failed_jobs(
    client: ClientLike, failure: str, *, offset: int = 0, count: int = 25
) -> Operation[Page]:
    """Return a page of the jobs that failed with a failure type, most recent first.

    Raises InvalidArgument if `offset` or `count` is out of range.

        page = client.failures.jobs("smtp")
        print(page.total, [job.id for job in page.jobs])
    """
    text("failure", failure, client.core.limits.name)
    bounds = page(offset, count)
    return (yield from page_of_jobs(client, keys.failures, failure, bounds, newest_first=True))


def failure_groups(
    client: ClientLike, *, offset: int = 0, count: int = 25
) -> Operation[list[FailureGroup]]:
    """Return the failure types, most frequent first, each with its newest failure.

    Raises InvalidArgument if `offset` is negative or `count` is not from 1 to 100.

        for group in client.failures.groups():
            print(group.type, group.count, group.message)
    """
    whole("count", count, 1, MOST_GROUPS)
    totals = yield from failure_counts(client, offset=offset, count=count)
    newest = yield from newest_failures(client.core, list(totals))
    found = yield from jobs(client, [job_id for _, job_id in newest.values()])
    by_id = {job.id: job for job in found}
    # A type is left out if its newest job was retried or cancelled after the jobs were counted.
    return [
        FailureGroup(kind, totals[kind], failure.at, failure.message, job.queue or "", job.id)
        for kind, (_, job_id) in newest.items()
        if (job := by_id.get(job_id)) is not None and (failure := job.failure) is not None
    ]


def newest_failures(core: Core, types: Sequence[str]) -> Operation[dict[str, tuple[float, str]]]:
    """For each failure type, return when it last occurred (milliseconds) and the id of that job."""
    commands: list[Command] = [
        (shard, ("ZRANGE", core.key(shard, keys.failures(kind)), 0, 0, "REV", "WITHSCORES"))
        for kind in types
        for shard in range(core.shards)
    ]
    rows = (yield from raw(core, commands)) if commands else []
    found = {}
    for kind, by_shard in zip(types, chunks(rows, core.shards), strict=True):
        newest = [(float(row[1]), row[0].decode()) for row in by_shard if row]
        if newest:
            found[kind] = max(newest)
    return found


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

    The call selects up to `count` jobs that failed at or after `since` and before `until`, oldest
    first. Without a criterion, the call retries every failed job. Jobs that fail or change after
    the call begins are ignored. The retried jobs start after
    `delay`; `pace`, such as "100/s", spreads their starts over time. With `dry_run` the jobs are
    only counted. `on_progress` is called with the current report after each step. If the call is
    interrupted, repeat the call.

    Raises InvalidArgument if `since` or `until` has no time zone, or if `pace` is malformed.

        report = client.failures.retry("smtp", queue="mail", pace="100/s")
        print(report.matched, report.done, report.refused)
    """
    core = client.core
    delays = _delays(milliseconds("delay", delay), pace)

    def make(rows: Sequence[FailedRow]) -> Call[list[bytes]]:
        expected = pack([(at, delay_ms) for _, at, delay_ms in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("retry", list, ids, delay=0, expected=expected)

    selection = _Selection(core, failure, queue, tag, since, until, count)
    change = None if dry_run else make
    return (yield from _change_each(client, selection, delays, change, on_progress))


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

    Without a criterion, the call deletes every failed job; `dry_run=True` only counts the jobs. A
    job that has dependents is not deleted; the report counts the job as refused.

    Raises InvalidArgument if `since` or `until` has no time zone.

        client.failures.cancel("smtp", until=yesterday, dry_run=True)
    """
    core = client.core

    def make(rows: Sequence[FailedRow]) -> Call[list[bytes]]:
        expected = pack([at for _, at, _ in rows])
        ids = [(job_id,) for job_id, _, _ in rows]
        return build("cancel", list, ids, cascade=0, expected=expected)

    selection = _Selection(core, failure, queue, tag, since, until, count)
    change = None if dry_run else make
    return (yield from _change_each(client, selection, _delays(0, None), change, on_progress))


class _Selection:
    """The criteria by which a call selects failed jobs; times are in milliseconds."""

    def __init__(
        self,
        core: Core,
        failure: str | None,
        queue: str | None,
        tag: str | None,
        since: datetime | None,
        until: datetime | None,
        count: int | None,
    ) -> None:
        longest = core.limits.name
        self.failure = None if failure is None else text("failure", failure, longest)
        self.queue = None if queue is None else text("queue", queue, longest)
        self.tag = None if tag is None else text("tag", tag, longest)
        self.since = 0 if since is None else moment_ms("since", since)
        self.until = NEVER if until is None else moment_ms("until", until) - 1
        self.count = inf if count is None else whole("count", count, 1, 10**9)

    def lists(self, client: ClientLike) -> Operation[list[tuple[str, str]]]:
        """Return the job lists to search, each as (role, name).

        A list has the role keys.failures and the name of a failure type, or the role keys.failed
        and the name of a queue.
        """
        if self.failure is not None:
            return [(keys.failures, self.failure)]
        if self.queue is not None:
            return [(keys.failed, self.queue)]
        counted = yield from all_items(queues, client)
        return [(keys.failed, name) for name, counts in counted if counts.failed]

    def step(self, role: str, name: str, until: float, cursor: bytes) -> Call[list[Any]]:
        return build(
            "find_failed",
            list,
            role=role,
            name=name,
            failure=optional(None if role == keys.failures else self.failure),
            queue=optional(None if role == keys.failed else self.queue),
            tag=optional(self.tag),
            since=self.since,
            until_=until,
            at_most=STEP,
            cursor=cursor,
        )


def _delays(delay_ms: int, pace: str | None) -> Iterator[int]:
    """Return the delay of each job in milliseconds, in the order of the jobs."""
    jobs, period_ms = 1, 0
    if pace is not None:
        jobs, period_ms = map(int, rate_to_wire("pace", pace).split("/"))
        if not jobs:
            raise InvalidArgument("pace must allow at least one start per period, not 0")
    return (min(LONGEST_MS, delay_ms + nth * period_ms // jobs) for nth in count())


@dataclass(slots=True)
class _Search:
    """The search through one job list on one shard: the cursor, and the matches, oldest first."""

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
                answers = [] if make is None else (yield from in_batches(client.core, rows, make))
                report = _add_counts(report, rows, answers)
            except ServerUnavailable as error:
                error.maybe_done = error.maybe_done or report.done > 0
                raise
            if on_progress is not None:
                on_progress(report)
    return report


def _fill(
    core: Core, selection: _Selection, role: str, name: str, searches: list[_Search]
) -> Operation[None]:
    """Continue each search until it has found a job or has reached the end of its list."""
    while unfilled := [search for search in searches if not search.found and not search.ended]:
        calls = [
            (search.shard, selection.step(role, name, search.until, search.cursor))
            for search in unfilled
        ]
        replies = yield from ask(core, calls)
        for search, reply in zip(unfilled, replies, strict=True):
            search.add(reply)


def _oldest(searches: list[_Search], most: float) -> Iterator[tuple[int, str]]:
    """Yield up to `most` jobs, oldest first.

    Stop when a search has used up the page that it read, because its next page may contain the
    oldest of the remaining jobs.
    """
    taken = 0
    while taken < most and all(search.found or search.ended for search in searches):
        known = [search for search in searches if search.found]
        if not known:
            return
        yield min(known, key=lambda search: search.found[0]).found.popleft()
        taken += 1


def _add_counts(before: Bulk, rows: list[FailedRow], answers: list[bytes]) -> Bulk:
    done = sum(not is_refusal(answer) for answer in answers)
    refused = sum(answer.startswith(REFUSED) for answer in answers)
    return Bulk(before.matched + len(rows), before.done + done, before.refused + refused)
