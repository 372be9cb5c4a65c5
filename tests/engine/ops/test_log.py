"""log and progress: the holder of a job reports on it while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, LeaseLost, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, pop_one


@proves("QL-24")
def test_lines_are_kept_in_order_with_their_time(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    start = clock.now

    lease.log("began")
    clock.tick(5)
    lease.log("é\nsecond line\x00")

    assert found(hr, "x").log == [(start, "began"), (clock.now, "é\nsecond line\x00")]


@proves("QL-24")
def test_the_newest_hundred_lines_are_kept(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    for number in range(105):
        lease.log(f"{number}")

    assert [line for _, line in found(hr, "x").log] == [f"{number}" for number in range(5, 105)]


@proves("QL-24")
def test_job_keeps_its_log_through_attempts_and_queues(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    lease.log("first")
    lease.fail("flaky", retry_in=0)
    lease = pop_one(queue)
    lease.log("second")
    lease.complete(next="archive")
    lease = pop_one(hr.queue("archive"))
    lease.log("third")
    lease.complete()

    assert [line for _, line in found(hr, "x").log] == ["first", "second", "third"]


@proves("QL-24")
def test_a_line_that_is_too_long_is_cut(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).log("x" * 100_000)

    [(_, line)] = found(hr, "x").log
    assert (len(line), line[-6:]) == (1 << 16, "xx ...")


@proves("QL-24")
def test_the_history_keeps_its_first_entry_and_the_newest(hr: Client, queue: Queue) -> None:
    queue.configure(history=4, retries=None)
    queue.put(1, id="x")
    for number in range(10):
        pop_one(queue).fail(f"failure {number}", retry_in=0)

    past = [stage.failure for stage in found(hr, "x").history if stage.outcome]
    assert past == ["failure 0", "failure 7", "failure 8", "failure 9"]


@proves("QL-24")
def test_the_history_has_a_hundred_entries_at_most(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    for _ in range(103):
        pop_one(queue).release()

    past = [stage for stage in found(hr, "x").history if stage.outcome]
    assert (len(past), found(hr, "x").attempt) == (100, 103)


@proves("QL-24")
def test_a_lower_limit_cuts_the_history_when_something_is_added(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=None)
    for number in range(8):
        pop_one(queue).fail(f"failure {number}", retry_in=0)
    queue.configure(history=3)

    pop_one(queue).fail("last", retry_in=0)

    past = [stage.failure for stage in found(hr, "x").history if stage.outcome]
    assert past == ["failure 0", "failure 7", "last"]


def test_history_of_0_keeps_only_the_current_stage(hr: Client, queue: Queue) -> None:
    queue.configure(history=0)
    queue.put(1, id="x")
    for _ in range(3):
        pop_one(queue).release()
    assert [stage.outcome for stage in found(hr, "x").history] == [None]

    pop_one(queue).complete()
    assert [stage.outcome for stage in found(hr, "x").history] == ["completed"]


def test_progress_is_a_share_and_a_note_the_last_one_holds(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    assert (found(hr, "x").progress, found(hr, "x").note) == (None, "")
    lease = pop_one(queue)

    lease.progress(0.25, "a quarter")
    lease.progress(1)

    assert (found(hr, "x").progress, found(hr, "x").note) == (1.0, "")


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", True, None])
def test_progress_goes_from_0_to_1(hr: Client, queue: Queue, share: Any) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="share"):
        lease.progress(share)

    assert dump(hr) == before


@proves("QL-24", "Q-54")
def test_lost_lease_cannot_write_to_the_log(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue, lease=1)
    clock.tick(1)
    queue.pop("w2")
    before = dump(hr)

    with pytest.raises(LeaseLost):
        lease.log("late")
    with pytest.raises(LeaseLost):
        lease.progress(0.5)

    assert dump(hr) == before
