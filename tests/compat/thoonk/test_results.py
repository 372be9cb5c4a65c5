"""Results: the result of a job and its item, taken once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client
from headrace.compat.thoonk import NO_RESULT, Empty, Thoonk
from headrace.testing import Clock
from tests.compat.thoonk.support.steps import begun, keys, steps_of, tried
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.dump import dump


@proves("T-45", "T-47", "TD-13")
@pytest.mark.parametrize(("item", "result"), [("item", "result"), ("a\0b", "c\0d"), ("", "\0")])
def test_result_is_returned_with_the_item(thoonk: Any, item: str, result: str) -> None:
    steps, [job_id] = steps_of(thoonk, item)
    steps.get(1)

    steps.finish(job_id, result)

    assert steps.get_result(job_id, 1) == (item, result)


@proves("T-46")
@pytest.mark.parametrize("result", [None, "", [], 0, False])
def test_empty_result_is_a_result(thoonk: Any, result: Any) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)

    steps.finish(job_id, result)

    assert steps.get_result(job_id, 1) == ("item", result)


@proves("T-46")
@pytest.mark.parametrize("given", [(), (NO_RESULT,)])
def test_job_finished_without_a_result_has_none(thoonk: Any, given: Any) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)

    steps.finish(job_id, *given)

    tried(Empty, steps.get_result, job_id, 0.01)


@proves("T-47", "T-48")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
def test_get_result_waits_for_a_running_job(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    asking = begun(steps.get_result, job_id, *span)
    until_listened_to(hr, "ended:")

    elsewhere = Thoonk(hr).job("steps")
    elsewhere.get(1)
    elsewhere.finish(job_id, "result")

    assert asking.result(20) == ("item", "result")


@proves("T-48")
def test_result_is_taken_once(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    steps.finish(job_id, "result")

    elsewhere = Thoonk(hr).job("steps")
    assert elsewhere.get_result(job_id, 1) == ("item", "result")

    tried(Empty, steps.get_result, job_id, 0.01)
    assert not {key for key in keys(hr) if job_id in key}


@proves("T-47")
def test_get_result_timeout_changes_nothing(thoonk: Any, hr: Client) -> None:
    steps, [job_id, stalled] = steps_of(thoonk, "item", "stalled")
    steps.get(1)
    steps.get(1)
    steps.stall(stalled)
    before = dump(hr)

    for one in (job_id, stalled, "bogus"):
        assert "no result" in tried(Empty, steps.get_result, one, 0.01)

    assert dump(hr) == before


@proves("TD-14")
def test_result_expires_after_a_day(thoonk: Any, hr: Client, clock: Clock) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    steps.finish(job_id, "result")
    assert {key for key in keys(hr) if job_id in key}

    clock.tick(timedelta(days=1, seconds=1))
    hr.sweep()

    assert not {key for key in keys(hr) if job_id in key}
    tried(Empty, steps.get_result, job_id, 0.01)


@proves("T-44", "T-57")
def test_finished_job_with_a_result_has_no_item(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    steps.finish(job_id, "result")
    before = dump(hr)

    assert steps.get_item(job_id) is None
    assert not steps.has_id(job_id)
    steps.retract(job_id)

    assert dump(hr) == before


@proves("T-47")
def test_get_result_does_not_wait_for_an_impossible_result(thoonk: Any) -> None:
    steps, ids = steps_of(thoonk, "without", "taken")
    without, taken = ids
    for _ in ids:
        steps.get(1)
    steps.finish(without)
    steps.finish(taken, "result")
    steps.get_result(taken, 1)

    for one in (without, taken, "bogus"):
        with pytest.raises(Empty, match="not in this feed or was finished without"):
            begun(steps.get_result, one, 20).result(10)


@proves("T-48")
def test_result_is_taken_only_from_its_own_feed(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    other = thoonk.job("other")
    steps.get(1)
    steps.finish(job_id, "result")
    before = dump(hr)

    tried(Empty, other.get_result, job_id, 0.01)

    assert dump(hr) == before
    assert steps.get_result(job_id, 1) == ("item", "result")


@proves("T-47", "T-55", "T-56")
def test_get_result_keeps_waiting_through_stall_and_retry(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)

    asking = begun(steps.get_result, job_id, 60)
    until_listened_to(hr, "ended:")
    steps.stall(job_id)
    # The waiting client reads the state again when it receives the notice of the failure.
    assert not asking.done()
    steps.retry(job_id)
    assert steps.get(1).id == job_id
    steps.finish(job_id, "result")

    assert asking.result(20) == ("item", "result")


@proves("T-47", "T-55")
def test_get_result_of_a_stalled_job_waits_for_its_retry(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = steps_of(thoonk, "item")
    steps.get(1)
    steps.stall(job_id)

    asking = begun(steps.get_result, job_id, 60)
    until_listened_to(hr, "ended:")
    steps.retry(job_id)
    steps.get(1)
    steps.finish(job_id)

    with pytest.raises(Empty):
        asking.result(20)
