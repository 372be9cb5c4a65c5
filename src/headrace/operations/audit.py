"""The audit: compare the counters (books) of every queue with the jobs that exist."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build
from headrace.engine.events import Event, entry_number
from headrace.engine.states import STATES
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.event_log import logs, read_log
from headrace.operations.paging import all_pages, names_by_shard, pages_of_script
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues, text_map
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Audit
from headrace.transport.drive import Operation

# The id of a job, and the text of the fault.
Fault = Sequence[bytes]

PAGE = 500
# An event can have a large payload.
EVENTS_PER_CALL = 250
# One call of audit_links checks up to JOBS_PER_LINK_CHECK jobs, and up to LINKS_PER_CALL links of
# each job.
JOBS_PER_LINK_CHECK = 50
LINKS_PER_CALL = 100


def audit(client: ClientLike) -> Operation[Audit]:
    """Compare the counters of every queue with the jobs of that queue, and return the differences.

    The audit also checks records, leases, links between jobs, unique values, tags and the answers
    that the server remembers for repeated calls. It compares the jobs with the event log. The log
    shows which jobs a server has lost, even if it has lost their queue too. A server that has lost
    its whole log too cannot be checked. A change made during the audit can look like a problem, so
    run the audit again before you repair anything.

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
        faulty: set[bytes] = set()
        imbalances: list[str] = []
        for name in names:
            seen, faults, unequal = yield from _audit_queue(core, shard, name)
            jobs += seen
            faulty.update(row[0] for row in faults)
            problems += map(fault, faults)
            imbalances += unequal
        problems += yield from _audit_log(core, shard, faulty)
        problems += imbalances
        problems += yield from audit_tags(core, shard)
        problems += yield from _audit_answers(core, shard)
    return Audit(len(names), jobs, problems)


def _audit_queue(
    core: Core, shard: int, queue: str
) -> Operation[tuple[int, list[Fault], list[str]]]:
    """Return the number of jobs, the faults found in jobs, and the wrong counters."""
    calls: list[Call[Any]] = [build("audit_books", _books_and_sets, queue=queue)]
    calls += [_audit_page(queue, state, 0) for state in STATES]
    # Use one round trip, because a change between two calls would look like an imbalance.
    (books, sizes, claims), *pages = yield from ask(core, [(shard, call) for call in calls])
    faults: list[Fault] = []
    seen = claimed = 0
    for state, page in zip(STATES, pages, strict=True):
        looked_at, have_claims, found = yield from _audit_state(core, shard, queue, state, page)
        seen += looked_at
        claimed += have_claims
        faults += found
    imbalances = _imbalances(queue, books, sizes)
    if claims != claimed:
        imbalances.append(
            f"queue {queue!r}: {claims} unique values are claimed, but {claimed} jobs have "
            "a unique value"
        )
    return seen, faults, imbalances


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
) -> Operation[tuple[int, int, list[Fault]]]:
    def read(*, offset: int, **_: int) -> Operation[list[Any]]:
        if offset == 0:
            return first_page
        return (yield from ask_one(core, shard, _audit_page(queue, state, offset)))

    pages = yield from all_pages(read, size=PAGE, length=itemgetter(0))
    found: list[Fault] = []
    for _, _, linked, *faults in pages:
        found += faults
        found += yield from _audit_links(core, shard, linked)
    return sum(page[0] for page in pages), sum(page[1] for page in pages), found


def _audit_links(core: Core, shard: int, ids: list[bytes]) -> Operation[list[Fault]]:
    found: dict[tuple[bytes, ...], Fault] = {}
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
        found |= {tuple(row): row for _, *faults in pages for row in faults}
    return list(found.values())


def _audit_log(core: Core, shard: int, reported: set[bytes]) -> Operation[list[str]]:
    """Compare the jobs in the event log with their records, except those already reported.

    The log shows that a job was lost even if its record, its queue and the books are gone.
    """
    before = (yield from logs(core))[shard].newest_number
    entries, newest, problems, gone = yield from _compare_log(core, shard, reported)
    for event in (yield from _events_after(core, shard, newest)):
        # The job may have finished since its page of the log was read.
        gone.pop(event.job_id.encode(), None)
    problems += [
        f"job {job_id.decode()!r} is gone, but its newest event is {kind.decode()!r}"
        for job_id, kind in gone.items()
        if kind and job_id not in reported
    ]
    log = (yield from logs(core))[shard]
    read = entry_number(newest) if newest else 0
    if read > log.newest_number:
        problems.append(
            f"event log of shard {shard}: the counter says {log.newest_number} events, but the "
            f"newest event has the number {read}"
        )
    elif (missing := max(before, read) - log.trimmed - entries) > 0:
        problems.append(f"event log of shard {shard}: {missing} events are missing")
    return problems


def _compare_log(
    core: Core, shard: int, reported: set[bytes]
) -> Operation[tuple[int, str, list[str], dict[bytes, bytes]]]:
    """Return the number of entries, the newest entry, the faults, and the jobs without a record.

    A job without a record has the kind of its newest event, or b"" if that event ended the job.
    """
    faults: dict[bytes, str] = {}
    gone: dict[bytes, bytes] = {}
    entries, newest, start = 0, "", "+"
    while True:
        call = build("audit_log", list, newest=start, count=EVENTS_PER_CALL)
        length, first, last, missing, *found = yield from ask_one(core, shard, call)
        entries += length
        newest = newest or first.decode()
        for job_id, kind in zip(missing[::2], missing[1::2], strict=True):
            gone.setdefault(job_id, kind)
        faults |= {row[0]: fault(row) for row in found if row[0] not in reported}
        if length < EVENTS_PER_CALL:
            return entries, newest, list(faults.values()), gone
        start = f"({last.decode()}"


def _events_after(core: Core, shard: int, entry_id: str) -> Operation[list[Event]]:
    events: list[Event] = []
    while entry_id:
        found = yield from read_log(core, shard, f"({entry_id}", PAGE)
        events += found
        entry_id = found[-1].entry_id if len(found) == PAGE else ""
    return events


def fault(row: Fault) -> str:
    """Return the description of a fault."""
    return f"job {row[0].decode()!r} {row[1].decode()}"


def audit_tags(core: Core, shard: int) -> Operation[list[str]]:
    """Return the faults in the tag index of a shard."""

    def read(*, offset: int, count: int) -> Operation[dict[str, int]]:
        return (yield from names_by_shard(core, [shard], keys.TAGS, offset, 0, count))[0]

    problems: list[str] = []
    for name in chain.from_iterable((yield from all_pages(read, size=PAGE))):
        problems += yield from _audit_tag(core, shard, name)
    return problems


def _audit_answers(core: Core, shard: int) -> Operation[list[str]]:
    _, *problems = yield from ask_one(core, shard, build("audit_answers", list))
    return [f"the remembered answers {problem.decode()}" for problem in problems]


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
