"""Jobs on several shards."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, LeaseLost, Put
from headrace.testing import Clock
from tests.support.clients import got
from tests.support.dump import dump
from tests.support.shards import (
    hash_on_each_shard,
    ids_by_shard,
    numbered_without_holes,
    one_for_each_shard,
)


async def test_many_jobs_spread_over_all_shards(hr: Any, calm: Client) -> None:
    ids = await got(hr.queue("mail").put_many(range(400)))

    found = ids_by_shard(calm, ids)
    assert sorted(found) == list(range(calm.core.shards))
    assert min(map(len, found.values())) > 400 / calm.core.shards / 2
    assert [job.data for job in await got(hr.jobs(ids))] == list(range(400))
    assert (await got(hr.queue("mail").counts())).waiting == 400


async def test_a_pop_collects_from_all_shards(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(60))

    some = await got(hr.queue("mail").pop("w", count=50))
    rest = await got(hr.queue("mail").pop("w", count=50))

    assert (len(some), len(rest)) == (50, 10)
    assert {lease.id for lease in [*some, *rest]} == set(ids)
    assert await got(hr.queue("mail").pop("w", count=50)) == []


async def test_jobs_are_found_and_cancelled_by_their_data_on_all_shards(
    hr: Any, calm: Client
) -> None:
    ids = calm.queue("mail").put_many(["same"] * 60)
    kept = calm.queue("mail").put_many(["other"] * 20)
    running = {lease.id for lease in calm.queue("mail").pop("w", count=30)}

    found = await got(hr.queue("mail").matching("same"))

    assert sorted(found) == sorted(ids)
    assert {job_id for job_id in found if found[job_id] == "running"} == running - set(kept)
    assert sorted(await got(hr.queue("mail").cancel_matching("same"))) == sorted(ids)
    assert await got(hr.queue("mail").matching("same")) == {}
    assert calm.queue("mail").length() == 20
    assert calm.audit().problems == []


async def test_pushed_payload_becomes_a_job_of_that_shard(hr: Any, calm: Client) -> None:
    core = calm.core
    for shard in range(core.shards):
        words = ("LPUSH", core.key(shard, "ingress:mail"), f"{shard}", f"{shard}")
        assert core.transport.send([(shard, words)]) == [2]

    leases = await got(hr.queue("mail").pop("w", count=2 * core.shards))

    assert [core.shard_of(lease.id) for lease in leases] == [lease.data for lease in leases]
    assert len({lease.id for lease in leases}) == 2 * core.shards
    assert await got(hr.leases.complete(leases)) == ["complete"] * len(leases)
    assert calm.audit().problems == []


async def test_the_order_of_each_shard_is_strict(hr: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(60))
    urgent = calm.queue("mail").put_many(range(20), priority=-1)
    served: list[str] = []

    while leases := await got(hr.queue("mail").pop("w")):
        served += [lease.id for lease in leases]

    assert ids_by_shard(calm, served) == ids_by_shard(calm, [*urgent, *ids])


async def test_ids_with_the_same_part_in_braces_share_a_shard(hr: Any, calm: Client) -> None:
    ids = [f"{{ada}} {number}" for number in range(30)]
    await got(hr.queue("mail").put_many([Put(1, id=job_id) for job_id in ids]))

    leases = await got(hr.queue("mail").pop("w", count=30))

    assert [lease.id for lease in leases] == ids
    assert len(ids_by_shard(calm, ids)) == 1


@pytest.mark.parametrize("job_id", ["plain", "{a}b", "a{b", "}{", "{}x", "{{}}", "}a{b}", "é{"])
async def test_duplicate_lives_on_the_shard_of_the_first(
    hr: Any, calm: Client, job_id: str
) -> None:
    queue = hr.queue("mail")
    await got(queue.put("one", id=job_id))

    twin = await got(queue.put("two", id=job_id, on_exists="duplicate"))

    assert [job.data for job in await got(hr.jobs([job_id, twin]))] == ["one", "two"]
    assert await got(hr.cancel(twin)) == [twin]
    assert calm.audit().problems == []


async def test_bulk_calls_answer_in_order(hr: Any, calm: Client, clock: Clock) -> None:
    calm.queue("mail").put_many(range(30))
    leases = await got(hr.queue("mail").pop("w", count=30))
    [taken] = calm.timeout(leases[7].id)
    assert taken == "waiting"
    clock.tick(10)

    deadlines = await got(hr.leases.heartbeat(leases, lease_for=30))
    released = await got(hr.leases.release(leases[:10]))
    completed = await got(hr.leases.complete(leases[10:], [lease.data for lease in leases[10:]]))

    assert isinstance(deadlines.pop(7), LeaseLost)
    assert {(deadline - clock.now).total_seconds() for deadline in deadlines} == {30}
    assert isinstance(released.pop(7), LeaseLost)
    assert set(released) == {"waiting"}
    assert completed == ["complete"] * 20
    assert [calm.result(lease.id).value for lease in leases[10:]] == [
        lease.data for lease in leases[10:]
    ]
    assert calm.audit().problems == []


async def test_complete_and_pop_works_over_several_shards(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    ids = calm.queue("mail").put_many(range(40))
    leases = await got(queue.pop("w", count=4))
    ended: list[str] = []
    idle = 0

    while idle < calm.core.shards:
        answers, more = await got(queue.complete_and_pop(leases, "w", count=4))
        assert answers == ["complete"] * len(leases)
        ended += [lease.id for lease in leases]
        leases = more
        idle = 0 if leases else idle + 1

    assert sorted(ended) == sorted(ids)
    assert calm.queue("mail").counts().complete == 40


async def test_a_job_moves_on_within_its_shard(hr: Any, calm: Client) -> None:
    ids = one_for_each_shard(calm)
    calm.queue("mail").put_many([Put(1, id=job_id) for job_id in ids])
    leases = await got(hr.queue("mail").pop("w", count=20))

    answers = await got(hr.leases.complete(leases, next="archive", delay=5))

    assert answers == ["scheduled"] * len(ids)
    assert (await got(hr.queue("archive").counts())).scheduled == len(ids)
    assert list(await got(hr.queues())) == ["mail", "archive"]
    assert numbered_without_holes(calm)


async def test_an_operator_reaches_every_shard(hr: Any, calm: Client) -> None:
    ids = one_for_each_shard(calm)
    calm.queue("mail").put_many([Put(1, id=job_id) for job_id in ids])
    for job_id in ids:
        assert await got(hr.prioritise(job_id, -3)) == "waiting"
        assert await got(hr.fail(job_id, "boom")) == "failed"
    assert await got(hr.retry(*ids)) == ["waiting"] * len(ids)
    for job_id in ids:
        assert await got(hr.requeue(job_id, "other")) == "waiting"
    leases = await got(hr.queue("other").pop("w", count=20))
    assert await got(hr.timeout(*ids)) == ["waiting"] * len(ids)

    assert {lease.job.priority for lease in leases} == {-3}
    assert await got(hr.cancel(*ids, "unknown")) == ids
    assert calm.audit().problems == []


async def test_results_are_found_on_every_shard(hr: Any, calm: Client) -> None:
    ids = one_for_each_shard(calm)
    calm.queue("mail").configure("manual")
    calm.queue("mail").put_many([Put(job_id, id=f"{{{job_id}}}") for job_id in ids])
    for lease in calm.queue("mail").pop("w", count=20):
        lease.complete(f"result of {lease.data}")

    for job_id in ids:
        found = await got(hr.result(f"{{{job_id}}}", take=True))
        assert (found.value, found.data) == (f"result of {job_id}", job_id)
    assert await got(hr.jobs([f"{{{job_id}}}" for job_id in ids])) == []


async def test_a_queue_is_set_up_and_paused_on_every_shard(hr: Any, calm: Client) -> None:
    queue = hr.queue("mail")
    await got(queue.configure("task", lease=7))
    await got(hr.config.set("retries", 9))
    await got(queue.put_many(range(40)))

    shared = hash_on_each_shard(calm, "config")
    own = hash_on_each_shard(calm, "settings:mail")
    assert {settings[b"lease"] for settings in own} == {b"7000"}
    assert {settings[b"session"] for settings in own} == {b"required"}
    assert all(settings == {b"retries": b"9"} for settings in shared)

    await got(queue.configure("job"))
    await got(hr.config.unset("retries"))
    await got(queue.pause())
    assert await got(queue.pop("w", count=40)) == []
    assert (await got(queue.counts())).paused
    await got(queue.resume())
    assert len(await got(queue.pop("w", count=40))) == 40


async def test_a_deleted_queue_leaves_no_key_on_any_shard(hr: Any, calm: Client) -> None:
    before = set(dump(calm))
    queue = hr.queue("mail")
    await got(queue.put_many(["x" * 2000] * 80))
    await got(queue.put_many(range(80), delay=5, start_within=60))
    leases = await got(queue.pop("w", count=60))
    await got(hr.leases.complete(leases[:20], range(20)))
    for lease in leases[20:40]:
        await got(lease.log("line"))
        await got(lease.fail("boom"))

    await got(queue.delete())

    left = {key: value for key, value in dump(calm).items() if key not in before}
    assert {key.rsplit("}:", 1)[1] for key in left} == {"agenda", "events", "log"}
    agendas = [value for key, (_, value) in left.items() if key.endswith("agenda")]
    assert {entry for agenda in agendas for entry in agenda[::2]} == {b"events:"}
    assert await got(hr.queues()) == {}
    assert await got(hr.failures.counts()) == {}
    assert numbered_without_holes(calm)
