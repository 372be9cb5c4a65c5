"""Schedules on several shards."""

from __future__ import annotations

from typing import Any

from headrace import Client
from headrace.testing import Clock
from tests.support.clients import got
from tests.support.dump import dump
from tests.support.shards import numbered_without_holes, one_for_each_shard


async def test_every_shard_makes_the_jobs_of_its_schedules(
    hr: Any, calm: Client, clock: Clock
) -> None:
    names = one_for_each_shard(calm)
    queue = hr.queue("mail")
    for name in names:
        await got(queue.schedule(name, name, cron="0 12 * * *", zone="Europe/Berlin"))
    clock.tick(86400 * 200)

    leases = await got(queue.pop("w", count=100))

    assert sorted(lease.id for lease in leases) == [f"{{{name}}}-1" for name in sorted(names)]
    for lease in leases:
        assert lease.job.schedule == lease.data
        assert calm.core.shard_of(lease.id) == calm.core.shard_of(lease.data)
    assert await got(queue.pop("w", count=100)) == []
    assert numbered_without_holes(calm)
    assert calm.audit().problems == []


async def test_schedules_of_all_shards_are_listed_in_order_and_ended(hr: Any, calm: Client) -> None:
    names = [f"plan {number:02}" for number in range(20)]
    for number, name in enumerate(names):
        queue = hr.queue("even" if number % 2 == 0 else "odd")
        await got(queue.schedule(name, name, every=60, delay=number))

    assert [one.id for one in await got(hr.schedules.list())] == names
    page = await got(hr.schedules.list("even", offset=2, count=3))
    assert [one.id for one in page] == names[4:10:2]
    assert (await got(hr.schedules.update(names[3], priority=2))).options == {"priority": 2}
    assert await got(hr.schedules.delete(*names[:5], "none")) == names[:5]
    await got(hr.queue("odd").delete())
    assert [one.id for one in await got(hr.schedules.list())] == names[6::2]
    await got(hr.schedules.delete(*names))
    assert [key for key in dump(calm) if "}:schedule" in key] == []


async def test_sweep_creates_due_jobs_on_every_shard(hr: Any, calm: Client) -> None:
    for number in range(30):
        await got(hr.queue("mail").schedule(f"plan {number}", "x", every=60))

    await got(hr.sweep())
    await got(hr.sweep())

    assert calm.queue("mail").counts().waiting == 30
