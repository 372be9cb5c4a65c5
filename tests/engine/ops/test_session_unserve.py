"""session_unserve: a worker stops serving a queue; its jobs of that queue return to the front."""

from __future__ import annotations

import pytest

from headrace import Client, LeaseLost, Queue, SessionEnded, SessionRequired
from headrace.testing import Clock
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


@proves("W-34", "WD-01", "WD-02", "WD-11")
def test_held_jobs_are_returned_to_the_front_in_order(hr: Client, tasks: Queue, url: str) -> None:
    session, peer = serving(hr, "w1", tasks), serving(hr, "peer", tasks)
    put = tasks.put_many(range(5))
    leases = tasks.pop("w1", count=3)
    with listening(hr, url, "queue:tasks") as workers, listening(hr, url, "worker:w1") as holder:
        session.unserve("tasks")

        assert workers.messages() == ["work 3"]
        assert sorted(holder.told()) == sorted(["lost", one.id, one.token] for one in leases)
    with pytest.raises(SessionRequired):
        tasks.pop("w1")
    with pytest.raises(LeaseLost):
        leases[0].complete()
    assert drain(tasks, peer.worker) == put


@proves("W-34")
def test_unserve_costs_no_retry(hr: Client, tasks: Queue) -> None:
    session = serving(hr, "w1", tasks)
    job_id = tasks.put("x", retries=0)
    pop_one(tasks, "w1")

    session.unserve("tasks")

    assert found(hr, job_id).state == "waiting"


@proves("WD-09")
def test_other_queues_and_their_leases_are_not_affected(hr: Client) -> None:
    names = ["task", "tasks", "tasks:2", "tasks2"]
    queues = {name: hr.queue(name) for name in names}
    for queue in queues.values():
        queue.configure(profile="task")
    session = serving(hr, "w1", *queues.values())
    leases = {}
    for name, queue in queues.items():
        queue.put(name)
        leases[name] = pop_one(queue, "w1")

    session.unserve("tasks")

    assert hr.workers.list()[0].queues == ["task", "tasks2", "tasks:2"]
    del leases["tasks"]
    assert {lease.complete() for lease in leases.values()} == {"complete"}
    assert session.renew() == 3.0


@proves("W-34")
def test_other_workers_keep_what_they_hold(hr: Client, tasks: Queue) -> None:
    session = serving(hr, "w1", tasks)
    serving(hr, "w2", tasks)
    tasks.put_many(range(2))
    tasks.pop("w1")
    [theirs] = tasks.pop("w2")

    session.unserve("tasks")

    assert theirs.complete() == "complete"


@proves("W-34")
def test_thousands_of_jobs_return_in_steps(hr: Client, tasks: Queue) -> None:
    session = serving(hr, "w1", tasks)
    put = tasks.put_many(range(600))
    tasks.pop("w1", count=500)
    tasks.pop("w1", count=100)

    session.unserve("tasks")

    assert ids(tasks.jobs("waiting", count=1000).jobs) == put
    assert hr.workers.list()[0].jobs == 0
    assert hr.audit().balanced


@proves("W-02")
def test_it_is_one_command(hr: Client, tasks: Queue, url: str) -> None:
    session = serving(hr, "w1", tasks)
    session.unserve("tasks")
    session.serve("tasks")
    tasks.put_many(range(10))
    tasks.pop("w1", count=10)

    with commands(url) as sent:
        session.unserve("tasks")

    assert [line.split()[0] for line in sent] == ["FCALL"]


@proves("W-40")
def test_ended_session_cannot_stop_serving_a_queue(hr: Client, tasks: Queue, clock: Clock) -> None:
    session = serving(hr, "w1", tasks)
    clock.tick(3)
    before = dump(hr)

    with pytest.raises(SessionEnded):
        session.unserve("tasks")

    assert dump(hr) == before
