"""workers: sessions, the queues they serve, and the number of jobs they hold."""

from __future__ import annotations

import os
import socket

from headrace import Client, Queue
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one
from tests.support.sessions import lapse, serving


@proves("W-22", "W-45")
def test_worker_is_listed_with_its_queues_and_held_jobs(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    other = hr.queue("letters")
    started = clock.now
    serving(hr, "w1", queue, other)
    serving(hr, "w2", queue)
    queue.put_many(range(3))
    other.put("x")
    queue.pop("w1", count=2)
    pop_one(other, "w1")
    clock.tick(1)

    first, second = hr.workers.list()

    assert (first.name, first.queues, first.jobs) == ("w1", ["letters", "mail"], 3)
    assert (first.started, first.expires_in) == (started, 2.0)
    assert first.about == f"{socket.gethostname()} pid {os.getpid()}"
    assert (second.name, second.queues, second.jobs) == ("w2", ["mail"], 0)


@proves("W-45", "TD-01")
def test_every_role_has_one_key(hr: Client, queue: Queue) -> None:
    serving(hr, "w1", queue)
    queue.put_many(["x", "x" * 5000])
    queue.pop("w1")
    queue.put("later", delay=5)
    lease = pop_one(queue, "w1")

    prefix = f"hr:{{{hr.core.namespace}:0}}:"
    keys = dump(hr)

    assert all(key.startswith(prefix) for key in keys)
    held = keys[f"{prefix}held:w1"][1][::2]
    assert f"mail\0{lease.id}".encode() in held
    assert {key.removeprefix(prefix).split(":")[0] for key in keys} == {
        *("agenda", "books", "data", "days", "events", "held", "histogram", "job", "log", "meta"),
        *("queues", "running", "scheduled", "serves", "session", "sessions", "settings", "stats"),
    }


def test_a_worker_without_a_session_is_not_listed(hr: Client, queue: Queue) -> None:
    queue.put("x")
    pop_one(queue, "w1")

    assert hr.workers.list() == []


def test_a_dead_worker_is_listed_until_it_is_noticed(hr: Client, clock: Clock) -> None:
    hr.session("dead")
    peer = hr.session("peer")
    lapse(clock, peer)

    assert [(worker.name, worker.expires_in) for worker in hr.workers.list()] == [
        ("dead", 0.0),
        ("peer", 3.0),
    ]
    hr.sweep()
    assert [worker.name for worker in hr.workers.list()] == ["peer"]


def test_pages_of_workers_are_by_name(hr: Client) -> None:
    for name, ttl in (("a", 4), ("b", 3), ("c", 2), ("d", 1)):
        hr.session(name, ttl=ttl)

    pages = [[worker.name for worker in hr.workers.list(offset=at, count=2)] for at in (0, 2, 4)]

    assert pages == [["a", "b"], ["c", "d"], []]


def test_held_jobs_are_counted_over_all_shards(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        queue = hr.queue("mail")
        serving(hr, "w1", queue)
        queue.put_many(range(20))
        queue.pop("w1", count=12)

        [worker] = hr.workers.list()

        assert (worker.jobs, worker.queues) == (12, ["mail"])


@proves("QL-18")
def test_workers_with_a_session_are_listed_with_the_jobs_they_hold(
    hr: Client, queue: Queue
) -> None:
    other = hr.queue("other")
    queue.put_many(range(3))
    other.put(4)
    for name in ("w1", "w2", "idle"):
        hr.session(name)
    queue.pop("w1", count=2)
    pop_one(other, worker="w1")
    lease = pop_one(queue, worker="w2")

    assert {worker.name: worker.jobs for worker in hr.workers.list()} == {
        "w1": 3,
        "w2": 1,
        "idle": 0,
    }
    held = {job.id: job.worker for job in queue.jobs("running").jobs}
    assert (len(held), held[lease.id]) == (3, "w2")

    lease.complete()
    assert {worker.name: worker.jobs for worker in hr.workers.list()} == {
        "w1": 3,
        "w2": 0,
        "idle": 0,
    }


@proves("QL-18")
def test_a_worker_whose_session_ended_is_forgotten(hr: Client, queue: Queue) -> None:
    queue.put(1)
    session = hr.session("w1")
    queue.pop("w1")

    session.end()

    assert (hr.workers.list(), queue.counts().waiting) == ([], 1)
