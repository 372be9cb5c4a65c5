"""Limits of queues and keys: how many jobs run, how many start, and which job comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Lease, Put, Queue
from headrace.engine.call import Call, build
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.proof import proves


def data(queue: Queue, count: int = 100, worker: str = "ada") -> list[object]:
    return [lease.data for lease in queue.pop(worker, count=count)]


def pop_all(queue: Queue, worker: str = "ada") -> list[Lease]:
    """Pop all jobs that may start; one pop hands out a bounded number."""
    held: list[Lease] = []
    while leases := queue.pop(worker, count=500):
        held += leases
    return held


# a queue


@proves("QL-20")
def test_no_more_run_than_the_queue_allows(queue: Queue) -> None:
    queue.configure(concurrency=2)
    queue.put_many([1, 2, 3])

    one, _ = queue.pop("ada", count=5)
    assert queue.pop("bob") == []
    one.complete()
    assert data(queue) == [3]


@proves("QL-20")
def test_lower_limit_does_not_stop_running_jobs(queue: Queue) -> None:
    queue.put_many([1, 2, 3, 4])
    leases = queue.pop("ada", count=3)
    queue.configure(concurrency=1)

    assert [lease.heartbeat() is not None for lease in leases] == [True] * 3
    leases[0].complete()
    leases[1].complete()
    assert data(queue) == []
    leases[2].complete()
    assert data(queue) == [4]


@proves("QL-20")
def test_a_lease_that_ran_out_does_not_count(queue: Queue, clock: Clock) -> None:
    queue.configure(concurrency=1, lease=10)
    queue.put_many([1, 2])
    queue.pop("ada")
    clock.tick(10)

    [again] = queue.pop("bob", count=5)
    assert (again.data, again.attempt) == (1, 2)


def test_rate_limits_how_many_jobs_start_per_interval(queue: Queue, clock: Clock) -> None:
    queue.configure(rate="3/m", lease=None)
    queue.put_many(range(10))

    assert data(queue) == [0, 1, 2]
    clock.tick(19.999)
    assert data(queue) == []
    clock.tick(0.001)
    assert data(queue) == [3]
    clock.tick(600)
    assert data(queue) == [4, 5, 6]


def test_rate_of_0_lets_no_job_start(queue: Queue, clock: Clock) -> None:
    queue.configure(rate="0/s")
    queue.put(1)
    clock.tick(10**6)
    assert data(queue) == []
    queue.configure(rate=None)
    assert data(queue) == [1]


@pytest.mark.parametrize("rate", ["3/m", "1000000/s", "1/366d", "7/3s", "250/150ms"])
def test_a_rate_is_shown_as_it_was_given(queue: Queue, rate: str) -> None:
    queue.configure(rate=rate)
    assert queue.settings()["rate"] == rate


@pytest.mark.parametrize(
    "rate", ["", "3", "3/", "x/s", "3/0s", "3/400d", "-1/s", "1.5/s", 3, b"3/s"]
)
def test_invalid_rate_is_refused(queue: Queue, rate: str) -> None:
    with pytest.raises(InvalidArgument, match=r"10/s|366 days"):
        queue.configure(rate=rate)


@pytest.mark.parametrize("name", ["concurrency", "rate", "key_concurrency", "key_rate", "fair"])
def test_limits_are_of_a_queue_not_of_the_namespace(hr: Client, name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"queue\.configure"):
        hr.config.set(name, 1)
    assert name not in hr.config.get()


# keys


def test_no_more_run_of_a_key_than_are_allowed_to(queue: Queue) -> None:
    queue.configure(key_concurrency=1)
    queue.put_many([Put(f"{key}{n}", key=key) for n in range(2) for key in "ab"])
    queue.put("free")

    first, *_ = leases = queue.pop("ada", count=10)
    assert [lease.data for lease in leases] == ["a0", "b0", "free"]
    first.complete()
    assert data(queue) == ["a1"]


def test_a_key_has_its_own_rate(queue: Queue, clock: Clock) -> None:
    queue.configure(key_rate="1/s")
    queue.put_many([Put(f"{key}{n}", key=key) for n in range(3) for key in "ab"])

    assert data(queue) == ["a0", "b0"]
    clock.tick(0.5)
    assert data(queue) == []
    clock.tick(0.5)
    assert data(queue) == ["a1", "b1"]


def test_key_with_many_jobs_does_not_delay_other_keys(queue: Queue) -> None:
    queue.configure(fair=True)
    queue.put_many([Put(("big", n), key="big") for n in range(3000)])
    queue.put_many([Put((key, n), key=str(key)) for key in range(99) for n in range(10)])

    served = [lease.data for _ in range(12) for lease in queue.pop("ada", count=166)]
    others = [item for item in served if item[0] != "big"]
    assert len(others) == 990
    assert max(served.index([key, 9]) for key in range(99)) < 1100


def test_fair_turns_are_taken_within_a_priority(queue: Queue) -> None:
    queue.configure(fair=True)
    queue.put_many([Put(f"a{n}", key="a", priority=-1) for n in range(3)])
    queue.put_many([Put(f"b{n}", key="b") for n in range(2)])

    assert data(queue) == ["a0", "a1", "a2", "b0", "b1"]


def test_jobs_put_before_the_limit_keep_their_order(queue: Queue) -> None:
    queue.put_many(range(1200))
    queue.put_many([Put(("a", n), key="a") for n in range(5)])
    queue.put("last")
    queue.configure(key_concurrency=2)

    served = [lease.data for lease in pop_all(queue)]
    assert served == [*range(1200), ["a", 0], ["a", 1], "last"]


@pytest.mark.parametrize(
    "way", ["complete", "fail", "retry", "release", "cancel", "timeout", "late"]
)
def test_every_way_to_finish_a_job_frees_its_slot(
    hr: Client, queue: Queue, clock: Clock, way: str
) -> None:
    queue.configure(key_concurrency=1, lease=30)
    first = queue.put(1, key="a")
    queue.put(2, key="a")
    [lease] = queue.pop("ada")
    assert queue.pop("bob") == []
    ways: dict[str, Callable[[], object]] = {
        "complete": lease.complete,
        "fail": lambda: lease.fail("bug"),
        "retry": lambda: lease.fail("bug", retry_in=60),
        "release": lambda: lease.release(delay=60),
        "cancel": lambda: hr.cancel(first),
        "timeout": lambda: hr.timeout(first),
        "late": lambda: clock.tick(30),
    }
    ways[way]()

    [after] = queue.pop("bob", count=5)
    assert after.data == (1 if way in ("timeout", "late") else 2)


def test_waiting_worker_is_woken_by_a_freed_slot(hr: Client, queue: Queue) -> None:
    queue.configure(key_concurrency=1)
    queue.put_many([Put(n, key="a") for n in range(2)])
    [lease] = queue.pop("ada")
    assert queue.pop("bob") == []
    subscription = hr.core.transport.subscribe([hr.core.channel(0, "queue", queue.name)])

    lease.complete()
    assert [message for _, message in subscription.receive(5)] == [b"work 1"]
    subscription.disconnect()


def test_peek_shows_the_jobs_that_pop_would_hand_out(queue: Queue) -> None:
    queue.configure(key_concurrency=2, fair=True)
    queue.put_many([Put(f"{key}{n}", key=key) for key in "ab" for n in range(4)])
    queue.put_many(["x", "y"], priority=1)

    seen = [job.data for job in queue.peek(10)]
    assert seen == ["a0", "b0", "a1", "b1", "x", "y"]
    assert data(queue) == seen


def test_peek_shows_no_job_of_a_key_at_or_over_its_limit(queue: Queue) -> None:
    queue.configure(key_concurrency=2)
    queue.put_many([Put(n, key="a") for n in range(6)])
    queue.pop("ada", count=2)
    assert queue.peek(10) == []
    queue.configure(key_concurrency=1)
    assert queue.peek(10) == []


def pop_once(hr: Client, queue: Queue, count: int) -> list[Any]:
    """Call the script once, even if the reply asks a client to call again."""
    call: Call[list[Any]] = build(
        "pop",
        list,
        queue=queue.name,
        worker="ada",
        secret=queue.name,
        count=count,
        lease=-1,
        offer=0,
    )
    return drive(hr.core.transport, ask_one(hr.core, 0, call))


def test_pop_does_not_ask_for_another_call_after_the_rate_was_lowered(
    hr: Client, queue: Queue
) -> None:
    hr.throttles.set("closed", concurrency=0)
    queue.put(0, throttles=["closed"])
    queue.put_many([1, 2, 3])
    queue.configure(rate="3/2s")
    queue.pop("ada", count=2)
    queue.configure(rate="1/s")  # Two jobs have started, twice as many as the new rate allows.

    due, *_ = pop_once(hr, queue, 1)
    assert due == 1000


def parked(hr: Client, queue: Queue) -> int:
    [found] = hr.core.transport.send([(0, ("ZCARD", hr.core.key(0, f"gated:{queue.name}")))])
    return int(found)


def test_call_examines_a_bounded_number_of_keys_at_their_limit(hr: Client, queue: Queue) -> None:
    queue.configure(key_concurrency=1)
    queue.put_many([Put(n, key=str(n)) for n in range(1000)])
    held = pop_all(queue)
    queue.put_many([Put(n, key=str(n)) for n in range(1000)])

    assert pop_once(hr, queue, 500) == [0, []]
    assert 0 < parked(hr, queue) <= 256
    assert queue.pop("ada", count=500) == []
    assert parked(hr, queue) == 1000

    queue.configure(key_concurrency=2)
    assert len(pop_once(hr, queue, 500)[2::2]) <= 256
    assert 1000 - 256 <= parked(hr, queue) < 1000
    assert len(pop_all(queue)) >= 1000 - 256
    assert parked(hr, queue) == 0
    assert len(held) == 1000


def test_a_sweep_forgets_rates_that_are_no_longer_used(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(key_rate="1/s")
    queue.put_many([Put(n, key=str(n)) for n in range(600)])
    queue.pop("ada", count=500)
    clock.tick(2)

    hr.sweep()
    [left] = hr.core.transport.send([(0, ("EXISTS", hr.core.key(0, "rates:mail")))])
    assert left == 0


def test_late_jobs_over_their_limit_become_waiting(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(lease=1)
    queue.put_many(range(450), throttles=["t"])
    assert len(pop_all(queue)) == 450
    hr.throttles.set("t", concurrency=0)
    clock.tick(2)

    assert pop_once(hr, queue, 1)[1:] == [[]]
    assert 0 < queue.counts().waiting <= 200
    assert queue.pop("bob") == []
    assert queue.counts().waiting == 450


def test_pop_reports_when_a_throttle_expires(hr: Client, queue: Queue) -> None:
    hr.throttles.set("t", concurrency=0, ttl=7)
    queue.put(1, throttles=["t"])
    assert pop_once(hr, queue, 1) == [7000, []]


def test_pop_reports_when_a_shortened_lease_frees_a_throttle(hr: Client) -> None:
    hr.throttles.set("t", concurrency=1)
    one, two = hr.queue("one"), hr.queue("two")
    one.put(1, throttles=["t"])
    two.put(2, throttles=["t"])
    [lease] = one.pop("ada", lease=60)
    assert pop_once(hr, two, 1) == [60_000, []]
    lease.heartbeat(lease_for=1)
    assert pop_once(hr, two, 1) == [1000, []]
