"""session_renew: keeps a session alive, but does not revive an expired one."""

from __future__ import annotations

import pytest

from headrace import Client, Queue, SessionEnded, SessionRequired
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one
from tests.support.sessions import lapse, serving


@proves("W-31")
def test_a_renewal_gives_a_session_its_full_time_again(hr: Client, clock: Clock) -> None:
    session = hr.session("w1")

    for _ in range(10):
        clock.tick(1)
        assert hr.workers.list()[0].expires_in == 2.0
        assert session.renew() == 3.0

    assert hr.workers.list()[0].expires_in == 3.0


@proves("W-31", "W-32")
def test_renewal_after_expiry_is_refused(hr: Client, clock: Clock) -> None:
    session = hr.session("w1")
    clock.tick(2.999)
    session.renew()
    clock.tick(3)
    before = dump(hr)

    with pytest.raises(SessionEnded):
        session.renew()

    assert dump(hr) == before


@proves("W-32", "W-40")
def test_worker_whose_session_expired_must_start_a_new_session(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(profile="task")
    former, peer = serving(hr, "w1", queue), serving(hr, "peer", queue)
    queue.put("x")
    lease = pop_one(queue, "w1")
    lapse(clock, peer)

    with pytest.raises(SessionEnded):
        former.renew()
    assert pop_one(queue, "peer").id == lease.id
    with pytest.raises(SessionEnded):
        former.serve("mail")
    with pytest.raises(SessionEnded):
        former.unserve("mail")
    with pytest.raises(SessionRequired):
        queue.pop("w1")

    present = serving(hr, "w1", queue)
    assert present.renew() == 3.0
    assert queue.pop("w1") == []


def test_a_session_that_a_peer_ended_is_not_renewed(hr: Client) -> None:
    session = hr.session("w1")
    hr.workers.end("w1")

    with pytest.raises(SessionEnded):
        session.renew()

    assert hr.workers.list() == []


def test_a_renewal_reaches_every_shard(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr:
        session = hr.session("w1")
        queue = hr.queue("mail")
        queue.put_many(range(30))
        leases = queue.pop("w1", count=30, lease=1000)
        for _ in range(5):
            clock.tick(2)
            session.renew()
            hr.sweep()

        assert set(hr.leases.complete(leases)) == {"complete"}
