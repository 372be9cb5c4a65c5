"""The audit: compare the counters (books) of every queue with the jobs that exist."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build
from headrace.engine.states import STATES
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.event_log import read_log
from headrace.operations.paging import all_pages, names_by_shard, pages_of_script
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues, text_map
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Audit
from headrace.transport.drive import Operation

PAGE = 500
# One call of audit_links checks up to JOBS_PER_LINK_CHECK jobs, and up to LINKS_PER_CALL links of
# each job.
JOBS_PER_LINK_CHECK = 50
LINKS_PER_CALL = 100


def audit(client: ClientLike) -> Operation[Audit]:
    """Compare the counters of every queue with the jobs of that queue, and return the differences.

    The audit also checks records, leases, links between jobs, unique values and tags. A change made
    during the audit can look like a problem, so run the audit again before you repair anything.

    Raises ServerUnavailable if the server does not answer.

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
    # Use one round trip, because a change between two calls would look like an imbalance.
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
            f"queue {queue!r}: {claims} unique values are claimed, but {claimed} jobs have "
            "a unique value"
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
        f"queue {queue!r}: the books say {expected} {state}, but {sizes[state]} exist"
        for state in STATES
        if (expected := booked(state) - (booked("pruned") if state == "complete" else 0))
        != sizes[state]
    ]
    parts = sum(booked(name) for name in (*STATES, "cancelled", "expired", "moved"))
    if booked("put") != parts:
        found.append(
            f"queue {queue!r}: {booked('put')} jobs were put, but the states add up to {parts}"
        )
    return found


def _audit_page(queue: str, state: str, offset: int) -> Call[list[Any]]:
    return build("audit_members", list, queue=queue, state=state, offset=offset, count=PAGE)


def _audit_state(
    core: Core, shard: int, queue: str, state: str, first_page: list[Any]
) -> Operation[tuple[int, int, list[str]]]:
    def read(*, offset: int, **_: int) -> Operation[list[Any]]:
        if offset == 0:
            return first_page
        return (yield from ask_one(core, shard, _audit_page(queue, state, offset)))

    pages = yield from all_pages(read, size=PAGE, length=itemgetter(0))
    problems: list[str] = []
    for _, _, linked, *faults in pages:
        problems += [fault(row) for row in faults]
        problems += yield from _audit_links(core, shard, linked)
    return sum(page[0] for page in pages), sum(page[1] for page in pages), problems


def _audit_links(core: Core, shard: int, ids: list[bytes]) -> Operation[list[str]]:
    problems: dict[str, None] = {}
    for part in chunks(ids, JOBS_PER_LINK_CHECK):
        rows = [(job_id,) for job_id in part]
        # The first value of a page is 1 if another page follows, otherwise 0.
        pages = yield from pages_of_script(
            core,
            shard,
            "audit_links",
            rows,
            size=LINKS_PER_CALL,
            length=lambda page: LINKS_PER_CALL * page[0],
        )
        problems |= dict.fromkeys(fault(row) for _, *faults in pages for row in faults)
    return list(problems)


def _suspects(core: Core, shard: int, queue: str) -> Operation[list[str]]:
    """Check the jobs of a queue that the event log mentions, and return the faults.

    A job that is in no set of its queue can be found only through the log.
    """
    after = "-"
    while True:
        found = yield from read_log(core, shard, after, PAGE)
        ids = {event.job_id for event in found if event.queue == queue}
        if ids:
            rows = [(job_id,) for job_id in sorted(ids)]
            faults = yield from ask_one(core, shard, build("audit_jobs", list, rows))
            if faults:
                return [fault(row) for row in faults]
        if len(found) < PAGE:
            return []
        after = f"({found[-1].entry_id}"


def fault(row: Sequence[bytes]) -> str:
    """Return the description of a fault; the row has the job id and the text of the fault."""
    return f"job {row[0].decode()!r} {row[1].decode()}"


def audit_tags(core: Core, shard: int) -> Operation[list[str]]:
    """Return the faults in the tag index of a shard."""

    def read(*, offset: int, count: int) -> Operation[dict[str, int]]:
        return (yield from names_by_shard(core, [shard], keys.TAGS, offset, 0, count))[0]

    problems: list[str] = []
    for name in chain.from_iterable((yield from all_pages(read, size=PAGE))):
        problems += yield from _audit_tag(core, shard, name)
    return problems


def _audit_tag(core: Core, shard: int, name: str) -> Operation[list[str]]:
    pages = yield from pages_of_script(
        core, shard, "audit_tag", args={"tag": name}, size=PAGE, length=itemgetter(0)
    )
    problems = [fault(row) for page in pages for row in page[3:]]
    _, counted, indexed, *_ = pages[-1]
    if counted != indexed:
        problems.append(
            f"tag {name!r}: the counter says {counted} jobs, but the index has {indexed}"
        )
    return problems
