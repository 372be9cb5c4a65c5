"""Job: a consumer gets a job and finishes, cancels or stalls it by id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client
from headrace.compat.thoonk import Empty, JobDoesNotExist, Thoonk
from headrace.testing import Clock
from tests.compat.thoonk.support.steps import begun, keys, steps_of, tried
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.dump import dump


@proves("T-40")
def test_put_is_the_same_as_in_a_queue(thoonk: Any) -> None:
    steps, put = steps_of(thoonk, "same", "same")

    put.append(steps.publish("other"))

    assert len(set(put)) == 3
    assert [steps.get(1).id for _ in put] == put


@proves("T-41", "TD-15", "T-58")
def test_get_makes_a_job_running_and_stores_the_time(thoonk: Any, hr: Client, clock: Clock) -> None:
    steps, [job_id, waiting] = steps_of(thoonk, "item", "next")
    clock.tick(0.007)

    got_id, item, cancelled = steps.get(1)

    assert (got_id, item, cancelled) == (job_id, "item", 0)
    assert steps.get_claimed() == {job_id: clock.now}
    assert steps.get_running() == [job_id]
    assert hr.queue("steps").counts().waiting == 1
    assert steps.get_ids() == [waiting, job_id]


@proves("T-41", "T-42")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
def test_get_waits_for_a_job(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    steps, _ = steps_of(thoonk)
    getting = begun(steps.get, *span)
    until_listened_to(hr, "queue:steps")

    job_id = steps.put("item")

    assert getting.result(20) == (job_id, "item", 0)


@proves("T-42")
def test_get_without_an_item_changes_nothing(thoonk: Any, hr: Client) -> None:
    steps, _ = steps_of(thoonk, "held")
    steps.get(1)
    before = dump(hr)

    tried(Empty, steps.get, 0.01)

    assert dump(hr) == before


@proves("T-43", "T-55")
def test_item_stays_until_the_job_is_finished(thoonk: Any) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    assert steps.get_item(job_id) == "item"
    steps.cancel(job_id)
    assert steps.get_item(job_id) == "item"
    steps.get(1)
    steps.stall(job_id)
    assert steps.get_item(job_id) == "item"
    steps.retry(job_id)
    steps.get(1)

    steps.finish(job_id)

    assert steps.get_item(job_id) is None


@proves("T-44", "T-54", "TD-05")
def test_finished_job_leaves_no_keys(thoonk: Any, hr: Client) -> None:
    steps, _ = steps_of(thoonk)
    empty = keys(hr)
    job_id = steps.put("x" * 5000)
    steps.get(1)
    steps.cancel(job_id)
    steps.get(1)

    steps.finish(job_id)

    assert keys(hr) == empty | {"books:steps"}
    assert steps.get_ids() == steps.get_running() == []
    tried(JobDoesNotExist, steps.get_failure_count, job_id)
    assert hr.audit().balanced


@proves("T-50")
def test_cancelled_job_goes_to_the_back_and_is_counted(thoonk: Any) -> None:
    steps, [first, second] = steps_of(thoonk, "A", "B")
    steps.get(1)

    steps.cancel(first)

    assert [steps.get(1) for _ in range(2)] == [(second, "B", 0), (first, "A", 1)]


@proves("T-52")
def test_any_client_may_finish_cancel_or_stall_a_job(thoonk: Any, hr: Client) -> None:
    steps, put = steps_of(thoonk, "cancel", "stall", "finish")
    for _ in put:
        steps.get(1)

    publisher = Thoonk(hr).job("steps")
    publisher.cancel(put[0])
    publisher.stall(put[1])
    publisher.retry(put[1])
    publisher.finish(put[2])

    assert steps.get_ids() == [put[1], put[0]]


@proves("T-53", "TD-03")
def test_cancels_are_counted_per_job(thoonk: Any) -> None:
    steps, [often, never] = steps_of(thoonk, "often", "never")
    seen = []
    for _ in range(3):
        claimed = [steps.get(1) for _ in range(2)]
        seen.append({one.id: one.cancelled for one in claimed}[often])
        steps.cancel(often)
        steps.stall(never)
        steps.retry(never)

    assert seen == [0, 1, 2]
    assert steps.get_failure_count(often) == 3
    assert steps.get_failure_count(never) == 0


@proves("T-54", "TD-17", "T-56", "TD-16")
def test_retried_job_goes_to_the_back_with_a_reset_cancel_count(thoonk: Any) -> None:
    steps, [job_id, other] = steps_of(thoonk, "A", "B")
    steps.get(1)
    steps.cancel(job_id)
    steps.get(1)
    steps.get(1)
    steps.stall(job_id)
    assert steps.get_failure_count(job_id) == 1
    steps.cancel(other)

    steps.retry(job_id)

    assert [steps.get(1) for _ in range(2)] == [(other, "B", 1), (job_id, "A", 0)]


@proves("T-55", "TD-05")
def test_stalled_job_is_set_aside(thoonk: Any) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)

    steps.stall(job_id)

    assert steps.get_stalled() == [job_id]
    assert steps.get_claimed() == {}
    tried(Empty, steps.get, 0.01)


@proves("TD-05")
def test_cancelled_job_is_no_longer_claimed(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)

    steps.cancel(job_id)

    assert steps.get_claimed() == {}
    job = hr.job(job_id)
    assert job is not None
    assert (job.state, job.worker, job.expires) == ("waiting", "", None)


@proves("TD-02")
def test_jobs_with_equal_items_are_independent(thoonk: Any) -> None:
    steps, [first, second, third] = steps_of(thoonk, "same", "same", "same")
    for _ in range(3):
        steps.get(1)

    steps.cancel(third)
    steps.stall(second)
    steps.finish(first)

    assert steps.get_ids() == [third, second]


@proves("T-58")
def test_running_job_never_times_out(thoonk: Any, hr: Client, clock: Clock) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    since = clock.now

    clock.tick(timedelta(days=40))
    hr.sweep()

    tried(Empty, steps.get, 0.01)
    assert steps.get_claimed() == {job_id: since}


@proves("TD-16")
def test_cancelled_job_goes_to_the_back_in_spite_of_queue_settings(
    hr: Client, plain: Thoonk
) -> None:
    steps = plain.job("steps")
    hr.queue("steps").configure(returns="front")
    first, second = steps.put("A"), steps.put("B")
    steps.get(1)

    steps.cancel(first)

    assert [steps.get(1).id, steps.get(1).id] == [second, first]


@proves("TL-05", "T-50")
def test_cancelled_job_of_high_priority_goes_to_the_back(thoonk: Any) -> None:
    steps = thoonk.job("steps")
    steps.put("a")
    high = steps.put("H", steps.HIGH)
    assert steps.get(1).id == high

    steps.cancel(high)

    assert [steps.get(1).item for _ in range(2)] == ["a", "H"]
