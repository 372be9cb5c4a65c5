"""sweep: any client can do the housekeeping of a namespace in which no client pops."""

from __future__ import annotations

from datetime import timedelta

from headrace import Client, Put, Queue
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one
from tests.support.sessions import serving


@proves("W-38", "W-01", "WD-11")
def test_sweep_returns_jobs_of_dead_workers_and_notifies_the_queue(
    hr: Client, queue: Queue, clock: Clock, url: str
) -> None:
    queue.configure(profile="task")
    for name in ("one", "two"):
        serving(hr, name, queue)
    put = queue.put_many(range(6))
    queue.pop("one", count=2)
    queue.pop("two", count=2)
    clock.tick(3)
    with listening(hr, url, "queue:mail") as workers:
        hr.sweep()

        assert workers.messages() == ["work 4"]
    assert hr.workers.list() == []
    assert ids(queue.jobs("waiting").jobs) == put


@proves("W-38")
def test_a_sweep_leaves_live_workers_alone(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(profile="task")
    session = serving(hr, "w1", queue)
    queue.put("x")
    lease = pop_one(queue, "w1")
    clock.tick(2.999)
    before = dump(hr)

    hr.sweep()

    assert dump(hr) == before
    assert session.renew() == 3.0
    assert lease.complete() == "complete"


@proves("WD-11")
def test_due_jobs_become_waiting_and_wake_a_worker(
    hr: Client, queue: Queue, clock: Clock, url: str
) -> None:
    queue.put_many([Put(None, id="a", delay=2), Put(None, id="b", delay=1)])
    queue.put("later", delay=3)
    clock.tick(2)
    with listening(hr, url, "queue:mail") as workers:
        hr.sweep()

        assert workers.messages() == ["work 2"]
    assert (queue.counts().waiting, queue.counts().scheduled) == (2, 1)
    assert [event.kind for event in hr.events()][3:] == ["due", "due"]


def test_thousands_of_due_jobs_become_waiting(hr: Client, queue: Queue, clock: Clock) -> None:
    put = queue.put_many(range(600), delay=1)
    clock.tick(1)

    hr.sweep()

    assert ids(queue.jobs("waiting", count=1000).jobs) == put


@proves("WD-11")
def test_expired_leases_wake_a_worker(hr: Client, queue: Queue, clock: Clock, url: str) -> None:
    put = queue.put_many(range(3))
    for lease in (9, 10, 11):
        queue.pop("w", lease=lease)
    clock.tick(10)
    with listening(hr, url, "queue:mail") as workers:
        hr.sweep()

        assert workers.messages() == ["work 2"]
    assert found(hr, put[0]).state == "running"
    assert drain(queue, "peer") == put[:2]


def test_retention_limits_apply_without_further_completions(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    put = queue.put_many(range(50))
    hr.leases.complete(queue.pop("w", count=50), results=range(50))

    clock.tick(timedelta(days=40))
    hr.sweep()

    assert hr.jobs(put) == []
    assert queue.counts().complete == 0
    left = {key.split("}:")[1] for key in dump(hr)} - {"agenda", "events", "log", "meta", "clock"}
    assert left == {"queues", "settings:mail", "books:mail"}
    assert hr.audit().balanced


def test_jobs_that_were_not_started_in_time_expire(hr: Client, queue: Queue, clock: Clock) -> None:
    put = queue.put_many(range(40), start_within=5)
    late = queue.put("x")
    clock.tick(5)

    hr.sweep()

    assert hr.jobs(put) == []
    assert drain(queue) == [late]
    assert hr.audit().balanced


def test_a_sweep_with_nothing_to_do_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put("x")
    before = dump(hr)

    hr.sweep()

    assert dump(hr) == before


def test_a_sweep_reaches_every_queue_of_every_shard(url: str) -> None:
    hr, clock = open_with_clock(url, shards=2)
    with hr:
        for number in range(60):
            hr.queue(f"q{number}").put_many([1, 2, 3, 4], delay=1)
        clock.tick(1)

        hr.sweep()

        every = hr.queues(count=100)
        assert len(every) == 60
        assert all(counts.waiting == 4 for counts in every.values())
