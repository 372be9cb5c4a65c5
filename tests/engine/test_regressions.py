"""Regression tests for faults that the state machine has found."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.operations.putting import put_call
from headrace.testing import Clock
from tests.support.channels import listening


def test_a_replaced_job_has_the_retries_it_was_replaced_with(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put("old", id="a", retries=None)
    queue.put("new", id="a", retries=1, on_exists="replace")
    for attempt in (1, 2):
        [lease] = queue.pop("w1", lease=5)
        assert lease.attempt == attempt
        clock.tick(5)
    assert queue.pop("w1") == []
    assert hr.failures.counts() == {"retries exhausted": 1}


def test_a_late_job_of_a_dead_worker_wakes_one_worker_not_two(
    hr: Client, url: str, queue: Queue, clock: Clock
) -> None:
    hr.session("ada", ttl=3)
    queue.put("x")
    queue.pop("ada", lease=1)
    clock.tick(3)
    with listening(hr, url, "queue:mail") as listener:
        hr.sweep()
        assert listener.messages() == ["work 1"]


def test_pop_with_a_lease_of_0_delivers_each_job_once(hr: Client, queue: Queue) -> None:
    queue.put_many(["x", "y"])
    queue.pop("ada", lease=0)
    leases = queue.pop("bob", count=3, lease=0)
    assert [(lease.data, lease.attempt) for lease in leases] == [("x", 2), ("y", 1)]
    assert hr.leases.complete(leases) == ["complete", "complete"]


def test_a_repeated_duplicate_is_not_made_twice_though_its_model_has_expired(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put("first", id="a", start_within=2)
    clock.tick(2)
    core = hr.core
    call = put_call("mail", [("a", b'"second"', "second", None)], {}, "duplicate")
    assert core.transport.send([(0, core.words(0, call))]) == [[2]]
    assert hr.job("a") is None

    assert core.transport.send([(0, core.words(0, call, again=True))]) == [[2]]
    assert [job.id for job in queue.jobs("waiting").jobs] == ["second"]


def test_first_tag_is_deleted_with_a_job_that_is_pruned_in_the_same_call(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(keep_age=60)
    queue.put("x", id="a")
    hr.leases.complete(queue.pop("ada"))
    clock.tick(60)

    hr.tags.add("a", "vip")

    assert (hr.job("a"), hr.tags.top(least=1), hr.tags.jobs("vip").total) == (None, {}, 0)
    assert hr.audit().problems == []
