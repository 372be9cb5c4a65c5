"""The audit: compare the books of every queue with the jobs that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.engine.call import Call, build
from headrace.engine.states import STATES
from headrace.operations.core import Core
from headrace.operations.event_log import read_log
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues, text_map
from headrace.operations.requests import ask, ask_one
from headrace.operations.tags import top_of_shards
from headrace.operations.values import Audit
from headrace.transport.drive import Operation

PAGE = 500
# Jobs per call of audit_links, and links of each job that one call checks.
JOBS_PER_LINK_CHECK = 50
LINKS_PER_CALL = 100


def audit(client: ClientLike) -> Operation[Audit]:
    """Compare the books of every queue with its jobs and return what does not match.

    It also checks records, leases, links between jobs, unique values and tags. A change made while
    the audit runs can look like a problem, so run it again before you act.

        report = client.audit()
        if not report.balanced:
            print(report.problems)
    """
    core = client.core
    names = yield from all_queues(core)
    problems: list[str] = []
    jobs = 0
    for shard in range(core.shards):
        for name in names:
            seen, found = yield from _audit_queue(core, shard, name)
            jobs += seen
            problems += found
        problems += yield from audit_tags(core, shard)
    return Audit(len(names), jobs, problems)


def _audit_queue(core: Core, shard: int, queue: str) -> Operation[tuple[int, list[str]]]:
    calls: list[Call[Any]] = [build("audit_books", _books_and_sets, queue=queue)]
    calls += [_audit_page(queue, state, 0) for state in STATES]
    # One round trip, because a change between two calls would look like an imbalance.
    (books, sizes, claims), *pages = yield from ask(core, [(shard, call) for call in calls])
    problems: list[str] = []
    seen = claimed = 0
    for state, page in zip(STATES, pages, strict=True):
        looked_at, have_claims, faults = yield from _audit_state(core, shard, queue, state, page)
        seen += looked_at
        claimed += have_claims
        problems += faults
    imbalances = _imbalances(queue, books, sizes)
    if claims != claimed:
        imbalances.append(
            f"queue {queue!r}: {claims} unique values are claimed, but {claimed} jobs have one"
        )
    if imbalances and not problems:
        problems += yield from _suspects(core, shard, queue)
    return seen, problems + imbalances


def _books_and_sets(reply: list[Any]) -> tuple[dict[str, int], dict[str, int], int]:
    books = {name: int(value) for name, value in text_map(reply[0]).items()}
    pairs = zip(reply[1][::2], reply[1][1::2], strict=True)
    sizes = {state.decode(): size for state, size in pairs}
    return books, sizes, reply[2]


def _imbalances(queue: str, books: dict[str, int], sizes: dict[str, int]) -> list[str]:
    def booked(name: str) -> int:
        return books.get(name, 0)

    found = [
        f"queue {queue!r}: the books say {expected} {state}, there are {sizes[state]}"
        for state in STATES
        if (expected := booked(state) - (booked("pruned") if state == "complete" else 0))
        != sizes[state]
    ]
    parts = sum(booked(name) for name in (*STATES, "cancelled", "expired", "moved"))
    if booked("put") != parts:
        found.append(
            f"queue {queue!r}: {booked('put')} jobs were put, but the states sum to {parts}"
        )
    return found


def _audit_page(queue: str, state: str, offset: int) -> Call[list[Any]]:
    return build("audit_members", list, queue=queue, state=state, offset=offset, count=PAGE)


def _audit_state(
    core: Core, shard: int, queue: str, state: str, page: list[Any]
) -> Operation[tuple[int, int, list[str]]]:
    seen = claimed = 0
    problems: list[str] = []
    while True:
        looked_at, have_claims, linked, *faults = page
        seen += looked_at
        claimed += have_claims
        problems += [fault(row) for row in faults]
        problems += yield from _audit_links(core, shard, linked)
        if looked_at < PAGE:
            return seen, claimed, problems
        page = yield from ask_one(core, shard, _audit_page(queue, state, seen))


def _audit_links(core: Core, shard: int, ids: list[bytes]) -> Operation[list[str]]:
    problems: dict[str, None] = {}
    for first in range(0, len(ids), JOBS_PER_LINK_CHECK):
        rows = [(job_id,) for job_id in ids[first : first + JOBS_PER_LINK_CHECK]]
        offset, more = 0, True
        while more:
            call = build("audit_links", list, rows, offset=offset, count=LINKS_PER_CALL)
            more, *faults = yield from ask_one(core, shard, call)
            offset += LINKS_PER_CALL
            problems |= dict.fromkeys(fault(row) for row in faults)
    return list(problems)


def _suspects(core: Core, shard: int, queue: str) -> Operation[list[str]]:
    """Return what is wrong with jobs of the log; a job in no set can be found only there."""
    after = "-"
    while True:
        found = yield from read_log(core, shard, after, PAGE)
        ids = {event.job_id for event in found if event.queue == queue}
        if ids:
            call = build("audit_jobs", list, [(job_id,) for job_id in sorted(ids)])
            faults = yield from ask_one(core, shard, call)
            if faults:
                return [fault(row) for row in faults]
        if len(found) < PAGE:
            return []
        after = f"({found[-1].entry_id}"


def fault(row: Sequence[bytes]) -> str:
    """Describe a fault from the id of a job and the words of a script."""
    return f"job {row[0].decode()!r} {row[1].decode()}"


def audit_tags(core: Core, shard: int) -> Operation[list[str]]:
    """Return what is wrong with the index of tags of a shard."""
    problems: list[str] = []
    looked_at = 0
    while True:
        [found] = yield from top_of_shards(core, [shard], 0, looked_at, PAGE)
        for name in found:
            problems += yield from _audit_tag(core, shard, name)
        looked_at += len(found)
        if len(found) < PAGE:
            return problems


def _audit_tag(core: Core, shard: int, name: str) -> Operation[list[str]]:
    problems: list[str] = []
    seen = 0
    while True:
        call = build("audit_tag", list, tag=name, offset=seen, count=PAGE)
        looked_at, counted, indexed, *faults = yield from ask_one(core, shard, call)
        seen += looked_at
        problems += [fault(row) for row in faults]
        if looked_at < PAGE:
            break
    if counted != indexed:
        problems.append(f"tag {name!r}: the counter says {counted} jobs, there are {indexed}")
    return problems
