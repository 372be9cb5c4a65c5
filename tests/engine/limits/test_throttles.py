"""Throttles: limits by name, shared by queues."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Lease, Queue, Throttle
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump


@proves("QL-21")
def test_queues_share_a_throttle(hr: Client) -> None:
    hr.throttles.set("api", concurrency=1)
    one, two = hr.queue("one"), hr.queue("two")
    one.put("first", throttles=["api"])
    two.put("second", throttles=["api"])
    two.put("free")

    [lease] = one.pop("ada")
    assert [other.data for other in two.pop("bob", count=5)] == ["free"]
    lease.complete()
    assert [other.data for other in two.pop("bob", count=5)] == ["second"]


@proves("QL-21")
def test_a_job_keeps_all_its_throttles_and_its_queues_limit(hr: Client, queue: Queue) -> None:
    hr.throttles.set("a", concurrency=1)
    hr.throttles.set("b", concurrency=2)
    queue.configure(concurrency=3)
    queue.put_many([1, 2], throttles=["a", "b"])
    queue.put_many([3, 4], throttles=["b"])
    queue.put_many([5, 6])

    assert [lease.data for lease in queue.pop("ada", count=10)] == [1, 3, 5]


@proves("QL-21")
def test_new_maximum_takes_effect_at_once(hr: Client, queue: Queue) -> None:
    hr.throttles.set("api", concurrency=1)
    queue.put_many(range(4), throttles=["api"])
    assert len(queue.pop("ada", count=9)) == 1
    hr.throttles.set("api", concurrency=3)
    assert len(queue.pop("ada", count=9)) == 2
    hr.throttles.set("api", concurrency=1)
    assert queue.pop("ada", count=9) == []


@proves("QL-21")
def test_throttle_may_have_an_expiry(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.throttles.set("api", concurrency=0, ttl=60)
    queue.put(1, throttles=["api"])
    assert queue.pop("ada") == []
    assert hr.throttles.get("api").expires_in == 60
    clock.tick(60)

    hr.sweep()
    assert [lease.data for lease in queue.pop("ada")] == [1]
    assert hr.throttles.list() == []


@proves("QL-21")
def test_throttle_lists_running_and_waiting_jobs(hr: Client, queue: Queue) -> None:
    hr.throttles.set("api", concurrency=2, rate="100/m")
    ids = queue.put_many(range(3), throttles=["api"])
    queue.pop("ada", count=3)

    assert hr.throttles.get("api") == Throttle(
        name="api",
        concurrency=2,
        rate="100/m",
        expires_in=None,
        running=2,
        holders=sorted(ids[:2]),
        held_up=["mail"],
    )
    assert hr.throttles.list() == ["api"]


def test_unset_throttle_limits_nothing(hr: Client, queue: Queue) -> None:
    queue.put_many(range(3), throttles=["free"])
    assert len(queue.pop("ada", count=5)) == 3
    assert hr.throttles.get("free").concurrency is None
    assert hr.throttles.delete("free") is False


def test_deleted_throttle_limits_nothing(hr: Client, queue: Queue) -> None:
    hr.throttles.set("api", rate="1/d")
    queue.put_many(range(3), throttles=["api"])
    assert len(queue.pop("ada", count=5)) == 1
    assert hr.throttles.delete("api") is True
    assert len(queue.pop("ada", count=5)) == 2


@pytest.mark.parametrize("concurrency", ["1", 1.5, -1, True])
def test_invalid_maximum_is_refused(hr: Client, concurrency: int) -> None:
    before = dump(hr)
    with pytest.raises(InvalidArgument, match="concurrency"):
        hr.throttles.set("api", concurrency=concurrency)
    assert dump(hr) == before


@pytest.mark.parametrize("throttles", ["api", [""], [5], [f"t{n}" for n in range(9)]])
def test_throttles_of_a_job_are_a_few_names(queue: Queue, throttles: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="throttle"):
        queue.put(1, throttles=throttles)


# why a job waits


def test_why_waiting_names_the_key_that_has_reached_its_limit(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(key_concurrency=3)
    for lease in pop_after_put(queue, 3):
        clock.tick(8)
        lease.complete()
    ids = queue.put_many(range(5), key="acme")
    queue.pop("ada", count=3)
    clock.tick(4)

    assert hr.why_waiting(ids[3]) == "key acme: 3 of 3 running, next slot in about 12 s"
    assert hr.why_waiting(ids[4]).endswith("about 12 s; 1 job is before it")
    assert hr.why_waiting(ids[0]) == "the job is not waiting: worker ada runs the job"


def pop_after_put(queue: Queue, count: int) -> list[Lease]:
    queue.put_many(range(count), key="acme")
    return queue.pop("ada", count=count)


def test_every_reason_has_a_text(hr: Client, queue: Queue) -> None:
    hr.throttles.set("api", rate="1/m")
    queue.configure(concurrency=2, rate="100/h")
    first, second, third = queue.put_many(range(3), throttles=["api"])
    [lease] = queue.pop("ada", count=3)
    assert hr.why_waiting(second) == "throttle api: 1/m used up, next start in 60 s"
    queue.configure(concurrency=1)
    queue.pause()
    assert hr.why_waiting(third) == (
        "queue mail is paused; queue mail: 1 of 1 running, next slot in about 60 s; "
        "throttle api: 1/m used up, next start in 60 s; 1 job is before it"
    )
    lease.complete()
    assert hr.why_waiting(first) == "the job is not waiting: its state is complete"
    later = queue.put(1, delay=5)
    assert hr.why_waiting(later).startswith("scheduled: due at 2026-01-01 00:00:05")
    parent = queue.put(1, id="parent")
    blocked = queue.put(2, depends_on=[parent])
    assert hr.why_waiting(blocked) == "blocked: job parent not complete yet"
    queue.resume()
    queue.configure(concurrency=None)
    queue.pop("ada", count=5)
    plain = queue.put(1)
    assert hr.why_waiting(plain) == "nothing: the next pop of queue mail gets the job"
    with pytest.raises(JobNotFound):
        hr.why_waiting("unknown")
