"""Limits on several shards."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, Put
from tests.support.clients import got
from tests.support.shards import one_for_each_shard


async def test_a_limit_of_a_queue_is_never_exceeded(hr: Any, calm: Client) -> None:
    shards = calm.core.shards
    queue = hr.queue("mail")
    await got(queue.configure(concurrency=shards + 2))
    await got(queue.put_many(range(40 * shards)))

    leases = []
    for _ in range(2 * shards):
        leases += await got(queue.pop("w", count=100))
    assert len(leases) == shards + 2
    assert (await got(queue.settings()))["concurrency"] == shards + 2
    await got(hr.leases.complete(leases))
    assert len(await got(queue.pop("w", count=100))) == shards + 2


async def test_a_throttle_is_never_exceeded(hr: Any, calm: Client) -> None:
    shards = calm.core.shards
    await got(hr.throttles.set("api", concurrency=shards, rate=f"{2 * shards}/d"))
    for name in ("one", "two"):
        await got(hr.queue(name).put_many(range(20 * shards), throttles=["api"]))

    first = await got(hr.queue("one").pop("w", count=100))
    second = await got(hr.queue("two").pop("w", count=100))
    assert (len(first), len(second)) == (shards, 0)
    assert (await got(hr.throttles.get("api"))).running == shards
    assert (await got(hr.throttles.get("api"))).held_up == ["one", "two"]
    await got(hr.leases.complete(first))
    assert len(await got(hr.queue("two").pop("w", count=100))) == shards
    assert await got(hr.throttles.delete("api"))


async def test_the_jobs_of_a_key_live_together_and_keep_its_limit(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    await got(queue.configure(key_concurrency=1, fair=True))
    keys = [f"customer {n}" for n in range(20)]
    ids = await got(queue.put_many([Put(n, key=key) for key in keys for n in range(3)]))

    assert [calm.core.shard_of(job_id) for job_id in ids] == [
        calm.core.shard_of(key) for key in keys for _ in range(3)
    ]
    for turn in range(3):
        leases = []
        for _ in range(calm.core.shards):
            leases += await got(queue.pop("w", count=100))
        assert sorted(lease.job.key for lease in leases) == sorted(keys)
        assert {lease.data for lease in leases} == {turn}
        await got(hr.leases.complete(leases))
    assert calm.audit().problems == []


async def test_limit_that_shards_cannot_enforce_is_refused(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    few = calm.core.shards - 1
    for limit in ({"concurrency": few}, {"rate": f"{few}/s"}):
        with pytest.raises(InvalidArgument, match="shards"):
            await got(queue.configure(**limit))
        with pytest.raises(InvalidArgument, match="shards"):
            await got(hr.throttles.set("api", **limit))
    one, other = one_for_each_shard(calm)[:2]
    with pytest.raises(InvalidArgument, match="different shards"):
        await got(queue.put(1, id=one, key=other))
    with pytest.raises(InvalidArgument, match="different shards"):
        await got(queue.put_many([Put(1, id=one)], key=other))
    assert (await got(queue.counts())).length == 0
