"""Unique values, tags and tracked jobs on several shards."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobExists, Put
from headrace.testing import Clock
from tests.support.clients import got, next_of
from tests.support.shards import ids_by_shard


async def test_jobs_of_a_unique_value_live_together(hr: Any, calm: Client) -> None:
    mail = hr.queue("mail")
    made = [await got(mail.put(n, unique=True)) for n in range(40)]

    assert sorted(ids_by_shard(calm, made)) == list(range(calm.core.shards))
    for number, first in enumerate(made):
        with pytest.raises(JobExists) as refused:
            await got(mail.put(number, unique=True))
        assert refused.value.job_id == first
    with pytest.raises(JobExists):
        await got(mail.put_many(range(39, 60), unique=True))
    assert calm.queue("mail").counts().waiting == 60
    assert calm.audit().problems == []


async def test_unique_value_and_id_on_different_shards_are_refused(hr: Any, calm: Client) -> None:
    ids = [f"job {number}" for number in range(40)]
    here = calm.core.shard_of("u")
    there = next(job_id for job_id in ids if calm.core.shard_of(job_id) != here)

    with pytest.raises(InvalidArgument, match="belong to different shards"):
        await got(hr.queue("mail").put(1, id=there, unique="u"))
    assert await got(hr.queue("mail").put(1, id="{u}mine", unique="u")) == "{u}mine"


async def test_a_job_is_debounced_on_its_shard(hr: Any, calm: Client, clock: Clock) -> None:
    mail = hr.queue("mail")
    for number in range(3):
        for key in "abcdefgh":
            await got(mail.put(f"{key}{number}", unique=key, delay=9, on_exists="replace"))
        clock.tick(5)
    clock.tick(9)

    leases = calm.queue("mail").pop("w", count=100)
    assert sorted(lease.data for lease in leases) == [f"{key}2" for key in "abcdefgh"]


async def test_pages_of_a_tag_neither_overlap_nor_leave_out(
    hr: Any, calm: Client, clock: Clock
) -> None:
    ids = [f"job {number}" for number in range(30)]
    for job_id in ids:
        calm.queue("mail").put(1, id=job_id, tags=["t"])
        clock.tick(1)

    pages = [await got(hr.tags.jobs("t", offset=offset, count=7)) for offset in range(0, 36, 7)]

    assert {page.total for page in pages} == {30}
    assert [job.id for page in pages for job in page.jobs] == ids


async def test_tags_are_counted_over_all_shards(hr: Any, calm: Client) -> None:
    by_shard = ids_by_shard(calm, [f"job {number}" for number in range(400)])
    for shard, ids in by_shard.items():
        tags = [["everywhere", f"only on {shard}"], [f"only on {shard}"], ["once"]]
        items = [Put(1, id=job_id, tags=own) for job_id, own in zip(ids, tags, strict=False)]
        calm.queue("mail").put_many(items)
    shards = calm.core.shards

    expected = [("once", shards), ("everywhere", shards)]
    expected += sorted(((f"only on {shard}", 2) for shard in by_shard), reverse=True)
    assert list((await got(hr.tags.top(count=100))).items()) == expected
    pages = [await got(hr.tags.top(offset=n, count=2)) for n in range(0, shards + 2, 2)]
    assert [item for page in pages for item in page.items()] == expected
    assert await got(hr.tags.top(least=shards + 1)) == {}
    assert (await got(hr.audit())).problems == []


async def test_tracked_jobs_of_all_shards_are_listed_and_published(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(24))
    for job_id in ids:
        assert await got(hr.tracking.add(job_id)) == "waiting"
    listening = await got(hr.tracking.listen(wait=20))
    calm.cancel(*ids[:12])

    found = await got(hr.tracking.list())

    assert sorted(job.id for job in found.jobs) == sorted(ids[12:])
    assert sorted(found.gone) == sorted(ids[:12])
    heard = [await next_of(listening) for _ in range(12)]
    assert sorted(event.job_id for event in heard) == sorted(ids[:12])
    assert {event.shard for event in heard} == set(ids_by_shard(calm, ids[:12]))
    await got(listening.close())
