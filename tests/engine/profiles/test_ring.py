"""ring: a job comes back whenever it is late, until a client finishes it by its id."""

from __future__ import annotations

import time

import pytest

import headrace
from headrace import Client, JobNotFound, LeaseLost, Put, Queue, WrongState
from headrace.engine.record import decode_record
from headrace.testing import Clock, settable_clock
from tests.proof import proves
from tests.support.channels import commands, meanwhile, until_listened_to
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


@pytest.fixture
def ring(hr: Client) -> Queue:
    queue = hr.queue("round")
    queue.configure(profile="ring")
    return queue


def names(hr: Client) -> set[str]:
    return {key.split("}:")[1] for key in dump(hr)} - {"agenda", "events", "log", "clock"}


@proves("R-02", "RD-01")
def test_a_popped_job_never_leaves_its_queue(hr: Client, ring: Queue, clock: Clock) -> None:
    job_id = ring.put("x")

    pop_one(ring)

    job = found(hr, job_id)
    assert (job.state, job.queue) == ("running", "round")
    assert job.expires is not None
    assert (job.expires - clock.now).total_seconds() == 30
    assert ring.length() == 1


@proves("R-03", "R-06")
def test_pop_skips_finished_jobs(hr: Client, ring: Queue, clock: Clock) -> None:
    done, late = ring.put("done"), ring.put("late")
    ring.pop("w", count=2)

    assert hr.finish(done) == "complete"
    clock.tick(30)

    assert drain(ring) == [late]


@proves("R-04")
def test_a_late_job_goes_to_the_next_worker_under_a_new_lease(
    hr: Client, ring: Queue, clock: Clock
) -> None:
    ring.put("x")
    former = pop_one(ring, "slow")
    clock.tick(31)

    present = pop_one(ring, "quick")

    assert (present.id, present.attempt) == (former.id, 2)
    job = found(hr, present.id)
    assert job.worker == "quick"
    assert job.expires is not None
    assert (job.expires - clock.now).total_seconds() == 30
    with pytest.raises(LeaseLost):
        former.heartbeat()


@proves("R-05")
def test_running_job_is_not_handed_out_and_not_changed(
    hr: Client, ring: Queue, clock: Clock
) -> None:
    ring.put("x")
    pop_one(ring)
    clock.tick(29.999)
    before = dump(hr)

    assert ring.pop("other") == []

    assert dump(hr) == before


@proves("R-07")
def test_unfinished_job_comes_back_without_limit(hr: Client, ring: Queue, clock: Clock) -> None:
    job_id = ring.put("x")

    for attempt in range(1, 101):
        lease = pop_one(ring)
        assert (lease.id, lease.attempt) == (job_id, attempt)
        clock.tick(30)

    assert found(hr, job_id).state == "running"


@proves("R-08", "RD-08")
def test_server_reports_lateness_to_the_millisecond(ring: Queue, clock: Clock) -> None:
    job_id = ring.put("x")
    pop_one(ring)

    clock.tick(29.999)
    assert ring.pop("w") == []
    clock.tick(0.001)
    assert ids(ring.pop("w")) == [job_id]


