"""Dependencies on several shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, HasDependents, InvalidArgument, Put
from tests.support.clients import got
from tests.support.dump import dump
from tests.support.shards import ids_by_shard, one_for_each_shard


async def test_new_job_lives_on_the_shard_of_its_dependency(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    firsts = one_for_each_shard(calm)
    await got(queue.put_many([Put(1, id=name) for name in firsts]))

    ids = [await got(queue.put(2, depends_on=[name])) for name in firsts]
    many = await got(queue.put_many([3, Put(4, priority=1)], depends_on=firsts[:1]))

    assert [calm.core.shard_of(job_id) for job_id in ids] == list(range(calm.core.shards))
    assert {calm.core.shard_of(job_id) for job_id in many} == {0}
    assert (await got(queue.counts())).blocked == len(ids) + 2
    for lease in await got(queue.pop("w", count=20)):
        await got(lease.complete())
    assert (await got(queue.counts())).waiting == len(ids) + 2
    assert calm.audit().problems == []


async def test_dependency_on_another_shard_is_refused(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    one, other, *_ = one_for_each_shard(calm)
    await got(queue.put_many([Put(1, id=one), Put(1, id=other)]))
    [lease] = [lease for lease in await got(queue.pop("w", count=2)) if lease.id == one]
    await got(lease.release())
    before = dump(calm)

    attempts: list[Callable[[], Any]] = [
        lambda: queue.put(1, depends_on=[one, other]),
        lambda: queue.put(1, id=one, depends_on=[other]),
        lambda: queue.put_many([Put(1, id=one, depends_on=[other])]),
        lambda: queue.put(1, id=one, group=other),
        lambda: hr.dependencies.add(one, on=[other]),
        lambda: lease.complete(next="later", depends_on=[other]),
        lambda: hr.group(one).then("mail", 1, id=other),
        lambda: hr.chain([("mail", Put(1, id=one)), ("mail", Put(1, id=other))]),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidArgument, match=r"belong to different shards.*part in braces"):
            await got(attempt())

    assert dump(calm) == before


async def test_ids_with_the_same_part_in_braces_may_depend_on_each_other(
    hr: Any, calm: Client
) -> None:
    queue = hr.queue("mail")
    orders = [f"{{order {number}}}" for number in range(8)]
    await got(queue.put_many([Put(1, id=f"{order} a") for order in orders]))
    await got(
        queue.put_many([Put(2, id=f"{order} b", depends_on=[f"{order} a"]) for order in orders])
    )
    assert len(ids_by_shard(calm, orders)) > 1

    with pytest.raises(HasDependents):
        await got(hr.cancel(*(f"{order} a" for order in orders[:1])))
    assert await got(hr.cancel(f"{orders[0]} a", cascade=True)) == [f"{orders[0]} a"]
    leases = await got(queue.pop("w", count=20))
    await got(hr.leases.complete(leases))

    assert len(leases) == 7
    assert (await got(queue.counts())).waiting == 7
    assert calm.audit().problems == []


@pytest.mark.parametrize("name", ["site", "{a}b", "a{b", "}{", "x" * 250, None])
async def test_a_group_lives_on_one_shard(hr: Any, calm: Client, name: str | None) -> None:
    group = hr.group(name)
    members = await got(group.put_many("mail", range(20)))
    members.append(await got(group.put("post", 1)))
    last = await got(group.then("mail", "last"))

    assert {*map(calm.core.shard_of, [*members, last])} == {calm.core.shard_of(group.name)}
    assert await got(group.pending()) == 21
    for queue in (hr.queue("mail"), hr.queue("post")):
        await got(hr.leases.complete(await got(queue.pop("w", count=30))))
    assert [job.id for job in await got(hr.queue("mail").peek(2))] == [last]
    assert calm.audit().problems == []


async def test_a_chain_lives_on_one_shard(hr: Any, calm: Client) -> None:
    chains = [await got(hr.chain([("a", 1), ("b", 2), ("c", 3)])) for _ in range(20)]
    grouped = await got(hr.chain([("a", 1), ("b", Put(2, group="site"))]))

    homes = [{calm.core.shard_of(job_id) for job_id in ids} for ids in [*chains, grouped]]
    assert {len(home) for home in homes} == {1}
    assert len({min(home) for home in homes}) > 1
    for name in ("a", "b", "c"):
        queue = hr.queue(name)
        await got(hr.leases.complete(await got(queue.pop("w", count=30))))
    assert (await got(hr.queue("c").counts())).complete == 20
    assert calm.audit().problems == []


async def test_blocked_jobs_of_all_shards_are_listed(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    firsts = one_for_each_shard(calm)
    await got(queue.put_many([Put(1, id=name) for name in firsts]))
    ids = [await got(queue.put(2, depends_on=[name])) for name in firsts]

    page = await got(queue.jobs("blocked", count=3))

    assert page.total == len(ids)
    assert {job.id for job in page.jobs} <= {*ids}
    assert [job.depends_on for job in await got(hr.jobs(ids))] == [[name] for name in firsts]


async def test_a_sweep_unlocks_on_all_shards(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    firsts = one_for_each_shard(calm)[:3]
    await got(queue.put_many([Put(1, id=name) for name in firsts]))
    for name in firsts:
        await got(queue.put_many(range(300), depends_on=[name]))
    await got(hr.leases.complete(await got(queue.pop("w", count=3))))
    assert (await got(queue.counts())).blocked > 0

    await got(hr.sweep())

    assert (await got(queue.counts())).waiting == 900
    assert calm.audit().problems == []
