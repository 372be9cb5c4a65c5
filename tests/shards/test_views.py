"""Listings, counts and statistics of several shards."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, Put, Series
from headrace.testing import Clock
from tests.support.clients import got, listed
from tests.support.shards import ids_by_shard, numbered_without_holes

PAGE = 7


def lead_a_life(hr: Client, clock: Clock) -> None:
    """Puts, delays, failures and ends with many different waiting and running times."""
    queue = hr.queue("mail")
    for number in range(40):
        queue.put(number, id=f"job {number}", delay=0.001 if number % 5 == 0 else 0, retries=2)
        clock.tick(0.37 * number)
    for number in range(60):
        clock.tick(61.7 * (number % 7) + 0.013)
        found = {lease.id: lease for lease in queue.pop("w", count=500)}
        for job_id, lease in sorted(found.items()):
            clock.tick(1.001 * (number + len(job_id)))
            outcome = int(job_id.split()[1]) % 4
            if outcome == 0:
                lease.fail("boom", retry_in=5)
            elif outcome == 1:
                lease.fail("smoke")
            else:
                lease.complete()


def assert_alike(one: Series, other: Series) -> None:
    assert one.count == other.count > 0
    assert one.bins == other.bins
    assert one.histogram == other.histogram
    assert one.mean == pytest.approx(other.mean, rel=1e-9, abs=1e-9)
    assert one.variance == pytest.approx(other.variance, rel=1e-9, abs=1e-9)


async def test_merged_statistics_equal_those_of_one_shard(
    hr: Any, calm: Client, clock: Clock, twin: tuple[Client, Clock]
) -> None:
    lead_a_life(calm, clock)
    lead_a_life(*twin)

    merged = await got(hr.queue("mail").stats("2026-01-01"))
    single = twin[0].queue("mail").stats("2026-01-01")

    assert_alike(merged.wait, single.wait)
    assert_alike(merged.run, single.run)
    assert (merged.queue, merged.day) == (single.queue, single.day)
    assert (merged.failed, merged.failures, merged.retries) == (
        single.failed,
        single.failures,
        single.retries,
    )
    assert await got(hr.queue("mail").counts()) == twin[0].queue("mail").counts()
    assert await got(hr.failures.counts()) == twin[0].failures.counts()


@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed", "complete"])
async def test_pages_neither_overlap_nor_leave_out(
    hr: Any, calm: Client, clock: Clock, state: str
) -> None:
    queue = calm.queue("mail")
    for number in range(30):
        queue.put(number, id=f"job {number}", delay=100 - number if state == "scheduled" else 0)
        clock.tick(0.1)
    if state != "scheduled":
        for lease in queue.pop("w", count=500):
            clock.tick(0.1)
            if state == "failed":
                lease.fail("boom")
            elif state == "complete":
                lease.complete()
            elif state == "waiting":
                lease.release(position="back")

    pages = [
        await got(hr.queue("mail").jobs(state, offset=offset, count=PAGE))
        for offset in range(0, 36, PAGE)
    ]

    assert {page.total for page in pages} == {30}
    assert [len(page.jobs) for page in pages] == [7, 7, 7, 7, 2, 0]
    found = [job.id for page in pages for job in page.jobs]
    assert sorted(found) == sorted(f"job {number}" for number in range(30))
    whole = await got(hr.queue("mail").jobs(state, count=1000))
    assert [job.id for job in whole.jobs] == found


async def test_listed_jobs_are_in_the_order_of_time(hr: Any, calm: Client, clock: Clock) -> None:
    queue = calm.queue("mail")
    ids = [f"job {number}" for number in range(20)]
    for job_id in ids:
        queue.put(1, id=job_id)
        clock.tick(1)
    found = await got(hr.queue("mail").jobs("waiting"))
    assert [job.id for job in found.jobs] == ids
    for job_id in ids:
        calm.fail(job_id, "boom")
        clock.tick(1)

    newest = await got(hr.failures.jobs("boom", offset=2, count=5))

    assert (newest.total, [job.id for job in newest.jobs]) == (20, ids[::-1][2:7])
    assert await got(hr.retry(failure="boom", count=3)) == ["waiting"] * 3
    assert {job.id for job in queue.jobs("waiting").jobs} == set(ids[:3])


async def test_the_most_frequent_failures_are_those_of_all_shards_together(
    hr: Any, calm: Client
) -> None:
    """The most frequent type of all shards together is not the most frequent type of any shard."""
    by_shard = ids_by_shard(calm, [f"job {number}" for number in range(400)])
    for shard, ids in by_shard.items():
        calm.queue("mail").put_many([Put(1, id=job_id) for job_id in ids[:5]])
        for number, job_id in enumerate(ids[:5]):
            calm.fail(job_id, f"only on {shard}" if number < 3 else "everywhere")

    shards = calm.core.shards
    assert await got(hr.failures.counts(count=1)) == {"everywhere": 2 * shards}
    pages = [await got(hr.failures.counts(offset=n, count=2)) for n in range(0, shards + 2, 2)]
    together = {kind: times for page in pages for kind, times in page.items()}
    assert together == {
        "everywhere": 2 * shards,
        **{f"only on {shard}": 3 for shard in range(shards)},
    }
    assert sum(map(len, pages)) == shards + 1


async def test_queues_are_listed_once_in_pages(hr: Any, calm: Client) -> None:
    for number in range(20):
        calm.queue(f"queue {number}").put_many(range(10))

    pages = [await got(hr.queues(offset=n, count=6)) for n in range(0, 24, 6)]

    assert [len(page) for page in pages] == [6, 6, 6, 2]
    found = [name for page in pages for name in page]
    assert sorted(found) == sorted(f"queue {number}" for number in range(20))
    assert {counts.waiting for page in pages for counts in page.values()} == {10}


async def test_peek_shows_jobs_of_all_shards_and_delivers_none(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(30))

    found = [job.id for job in await got(hr.queue("mail").peek(1000))]

    assert sorted(found) == sorted(ids)
    order = ids_by_shard(calm, found)
    assert order == ids_by_shard(calm, ids)
    assert len(await got(hr.queue("mail").peek(5))) == 5
    assert calm.queue("mail").counts().waiting == 30


async def test_events_come_from_all_shards_without_holes(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(100))
    calm.leases.complete(calm.queue("mail").pop("w", count=100))

    events = await listed(hr.events(count=17))

    assert {event.shard for event in events} == set(range(calm.core.shards))
    for kind in ("put", "popped", "completed"):
        assert sorted(e.job_id for e in events if e.kind == kind) == sorted(ids)
    for job_id in ids:
        of_job = [event.kind for event in events if event.job_id == job_id]
        assert of_job == ["put", "popped", "completed"]
    assert numbered_without_holes(calm)


async def test_the_audit_looks_at_every_shard(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(100))
    assert (await got(hr.audit())).jobs == 100
    assert (await got(hr.audit())).balanced

    shard = calm.core.shards - 1
    lost = ids_by_shard(calm, ids)[shard][0]
    calm.core.transport.send([(shard, ("DEL", calm.core.key(shard, f"job:{lost}")))])

    problems = (await got(hr.audit())).problems
    assert any(lost in problem for problem in problems)
