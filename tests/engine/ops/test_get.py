"""get: the present state of a job and its history."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from headrace import Client, InvalidArgument, Queue, Stage
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, ids, pop_one

SECOND = timedelta(seconds=1)


@proves("Q-35")
def test_unknown_id_returns_none(hr: Client) -> None:
    assert hr.job("nobody") is None


@proves("Q-35", "Q-70")
def test_a_running_job_shows_everything(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put({"to": "ada"}, id="x", priority=-2, tags=["vip"], retries=3)
    clock.tick(1)
    pop_one(queue, worker="host-7", lease=30)

    job = found(hr, "x")

    assert (job.id, job.queue, job.state) == ("x", "mail", "running")
    assert (job.priority, job.tags, job.data) == (-2, ["vip"], {"to": "ada"})
    assert (job.worker, job.expires) == ("host-7", clock.now + 30 * SECOND)
    assert (job.attempt, job.retries, job.remaining) == (1, 3, 3)
    assert job.history == [Stage("mail", clock.now - SECOND, clock.now, None, "host-7", None)]


@proves("Q-70")
def test_a_complete_job_has_no_queue_and_no_worker(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    pop_one(queue).complete()

    job = found(hr, "x")
    assert (job.state, job.queue, job.worker, job.expires) == ("complete", None, "", None)


@proves("Q-71", "QD-06")
def test_the_states_a_job_goes_through_have_these_names(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    def state() -> str:
        return found(hr, "x").state

    queue.put(1, id="x", delay=1)
    assert state() == "scheduled"
    clock.tick(1)
    lease = pop_one(queue)
    assert state() == "running"
    lease.release()
    assert state() == "waiting"
    pop_one(queue).fail("broken")
    assert state() == "failed"
    hr.retry("x")
    pop_one(queue).complete()
    assert state() == "complete"


@proves("Q-72")
def test_history_has_every_stage_and_attempt_oldest_first(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    start = clock.now
    queue.put(1, id="x")
    clock.tick(1)
    queue.pop("w1", lease=1)
    clock.tick(1)
    lease = pop_one(queue, worker="w2")
    clock.tick(1)
    lease.complete(next="archive")
    clock.tick(1)
    pop_one(hr.queue("archive"), worker="w3").fail("full", "no room")

    def at(seconds: int) -> datetime:
        return start + seconds * SECOND

    assert found(hr, "x").history == [
        Stage("mail", start, at(1), at(2), "w1", "lost"),
        Stage("mail", start, at(2), at(3), "w2", "completed"),
        Stage("archive", at(3), at(4), at(4), "w3", "failed", "full", "no room"),
    ]


@proves("Q-72")
def test_times_that_are_not_reached_are_absent(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")

    assert found(hr, "x").history == [Stage("mail", clock.now, None, None, "", None)]


@proves("QD-10")
def test_timestamps_are_exact_to_the_millisecond(hr: Client, queue: Queue, clock: Clock) -> None:
    clock.tick(0.123)
    queue.put(1, id="x")
    clock.tick(0.001)
    pop_one(queue).complete()

    [stage] = found(hr, "x").history
    assert (stage.put, stage.popped) == (clock.now - timedelta(milliseconds=1), clock.now)


@proves("QL-23")
def test_many_jobs_are_read_in_the_order_asked_for(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    queue.put("x" * 5000, id="b")
    queue.put(3, id="c")

    jobs = hr.jobs(["c", "nobody", "b", "a"])

    assert ids(jobs) == ["c", "b", "a"]
    assert [len(job.payload) for job in jobs] == [1, 5002, 1]


def test_reading_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    before = dump(hr)

    hr.jobs(["x", "nobody"])

    assert dump(hr) == before


@proves("Q-04")
@pytest.mark.parametrize("job_id", ["", 5, None, "a\nb"])
def test_an_id_must_be_a_text(hr: Client, job_id: str) -> None:
    with pytest.raises(InvalidArgument, match="id"):
        hr.job(job_id)
