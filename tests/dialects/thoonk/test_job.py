"""Job: who gets a job says by its id what became of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client
from headrace.compat.thoonk import Empty, JobDoesNotExist, Thoonk
from headrace.testing import Clock
from tests.dialects.thoonk.steps import begun, keys, steps_of, tried
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.clients import got
from tests.support.dump import dump


@proves("T-40")
async def test_a_put_is_that_of_a_queue(thoonk: Any) -> None:
    steps, put = await steps_of(thoonk, "same", "same")

    put.append(await got(steps.publish("other")))

    assert len(set(put)) == 3
    assert [(await got(steps.get(1))).id for _ in put] == put


@proves("T-41", "TD-15", "T-58")
async def test_a_get_makes_a_job_running_and_notes_when(
    thoonk: Any, hr: Client, clock: Clock
) -> None:
    steps, [job_id, waiting] = await steps_of(thoonk, "item", "next")
    clock.tick(0.007)

    got_id, item, cancelled = await got(steps.get(1))

    assert (got_id, item, cancelled) == (job_id, "item", 0)
    assert await got(steps.get_claimed()) == {job_id: clock.now}
    assert await got(steps.get_running()) == [job_id]
    assert hr.queue("steps").counts().waiting == 1
    assert await got(steps.get_ids()) == [waiting, job_id]


@proves("T-41", "T-42")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
async def test_a_get_waits_for_a_job(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    steps, _ = await steps_of(thoonk)
    getting = begun(steps.get, *span)
    await asyncio.to_thread(until_listened_to, hr, "queue:steps")

    job_id = await got(steps.put("item"))

    assert await asyncio.wait_for(getting, 20) == (job_id, "item", 0)


@proves("T-42")
async def test_a_get_in_vain_changes_nothing(thoonk: Any, hr: Client) -> None:
    steps, _ = await steps_of(thoonk, "held")
    await got(steps.get(1))
    before = dump(hr)

    await tried(Empty, steps.get, 0.01)

    assert dump(hr) == before


@proves("T-43", "T-55")
async def test_the_item_stays_until_the_job_is_finished(thoonk: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.cancel(job_id))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.get(1))
    await got(steps.stall(job_id))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.retry(job_id))
    await got(steps.get(1))

    await got(steps.finish(job_id))

    assert await got(steps.get_item(job_id)) is None


@proves("T-44", "T-54", "TD-05")
async def test_a_finished_job_leaves_nothing(thoonk: Any, hr: Client) -> None:
    steps, _ = await steps_of(thoonk)
    empty = keys(hr)
    job_id = await got(steps.put("x" * 5000))
    await got(steps.get(1))
    await got(steps.cancel(job_id))
    await got(steps.get(1))

    await got(steps.finish(job_id))

    assert keys(hr) == empty | {"books:steps"}
    assert await got(steps.get_ids()) == await got(steps.get_running()) == []
    await tried(JobDoesNotExist, steps.get_failure_count, job_id)
    assert hr.audit().balanced


@proves("T-50")
async def test_a_cancelled_job_goes_to_the_back_and_is_counted(thoonk: Any) -> None:
    steps, [first, second] = await steps_of(thoonk, "A", "B")
    await got(steps.get(1))

    await got(steps.cancel(first))

    assert [await got(steps.get(1)) for _ in range(2)] == [(second, "B", 0), (first, "A", 1)]


@proves("T-52")
async def test_anybody_may_say_what_becomes_of_a_job(thoonk: Any, hr: Client) -> None:
    steps, put = await steps_of(thoonk, "cancel", "stall", "finish")
    for _ in put:
        await got(steps.get(1))

    publisher = Thoonk(hr).job("steps")
    publisher.cancel(put[0])
    publisher.stall(put[1])
    publisher.retry(put[1])
    publisher.finish(put[2])

    assert await got(steps.get_ids()) == [put[1], put[0]]


@proves("T-53", "TD-03")
async def test_cancels_are_counted_for_each_job_alone(thoonk: Any) -> None:
    steps, [often, never] = await steps_of(thoonk, "often", "never")
    seen = []
    for _ in range(3):
        claimed = [await got(steps.get(1)) for _ in range(2)]
        seen.append({one.id: one.cancelled for one in claimed}[often])
        await got(steps.cancel(often))
        await got(steps.stall(never))
        await got(steps.retry(never))

    assert seen == [0, 1, 2]
    assert await got(steps.get_failure_count(often)) == 3
    assert await got(steps.get_failure_count(never)) == 0


@proves("T-54", "TD-17", "T-56", "TD-16")
async def test_a_retried_job_goes_to_the_back_and_was_never_cancelled(thoonk: Any) -> None:
    steps, [job_id, other] = await steps_of(thoonk, "A", "B")
    await got(steps.get(1))
    await got(steps.cancel(job_id))
    await got(steps.get(1))
    await got(steps.get(1))
    await got(steps.stall(job_id))
    assert await got(steps.get_failure_count(job_id)) == 1
    await got(steps.cancel(other))

    await got(steps.retry(job_id))

    assert [await got(steps.get(1)) for _ in range(2)] == [(other, "B", 1), (job_id, "A", 0)]


@proves("T-55", "TD-05")
async def test_a_stalled_job_is_set_aside(thoonk: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.stall(job_id))

    assert await got(steps.get_stalled()) == [job_id]
    assert await got(steps.get_claimed()) == {}
    await tried(Empty, steps.get, 0.01)


@proves("TD-05")
async def test_a_cancelled_job_is_no_longer_claimed(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.cancel(job_id))

    assert await got(steps.get_claimed()) == {}
    job = hr.job(job_id)
    assert job is not None
    assert (job.state, job.worker, job.expires) == ("waiting", "", None)


@proves("TD-02")
async def test_of_jobs_with_the_same_item_one_is_meant(thoonk: Any) -> None:
    steps, [first, second, third] = await steps_of(thoonk, "same", "same", "same")
    for _ in range(3):
        await got(steps.get(1))

    await got(steps.cancel(third))
    await got(steps.stall(second))
    await got(steps.finish(first))

    assert await got(steps.get_ids()) == [third, second]


@proves("T-58")
async def test_nothing_is_taken_back_by_itself(thoonk: Any, hr: Client, clock: Clock) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    since = clock.now

    clock.tick(timedelta(days=40))
    hr.sweep()

    await tried(Empty, steps.get, 0.01)
    assert await got(steps.get_claimed()) == {job_id: since}


@proves("TD-16")
def test_a_cancelled_job_goes_to_the_back_whatever_the_queue_says(
    hr: Client, plain: Thoonk
) -> None:
    steps = plain.job("steps")
    hr.queue("steps").configure(returns="front")
    first, second = steps.put("A"), steps.put("B")
    steps.get(1)

    steps.cancel(first)

    assert [steps.get(1).id, steps.get(1).id] == [second, first]
