"""session_serve: a worker registers for a queue and learns how many jobs wait there."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, Queue, SessionEnded, SessionRequired
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import ids
from tests.support.sessions import serving


@proves("W-33")
def test_serving_a_queue_returns_the_number_of_waiting_jobs(hr: Client, queue: Queue) -> None:
    session = hr.session("w1")
    assert session.serve("mail") == 0
    queue.put_many(range(5))
    queue.put("later", delay=5)
    queue.pop("w1")

    assert session.serve("mail") == 4
    assert hr.workers.list()[0].queues == ["mail"]


@proves("W-33", "W-40")
@pytest.mark.parametrize("end", ["lapse", "end", "replace"])
def test_only_a_live_session_serves(hr: Client, clock: Clock, end: str) -> None:
    session = hr.session("w1")
    if end == "lapse":
        clock.tick(3)
    elif end == "end":
        session.end()
    else:
        hr.session("w1")
    before = dump(hr)

    with pytest.raises(SessionEnded):
        session.serve("mail")

    assert dump(hr) == before


@proves("W-33")
def test_a_worker_may_serve_several_queues(hr: Client) -> None:
    queues = [hr.queue(name) for name in ("b", "a")]
    for queue in queues:
        queue.configure(profile="task")
    serving(hr, "w1", *queues)

    for queue in queues:
        job_id = queue.put("x")
        assert ids(queue.pop("w1")) == [job_id]
    assert hr.workers.list()[0].queues == ["a", "b"]


def test_new_session_of_a_worker_does_not_inherit_queues(hr: Client, queue: Queue) -> None:
    queue.configure(profile="task")
    serving(hr, "w1", queue).end()

    hr.session("w1")

    with pytest.raises(SessionRequired):
        queue.pop("w1")


def test_served_queue_name_must_be_valid(hr: Client) -> None:
    session = hr.session("w1")

    with pytest.raises(InvalidArgument):
        session.serve("")


def test_waiting_jobs_of_all_shards_are_counted(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        hr.queue("mail").put_many(range(20))

        assert hr.session("w1").serve("mail") == 20
