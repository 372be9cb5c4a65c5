"""session_end: a worker or an operator ends a session; held jobs return to the front."""

from __future__ import annotations

import pytest

from headrace import Client, LeaseLost, Queue, SessionEnded, SessionRequired
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import commands, listening
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one
from tests.support.sessions import serving


@pytest.fixture
def tasks(hr: Client) -> Queue:
    queue = hr.queue("tasks")
    queue.configure(profile="task")
    return queue


def end(hr: Client, worker: str, by: str) -> None:
    """End the session of a worker, as the worker or as an operator."""
    if by == "operator":
        hr.workers.end(worker)
    else:
        hr.session(worker).end()


@proves("W-35", "W-03", "W-36", "WD-01", "WD-02", "WD-11")
def test_held_jobs_are_returned_and_every_queue_notified(hr: Client, url: str) -> None:
    queues = {name: hr.queue(name) for name in ("one", "two", "idle")}
    for queue in queues.values():
        queue.configure(profile="task")
    session = serving(hr, "w1", *queues.values())
    put = {name: queues[name].put_many(range(4)) for name in ("one", "two")}
    held = {name: queues[name].pop("w1", count=3) for name in ("one", "two")}
    with listening(hr, url, "queue:one", "queue:two", "queue:idle") as workers:
        session.end()

        assert sorted(workers.heard()) == [("queue:one", b"work 3"), ("queue:two", b"work 3")]
    assert hr.workers.list() == []
    serving(hr, "peer", *queues.values())
    for name, ids_put in put.items():
        assert drain(queues[name], "peer") == ids_put
    with pytest.raises(LeaseLost):
        held["one"][0].complete()


@proves("W-35")
def test_nothing_of_a_worker_remains(hr: Client, tasks: Queue) -> None:
    tasks.put_many(range(3))
    before = set(dump(hr))
    session = serving(hr, "w1", tasks)
    tasks.pop("w1", count=3)

    session.end()

    assert set(dump(hr)) == before


@proves("W-37")
def test_a_worker_ends_its_own_session_and_loses_no_retry(hr: Client, tasks: Queue) -> None:
    session = serving(hr, "w1", tasks)
    job_id = tasks.put("x", retries=0)
    pop_one(tasks, "w1")

    session.end()

    assert found(hr, job_id).state == "waiting"
    assert tasks.stats().retries == 0
    assert list(hr.events())[-1].reason == "session closed"
    with pytest.raises(SessionEnded):
        session.end()


@proves("W-37")
def test_operator_may_end_a_session_as_if_it_had_expired(
    hr: Client, tasks: Queue, url: str
) -> None:
    session = serving(hr, "w1", tasks)
    job_id = tasks.put("x", retries=1)
    lease = pop_one(tasks, "w1")
    with listening(hr, url, "worker:w1") as worker:
        hr.workers.end("w1")

        assert worker.told() == [["lost", lease.id, lease.token]]
    job = found(hr, job_id)
    assert (job.state, job.remaining) == ("waiting", 0)
    with pytest.raises(SessionEnded):
        session.renew()


@proves("W-37")
def test_session_ends_with_its_with_block(hr: Client, tasks: Queue) -> None:
    with hr.session("w1") as session:
        session.serve("tasks")
        tasks.put("x")
        pop_one(tasks, "w1")

    assert tasks.counts().waiting == 1
    assert hr.workers.list() == []


@proves("W-40")
@pytest.mark.parametrize("by", ["itself", "operator"])
def test_worker_whose_session_was_ended_gets_no_job_until_it_starts_a_new_one(
    hr: Client, tasks: Queue, by: str
) -> None:
    session = serving(hr, "w1", tasks)
    job_id = tasks.put("x")
    end(hr, "w1", by)

    with pytest.raises(SessionEnded):
        session.serve("tasks")
    with pytest.raises(SessionRequired):
        tasks.pop("w1")

    serving(hr, "w1", tasks)
    assert ids(tasks.pop("w1")) == [job_id]


@proves("W-41")
def test_late_calls_of_a_dead_worker_are_refused(hr: Client, tasks: Queue) -> None:
    serving(hr, "w1", tasks)
    serving(hr, "peer", tasks)
    tasks.put("x")
    former = pop_one(tasks, "w1")
    hr.workers.end("w1")
    present = pop_one(tasks, "peer")
    before = dump(hr)

    for say in (former.complete, former.release, former.heartbeat, lambda: former.fail("late")):
        with pytest.raises(LeaseLost) as refused:
            say()
        assert refused.value.worker == "peer"

    assert dump(hr) == before
    assert present.complete() == "complete"


@proves("WD-03")
def test_jobs_of_other_workers_are_not_touched(hr: Client, tasks: Queue) -> None:
    serving(hr, "w1", tasks)
    serving(hr, "w2", tasks)
    first, second = tasks.put("a"), tasks.put("b")
    tasks.pop("w1")
    lease = pop_one(tasks, "w2")

    hr.workers.end("w1")

    assert ids(tasks.jobs("waiting").jobs) == [first]
    assert ids(tasks.jobs("running").jobs) == [second]
    assert lease.complete() == "complete"


@proves("WD-04", "W-02")
def test_it_is_one_command_that_returns_also_what_was_popped_last(
    hr: Client, tasks: Queue, url: str
) -> None:
    serving(hr, "w1", tasks).end()
    session = serving(hr, "w1", tasks)
    tasks.put_many(range(10))
    tasks.pop("w1", count=10)

    with commands(url) as sent:
        session.end()

    assert [line.split()[0] for line in sent] == ["FCALL"]
    assert tasks.counts().waiting == 10


def test_unknown_worker_cannot_be_ended(hr: Client) -> None:
    before = dump(hr)

    with pytest.raises(SessionEnded):
        hr.workers.end("bogus")

    assert dump(hr) == before


def test_a_worker_with_very_many_jobs_ends_in_steps(hr: Client, tasks: Queue) -> None:
    session = serving(hr, "w1", tasks)
    put = tasks.put_many(range(600))
    tasks.pop("w1", count=500)
    tasks.pop("w1", count=100)

    session.end()

    assert hr.workers.list() == []
    assert ids(tasks.jobs("waiting", count=1000).jobs) == put
    assert hr.audit().balanced


def test_a_session_ends_on_every_shard(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr:
        queue = hr.queue("mail")
        session = hr.session("w1")
        queue.put_many(range(30))
        queue.pop("w1", count=30)

        session.end()

        assert queue.counts().waiting == 30
        assert hr.workers.list() == []
        clock.tick(3)
        assert hr.audit().balanced


def test_jobs_of_queues_without_sessions_stay_with_the_worker(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(profile="manual")
    session = hr.session("w1")
    queue.put("x")
    lease = pop_one(queue, "w1")

    session.end()
    clock.tick(60)
    hr.sweep()

    assert queue.counts().running == 1
    assert hr.audit().balanced
    assert lease.complete() == "complete"
