"""heartbeat: the holder of a job, and nobody else, renews its lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobNotFound, LeaseLost, Queue
from headrace.testing import Clock
from tests.dump import dump
from tests.engine.shortcuts import found, ids, pop_one
from tests.proof import proves


@proves("Q-51")
def test_a_heartbeat_moves_the_deadline_and_returns_it(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(20)

    deadline = lease.heartbeat(lease_for=45)

    assert deadline == clock.now + timedelta(seconds=45)
    assert found(hr, "x").expires == deadline


@proves("Q-51", "Q-10")
def test_without_a_span_it_is_the_queues_own_lease(queue: Queue, clock: Clock) -> None:
    queue.put(1)
    lease = pop_one(queue, lease=5)

    assert lease.heartbeat() == clock.now + timedelta(seconds=60)


@proves("Q-51")
def test_where_leases_have_no_end_a_heartbeat_has_no_deadline(hr: Client, queue: Queue) -> None:
    queue.configure(lease=None)
    queue.put(1, id="x")
    lease = pop_one(queue)

    assert lease.heartbeat() is None
    assert (found(hr, "x").expires, queue.counts().late) == (None, 0)


@proves("Q-55")
def test_a_renewed_lease_protects_until_its_new_deadline(queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(29)
    lease.heartbeat(lease_for=30)

    clock.tick(29.999)
    assert queue.pop("w2") == []
    clock.tick(0.001)
    assert ids(queue.pop("w2")) == ["x"]


@proves("Q-51")
def test_a_heartbeat_may_shorten_the_lease(queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    pop_one(queue, lease=30).heartbeat(lease_for=1)
    clock.tick(1)

    assert ids(queue.pop("w2")) == ["x"]


@proves("Q-53")
@pytest.mark.parametrize("data", [{"at": 7}, None, [], "x" * 5000])
def test_a_heartbeat_may_replace_the_data(hr: Client, queue: Queue, data: Any) -> None:
    queue.put("old", id="x")
    lease = pop_one(queue)

    lease.heartbeat(data=data)

    assert found(hr, "x").data == data
    lease.release()
    assert pop_one(queue).data == data


@proves("Q-53")
def test_a_heartbeat_without_data_keeps_it(hr: Client, queue: Queue) -> None:
    queue.put("old", id="x")

    pop_one(queue).heartbeat()

    assert found(hr, "x").data == "old"


@proves("Q-52", "Q-53", "Q-54")
def test_who_lost_the_job_is_told_so_and_changes_nothing(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put("old", id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(30)
    queue.pop("w2")
    before = dump(hr)

    with pytest.raises(LeaseLost, match="stop working on it") as lost:
        lease.heartbeat(data="new")

    assert (lost.value.job_id, lost.value.state, lost.value.worker) == ("x", "running", "w2")
    assert dump(hr) == before


@proves("Q-52")
def test_a_job_that_is_gone_has_no_heartbeat(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.cancel("x")

    with pytest.raises(JobNotFound):
        lease.heartbeat()


@proves("Q-56", "QD-05")
def test_a_lease_that_ran_out_but_was_not_taken_over_may_still_be_renewed(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(3600)

    assert lease.heartbeat(lease_for=30) == clock.now + timedelta(seconds=30)
    assert queue.pop("w2") == []


@proves("Q-56", "QD-05")
def test_a_lease_that_ran_out_but_was_not_taken_over_may_still_be_completed(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(3600)

    assert lease.complete() == "complete"
    assert queue.pop("w2") == []


def test_many_leases_are_renewed_in_one_call_each_with_its_own_answer(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put_many([1, 2, 3])
    leases = queue.pop("w1", count=3, lease=30)
    leases[1].complete()
    hr.cancel(leases[2].id)

    renewed, lost, gone = hr.leases.heartbeat(leases, lease_for=60)

    assert renewed == clock.now + timedelta(seconds=60)
    assert isinstance(lost, LeaseLost)
    assert isinstance(gone, JobNotFound)


@proves("Q-04")
@pytest.mark.parametrize("span", [-1, float("inf"), "60", True])
def test_a_heartbeat_takes_a_span_of_time(hr: Client, queue: Queue, span: Any) -> None:
    queue.put(1)
    lease = pop_one(queue)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="lease_for"):
        lease.heartbeat(lease_for=span)

    assert dump(hr) == before
