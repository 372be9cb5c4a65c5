"""Outages of the server: workers that return keep their jobs, and dead workers lose them in time.

The clock of these tests is set by the tests, but the server remembers its calls as in production.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from uuid import uuid4

import pytest

import headrace
from headrace import Client, LeaseLost, Queue, Session, SessionEnded
from headrace.engine.script import Library
from headrace.operations import popping
from headrace.operations.requests import ask_one
from headrace.testing import Clock, settable_clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.jobs import found, ids, pop_one

TTL = 3.0
GRACE = 15.0


class Outages:
    """A namespace whose server a test can restart or leave without calls."""

    def __init__(self, hr: Client) -> None:
        self.hr = hr
        self.clock = Clock(hr)

    def restart(self) -> None:
        """Make the server forget its calls, as a new process."""
        text = self.hr.core.library.text
        [reply] = self.hr.core.transport.send([(0, ("FUNCTION", "LOAD", "REPLACE", text))])
        assert not isinstance(reply, Exception), reply

    def pass_time(self, seconds: float, *alive: Session) -> None:
        """Let time pass in which the server is there, and renew these sessions every second."""
        while seconds > 0:
            step = min(seconds, 1.0)
            self.clock.tick(step)
            for session in alive:
                session.renew()
            seconds -= step


@pytest.fixture
def outages(url: str) -> Iterator[Outages]:
    swaps = {"now": settable_clock()._swaps["now"]}
    # A name of its own for the library of each test, so that no other test replaces it.
    swaps["now"] += f"-- {uuid4().hex}\n"
    with headrace.connect(
        url, namespace=f"test-{uuid4().hex[:12]}", library=Library(swaps)
    ) as client:
        yield Outages(client)


@pytest.fixture
def hr(outages: Outages) -> Client:
    return outages.hr


@pytest.fixture
def queue(hr: Client) -> Queue:
    return hr.queue("mail")


def popped(hr: Client, queue: Queue, worker: str = "w1") -> tuple[Session, headrace.Lease]:
    """Return a session, and a lease that lasts as long as the session."""
    session = hr.session(worker, ttl=TTL)
    queue.put("x", id=f"job of {worker}")
    return session, pop_one(queue, worker, lease=math.inf)


@proves("WL-07")
@pytest.mark.parametrize("kind", ["restart", "silence"])
@pytest.mark.parametrize("first_call", ["own", "pop", "sweep", "put", "peer"])
def test_worker_that_returns_after_an_outage_keeps_its_job(
    outages: Outages, hr: Client, queue: Queue, kind: str, first_call: str
) -> None:
    peer = hr.session("peer", ttl=TTL)
    session, lease = popped(hr, queue)
    outages.clock.tick(60)
    if kind == "restart":
        outages.restart()
    calls = {
        "own": session.renew,
        "pop": lambda: queue.pop("other"),
        "sweep": hr.sweep,
        "put": lambda: hr.queue("other").put("y"),
        "peer": peer.renew,
    }
    calls[first_call]()
    outages.pass_time(GRACE - 1, peer, *([session] if first_call == "own" else []))
    assert queue.pop("other") == []

    assert session.renew() == TTL

    assert lease.complete() == "complete"
    assert found(hr, lease.id).attempt == 1


@proves("WL-07")
@pytest.mark.parametrize("kind", ["restart", "silence"])
def test_worker_that_does_not_return_loses_its_job_after_the_grace_but_no_retry(
    outages: Outages, hr: Client, queue: Queue, kind: str
) -> None:
    peer = hr.session("peer", ttl=TTL)
    session, lease = popped(hr, queue)
    outages.clock.tick(5)
    if kind == "restart":
        outages.restart()
    peer.renew()
    outages.pass_time(GRACE - 0.001, peer)
    assert queue.pop("peer") == []
    outages.clock.tick(0.001)

    assert ids(queue.pop("peer")) == [lease.id]

    job = found(hr, lease.id)
    assert (job.attempt, job.remaining) == (2, job.retries)
    assert [event.reason for event in hr.events() if event.kind == "lost"] == ["server outage"]
    with pytest.raises(SessionEnded):
        session.renew()
    with pytest.raises(LeaseLost):
        lease.complete()


def test_outage_costs_no_retry_even_if_the_worker_held_very_many_jobs(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    hr.session("w1", ttl=TTL)
    put = queue.put_many(range(600))
    queue.pop("w1", count=500, lease=math.inf)
    outages.clock.tick(5)
    hr.sweep()
    outages.clock.tick(GRACE)

    hr.sweep()

    assert queue.counts().waiting == 600
    assert {job.remaining for job in hr.jobs(put)} == {5}
    assert hr.audit().balanced


def test_worker_that_renewed_after_the_outage_is_judged_by_its_ttl(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    peer = hr.session("peer", ttl=TTL)
    session, lease = popped(hr, queue)
    outages.clock.tick(5)
    outages.restart()
    session.renew()
    peer.renew()

    outages.pass_time(TTL, peer)

    assert ids(queue.pop("peer")) == [lease.id]
    assert found(hr, lease.id).remaining == 4


def test_dead_worker_loses_its_job_at_the_end_of_its_session_while_a_peer_renews(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    peer = hr.session("peer", ttl=TTL)
    _, lease = popped(hr, queue)

    outages.pass_time(TTL, peer)

    assert ids(queue.pop("peer")) == [lease.id]
    assert found(hr, lease.id).remaining == 4


def test_dead_worker_loses_its_job_at_the_end_of_its_session_while_producers_put(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    _, lease = popped(hr, queue)

    for _ in range(3):
        outages.clock.tick(1)
        hr.queue("other").put("y")

    assert ids(queue.pop("other")) == [lease.id]
    assert found(hr, lease.id).remaining == 4


def test_waiting_pop_without_a_session_proves_that_the_server_is_there(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    _, lease = popped(hr, queue)
    waited = []
    pop_call = popping.pop_call(queue, "other", 1, None)
    while not (handout := drive(hr.core.transport, ask_one(hr.core, 0, pop_call(1)))).jobs:
        assert handout.due is not None
        waited.append(handout.due)
        outages.clock.tick(handout.due)

    assert waited == [TTL / 2, TTL / 2]
    assert handout.jobs[0].id == lease.id
    assert found(hr, lease.id).remaining == 4


@pytest.mark.parametrize("silence", [1.5, 1.8])
def test_short_time_without_calls_is_no_outage(
    outages: Outages, hr: Client, queue: Queue, silence: float
) -> None:
    _, lease = popped(hr, queue)
    outages.clock.tick(silence)
    hr.sweep()
    outages.clock.tick(TTL - silence)

    assert ids(queue.pop("other")) == [lease.id]


def test_outage_after_the_end_of_a_session_does_not_protect_its_worker(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    peer = hr.session("peer", ttl=60)
    _, lease = popped(hr, queue)
    for _ in range(4):
        outages.clock.tick(1)
        peer.renew()
    outages.clock.tick(20)
    peer.renew()

    assert ids(queue.pop("peer")) == [lease.id]
    assert found(hr, lease.id).remaining == 4


def test_times_without_calls_do_not_protect_a_dead_worker_forever(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    peer = hr.session("peer", ttl=60)
    _, lease = popped(hr, queue)
    start = outages.clock.now
    while not (leases := queue.pop("peer")):
        outages.clock.tick(5)
        peer.renew()

    assert ids(leases) == [lease.id]
    assert (outages.clock.now - start).total_seconds() == 5 + GRACE


def test_second_restart_gives_the_whole_grace_again(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    session, lease = popped(hr, queue)
    for _ in range(4):
        outages.clock.tick(GRACE - 1)
        outages.restart()
        assert queue.pop("other") == []

    session.renew()

    assert lease.complete() == "complete"


def test_grace_is_a_setting_of_the_namespace(outages: Outages, hr: Client, queue: Queue) -> None:
    assert hr.config.get("grace") == GRACE
    hr.config.set("grace", 2)
    _, lease = popped(hr, queue)
    outages.clock.tick(5)
    outages.restart()
    assert queue.pop("other") == []
    outages.clock.tick(1.999)
    assert queue.pop("other") == []
    outages.clock.tick(0.001)

    assert ids(queue.pop("other")) == [lease.id]


def test_clock_that_is_set_back_delays_no_dead_worker_beyond_its_session(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    outages.clock.tick(3600)
    hr.sweep()
    outages.clock.tick(-3600)
    peer = hr.session("peer", ttl=TTL)
    _, lease = popped(hr, queue)

    outages.pass_time(TTL, peer)

    assert ids(queue.pop("peer")) == [lease.id]


def test_dead_worker_among_very_many_spared_workers_is_found(
    outages: Outages, hr: Client, queue: Queue
) -> None:
    for number in range(250):
        hr.session(f"w{number}", ttl=TTL)
    _, lease = popped(hr, queue, "last")
    outages.clock.tick(5)
    outages.restart()
    assert queue.pop("other") == []
    hr.sweep()
    assert {worker.expires_in for worker in hr.workers.list(count=300)} == {GRACE}
    outages.clock.tick(GRACE)
    hr.sweep()

    assert ids(queue.pop("other")) == [lease.id]
    assert hr.workers.list() == []


def test_deadline_of_a_lease_passes_during_an_outage_too(outages: Outages, queue: Queue) -> None:
    queue.put("x")
    pop_one(queue, "w1", lease=10)
    outages.clock.tick(10)
    outages.restart()

    assert len(queue.pop("other")) == 1