@proves("RD-08")
def test_the_clock_of_a_consumer_does_not_matter(
    ring: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring.put("x")
    pop_one(ring)
    actual = time.time

    monkeypatch.setattr(time, "time", lambda: actual() + 3600)

    assert ring.pop("w") == []
    monkeypatch.setattr(time, "time", lambda: actual() - 3600)
    clock.tick(30)
    assert len(ring.pop("w")) == 1


@proves("R-09")
def test_pop_waits_as_long_as_requested(hr: Client, ring: Queue) -> None:
    started = time.monotonic()
    assert ring.pop("w", wait=0.2) == []
    assert 0.2 <= time.monotonic() - started < 2

    with meanwhile(lambda: ids(ring.pop("w", wait=30))) as popped:
        until_listened_to(hr, "queue:round", listeners=2)
        job_id = ring.put("x")
    assert popped.result() == [job_id]


@proves("R-10")
def test_late_jobs_come_before_waiting_jobs_in_put_order(ring: Queue, clock: Clock) -> None:
    ring.put_many([Put(None, id=name) for name in "abcd"])
    ring.pop("w")
    clock.tick(1)
    ring.pop("w")
    clock.tick(30)

    assert drain(ring) == list("abcd")


@proves("R-12")
def test_late_worker_may_still_finish_the_job(hr: Client, ring: Queue, clock: Clock) -> None:
    job_id = ring.put("x")
    pop_one(ring, "slow")
    clock.tick(30)
    pop_one(ring, "quick")

    assert hr.finish(job_id) == "complete"

    before = dump(hr)
    with pytest.raises(JobNotFound):
        hr.finish(job_id)
    assert dump(hr) == before


@proves("R-12")
def test_job_that_is_not_running_cannot_be_finished(hr: Client, ring: Queue) -> None:
    job_id = ring.put("x")

    with pytest.raises(WrongState):
        hr.finish(job_id)

    assert ids(ring.pop("w")) == [job_id]


@proves("R-13", "R-16")
def test_pop_and_finish_are_all_a_consumer_needs(hr: Client, ring: Queue, clock: Clock) -> None:
    job_id = ring.put("x")

    assert ids(ring.pop("w")) == [job_id]
    assert ring.pop("w") == []
    clock.tick(30)
    assert ids(ring.pop("w")) == [job_id]
    hr.finish(job_id)
    clock.tick(3600)
    assert ring.pop("w") == []


@proves("R-14")
async def test_both_kinds_of_client_share_one_format(hr: Client, ring: Queue, url: str) -> None:
    job_id = ring.put({"by": "one that blocks"})
    namespace = hr.core.namespace
    [packed] = hr.core.transport.send([(0, ("GET", hr.core.key(0, f"job:{job_id}")))])
    record = decode_record(packed)
    assert (record.state, record.queue) == ("waiting", "round")

    library = settable_clock()
    async with await headrace.connect_async(url, namespace=namespace, library=library) as other:
        [lease] = await other.queue("round").pop("w")
        assert lease.data == {"by": "one that blocks"}
        assert await other.finish(job_id) == "complete"
    assert ring.length() == 0


@proves("R-15", "RD-06", "RD-07")
def test_finishing_removes_a_job_at_once_and_leaves_no_mark(hr: Client, ring: Queue) -> None:
    empty = names(hr)
    put = ring.put_many(["x" * 5000] * 20)
    assert {name.split(":")[0] for name in names(hr) - empty} == {"job", "data", "waiting", "books"}
    ring.pop("w", count=20)
    assert ring.length() == 20

    for job_id in put:
        hr.finish(job_id)

    assert names(hr) == empty | {"books:round"}
    assert ring.length() == 0


@proves("R-17", "RD-01", "RD-07")
def test_pop_and_finish_are_one_command_each(hr: Client, ring: Queue, url: str) -> None:
    put = ring.put_many(range(50))
    ring.pop("w", count=40)
    for job_id in put[:39]:
        hr.finish(job_id)

    with commands(url) as sent:
        [lease] = ring.pop("w")
        hr.finish(lease.id)

    assert lease.id == put[40]
    assert [line.split()[0] for line in sent] == ["FCALL", "FCALL"]


@proves("RD-02")
def test_running_jobs_are_not_in_the_way(ring: Queue) -> None:
    ring.put_many([Put(None, id="a"), Put(None, id="b")])
    pop_one(ring)

    assert ids(ring.pop("w")) == ["b"]


@proves("RD-09")
def test_a_worker_that_takes_longer_may_renew_its_lease(
    hr: Client, ring: Queue, clock: Clock
) -> None:
    ring.put("x")
    lease = pop_one(ring)
    for _ in range(5):
        clock.tick(29)
        lease.heartbeat()
        assert ring.pop("other") == []

    assert lease.complete() == "complete"
    assert hr.job(lease.id) is None
