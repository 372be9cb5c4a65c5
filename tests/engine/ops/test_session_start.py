"""session_start: a worker starts a session; jobs of its earlier session are returned."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, InvalidArgument, LeaseLost, Queue, SessionEnded
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import commands, listening
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one
from tests.support.sessions import serving


@proves("W-30")
def test_a_worker_is_listed_and_lives_three_seconds(hr: Client, clock: Clock) -> None:
    session = hr.session("w1")

    [worker] = hr.workers.list()
    assert (worker.name, worker.expires_in, worker.started) == ("w1", 3.0, clock.now)
    clock.tick(2.999)
    assert session.renew() == 3.0
    clock.tick(3)
    with pytest.raises(SessionEnded):
        session.renew()


@proves("W-30")
def test_a_session_starts_by_one_command(hr: Client, url: str) -> None:
    hr.session("warm")

    with commands(url) as sent:
        hr.session("w1")

    assert [line.split()[0] for line in sent] == ["FCALL"]


@proves("W-39")
def test_caller_chooses_the_duration_of_a_session(hr: Client, clock: Clock) -> None:
    short, long = hr.session("short", ttl=0.5), hr.session("long", ttl=timedelta(minutes=5))

    clock.tick(1)

    with pytest.raises(SessionEnded):
        short.renew()
    assert long.renew() == 300


@proves("W-39")
def test_session_without_a_ttl_never_expires(hr: Client, queue: Queue, clock: Clock) -> None:
    session = hr.session("w1", ttl=None)
    queue.put("x")
    lease = pop_one(queue, "w1", lease=10**9)

    clock.tick(timedelta(days=1000))
    hr.sweep()

    assert session.renew() is None
    assert hr.workers.list()[0].expires_in is None
    assert lease.complete() == "complete"


@proves("W-39")
def test_the_same_name_in_another_namespace_is_another_worker(hr: Client, url: str) -> None:
    other, _ = open_with_clock(url)
    with other:
        session = other.session("w1")
        hr.session("w1")

        assert session.renew() == 3.0


def test_a_worker_of_the_same_name_is_not_the_same_worker(hr: Client, queue: Queue) -> None:
    former = serving(hr, "w1", queue)
    queue.put("x")
    lease = pop_one(queue, "w1")

    present = serving(hr, "w1", queue)

    with pytest.raises(SessionEnded):
        former.renew()
    with pytest.raises(SessionEnded):
        former.end()
    with pytest.raises(LeaseLost):
        lease.complete()
    assert present.renew() == 3.0
    assert pop_one(queue, "w1").id == lease.id


def test_restart_returns_held_jobs_to_the_front(hr: Client, queue: Queue, url: str) -> None:
    serving(hr, "w1", queue)
    put = queue.put_many(range(4))
    leases = queue.pop("w1", count=2)
    with (
        listening(hr, url, "queue:mail") as workers,
        listening(hr, url, "worker:w1") as former,
    ):
        hr.session("w1")

        assert workers.messages() == ["work 2"]
        assert sorted(former.told()) == sorted(["lost", lease.id, lease.token] for lease in leases)
    assert drain(queue, "other") == put


def test_a_job_that_kills_a_worker_that_restarts_at_once_is_failed_in_the_end(
    hr: Client, queue: Queue
) -> None:
    job_id = queue.put("poison", retries=2)

    for attempt in (1, 2, 3):
        serving(hr, "w1", queue)
        assert pop_one(queue, "w1").attempt == attempt
    serving(hr, "w1", queue)

    job = found(hr, job_id)
    assert job.state == "failed"
    assert job.failure is not None
    assert job.failure.type == "retries exhausted"


def test_worker_that_held_thousands_of_jobs_restarts(hr: Client, queue: Queue) -> None:
    serving(hr, "w1", queue)
    put = queue.put_many(range(600))
    queue.pop("w1", count=500)
    queue.pop("w1", count=90)

    session = hr.session("w1")

    assert session.renew() == 3.0
    assert queue.counts().waiting == 600
    assert drain_in_bulk(queue) == put


def drain_in_bulk(queue: Queue) -> list[str]:
    served: list[str] = []
    while leases := queue.pop("other", count=200):
        served += [lease.id for lease in leases]
    return served


@pytest.mark.parametrize("worker", ["", "a\nb", "x" * 251, 7])
def test_a_worker_must_have_a_proper_name(hr: Client, worker: str) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        hr.session(worker)

    assert dump(hr) == before


@pytest.mark.parametrize("ttl", [-1, "long", float("nan")])
def test_session_duration_must_be_valid(hr: Client, ttl: float) -> None:
    with pytest.raises(InvalidArgument):
        hr.session("w1", ttl=ttl)
