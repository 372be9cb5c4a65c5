"""pop: which worker gets which job, and when. test_pop_limits.py tests retries and bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, LeaseLost, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


@proves("Q-36")
def test_up_to_count_jobs_are_handed_out(queue: Queue) -> None:
    queue.put_many(range(5))

    assert [lease.data for lease in queue.pop("w1", count=3)] == [0, 1, 2]
    assert [lease.data for lease in queue.pop("w1", count=3)] == [3, 4]


@proves("Q-41")
def test_pop_from_a_missing_queue_returns_an_empty_list_and_creates_nothing(
    hr: Client, queue: Queue
) -> None:
    before = dump(hr)

    assert queue.pop("w1") == []

    assert dump(hr) == before


@proves("Q-42", "Q-50", "Q-71")
def test_a_popped_job_runs_with_its_worker_until_its_lease_ends(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    clock.tick(3)
    lease = pop_one(queue, worker="w1", lease=30)

    job = found(hr, "x")
    assert (job.state, job.worker) == ("running", "w1")
    assert job.expires == clock.now + timedelta(seconds=30)
    assert (lease.popped_at, lease.attempt) == (clock.now, 1)
    [stage] = job.history
    assert (stage.popped, stage.worker) == (clock.now, "w1")
    assert (queue.counts().waiting, queue.counts().running) == (0, 1)
    assert (queue.stats().wait.count, queue.stats().wait.mean) == (1, 3.0)


@proves("Q-43", "Q-50")
def test_leased_job_is_not_handed_out_again(queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    queue.pop("w1", lease=30)

    clock.tick(29.999)

    assert queue.pop("w2") == []
    assert queue.pop("w1") == []


@proves("Q-39")
def test_lease_expires_at_its_deadline_not_after(queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    queue.pop("w1", lease=30)

    clock.tick(30)

    assert ids(queue.pop("w2")) == ["x"]


@proves("Q-37", "Q-38")
def test_late_jobs_come_first_the_earliest_deadline_before_all_priorities(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="late", priority=9)
    queue.put(1, id="later", priority=5)
    queue.put(1, id="longer", priority=7)
    queue.pop("w1", lease=30)
    queue.pop("w1", lease=10)
    queue.pop("w1", lease=20)
    queue.put(1, id="urgent", priority=-(10**9))

    clock.tick(30)

    assert drain(queue, "w2") == ["longer", "late", "later", "urgent"]


@proves("Q-37")
def test_late_jobs_of_one_deadline_come_back_in_the_order_of_their_queue(
    queue: Queue, clock: Clock
) -> None:
    for name, priority in (("c", 0), ("a", 0), ("b", -1)):
        queue.put(1, id=name, priority=priority)
    queue.pop("w1", count=3, lease=30)

    clock.tick(30)

    assert ids(queue.pop("w2", count=2)) == ["b", "c"]
    assert ids(queue.pop("w2")) == ["a"]


@proves("Q-37", "Q-40")
def test_one_pop_takes_late_jobs_then_due_and_waiting_ones_by_priority(
    queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="late", priority=3)
    queue.pop("w1", lease=10)
    queue.put(1, id="due", priority=-1, delay=10)
    queue.put(1, id="waiting", priority=0)
    queue.put(1, id="due too", priority=1, delay=5)
    queue.put(1, id="not due", priority=-5, delay=11)

    clock.tick(10)

    assert ids(queue.pop("w2", count=10)) == ["late", "due", "waiting", "due too"]


@proves("Q-87")
def test_every_due_job_is_considered_before_one_is_chosen(queue: Queue, clock: Clock) -> None:
    for number in range(600):
        queue.put(number, id=f"early {number}", delay=1)
    queue.put(1, id="urgent", delay=2, priority=-1)

    clock.tick(2)

    assert ids(queue.pop("w1")) == ["urgent"]
    assert queue.counts().due == 0


@proves("Q-44", "QD-18")
@pytest.mark.parametrize("second_worker", ["w2", "w1"])
def test_reclaimed_job_belongs_to_the_new_lease_even_of_the_same_worker(
    hr: Client, queue: Queue, clock: Clock, second_worker: str
) -> None:
    queue.put(1, id="x")
    first = pop_one(queue, worker="w1", lease=30)
    clock.tick(30)
    second = pop_one(queue, worker=second_worker, lease=30)
    before = dump(hr)

    for operation in (first.heartbeat, first.complete, first.release):
        with pytest.raises(LeaseLost) as lost:
            operation()
        assert (lost.value.state, lost.value.worker) == ("running", second_worker)

    assert dump(hr) == before
    assert (second.attempt, second.complete()) == (2, "complete")


@proves("QD-18")
def test_every_delivery_has_a_token_of_its_own(queue: Queue, clock: Clock) -> None:
    queue.put(1)
    tokens = set()
    for _ in range(5):
        tokens.add(pop_one(queue, lease=1).token)
        clock.tick(1)

    assert len(tokens) == 5
    assert all(len(token) >= 16 for token in tokens)


@proves("Q-45", "QL-25")
def test_a_takeover_counts_as_a_retry_of_that_queue_and_day(queue: Queue, clock: Clock) -> None:
    queue.put(1)
    queue.pop("w1", lease=30)
    assert queue.stats().retries == 0

    clock.tick(30)
    queue.pop("w2")

    assert queue.stats().retries == 1


@proves("Q-47")
def test_pop_and_peek_without_a_count_return_at_most_one_job(queue: Queue) -> None:
    queue.put_many([1, 2])

    assert len(queue.pop("w1")) == 1
    assert len(queue.peek()) == 1
    queue.pop("w1")
    assert (queue.pop("w1"), queue.peek()) == ([], [])


@proves("Q-10")
def test_default_lease_is_that_of_the_queue_60_seconds(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    queue.pop("w1")
    assert found(hr, "x").expires == clock.now + timedelta(seconds=60)

    queue.configure(lease=5)
    queue.put(1, id="y")
    queue.pop("w1")
    assert found(hr, "y").expires == clock.now + timedelta(seconds=5)


@proves("Q-57")
@pytest.mark.parametrize("worker", ["", None, 7, "a\x00b", "w" * 251])
def test_worker_name_must_be_valid(hr: Client, queue: Queue, worker: Any) -> None:
    queue.put(1)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="worker"):
        queue.pop(worker)

    assert dump(hr) == before


@proves("QD-12", "Q-04")
@pytest.mark.parametrize("count", [0, -1, 501, 1.0, True, "1", None])
def test_a_count_is_a_whole_number_from_1_to_500(hr: Client, queue: Queue, count: Any) -> None:
    queue.put_many([1, 2])
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="count"):
        queue.pop("w1", count=count)

    assert dump(hr) == before


@proves("Q-04")
@pytest.mark.parametrize("span", [-1, float("nan"), "30", True, timedelta(seconds=-1)])
def test_lease_must_be_a_duration(hr: Client, queue: Queue, span: Any) -> None:
    queue.put(1)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="lease"):
        queue.pop("w1", lease=span)

    assert dump(hr) == before


@proves("Q-50", "Q-01")
def test_concurrent_pops_hand_out_each_job_once(queue: Queue) -> None:
    queue.put_many(range(400))

    def work(worker: str) -> list[int]:
        taken: list[int] = []
        while leases := queue.pop(worker, count=3):
            taken += [lease.data for lease in leases]
        return taken

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(work, [f"w{number}" for number in range(8)]))

    assert sorted(data for share in shares for data in share) == list(range(400))


@proves("QL-19")
def test_paused_queue_delivers_no_job_and_accepts_other_calls(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="held")
    lease = pop_one(queue, lease=10)
    queue.put(1, id="late")
    queue.pop("w1", lease=5)
    queue.pause()

    queue.put(1, id="put")
    clock.tick(5)
    assert queue.pop("w2", count=5) == []
    assert ids(queue.peek(5)) == ["late", "put"]
    lease.heartbeat()
    assert lease.complete() == "complete"
    assert hr.cancel("put") == ["put"]
    assert queue.counts().paused

    queue.resume()
    assert not queue.counts().paused
    assert drain(queue, "w2") == ["late"]
