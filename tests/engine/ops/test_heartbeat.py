"""heartbeat: only the holder of a job renews its lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.jobs import found, ids, pop_one


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
def test_heartbeat_without_a_duration_uses_the_lease_of_the_queue(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1)
    lease = pop_one(queue, lease=5)

    assert lease.heartbeat() == clock.now + timedelta(seconds=60)


@proves("Q-51")
def test_heartbeat_has_no_deadline_if_leases_have_none(hr: Client, queue: Queue) -> None:
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
def test_heartbeat_without_data_keeps_the_data(hr: Client, queue: Queue) -> None:
    queue.put("old", id="x")

    pop_one(queue).heartbeat()

    assert found(hr, "x").data == "old"


@proves("Q-56", "QD-05")
def test_expired_lease_may_be_renewed_until_the_job_is_reclaimed(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(3600)

    assert lease.heartbeat(lease_for=30) == clock.now + timedelta(seconds=30)
    assert queue.pop("w2") == []


@proves("Q-56", "QD-05")
def test_expired_lease_may_complete_until_the_job_is_reclaimed(queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=30)
    clock.tick(3600)

    assert lease.complete() == "complete"
    assert queue.pop("w2") == []
