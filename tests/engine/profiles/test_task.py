"""task: workers with sessions; released jobs return to the front, and jobs have no history."""

from __future__ import annotations

import pytest

from headrace import Client, JobNotFound, LeaseLost, Put, Queue, Session, SessionRequired
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import commands, listening, meanwhile
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one
from tests.support.sessions import serving


@pytest.fixture
def tasks(hr: Client) -> Queue:
    queue = hr.queue("tasks")
    queue.configure(profile="task")
    return queue


@pytest.fixture
def session(hr: Client, tasks: Queue) -> Session:
    return serving(hr, "w1", tasks)


def keys(hr: Client) -> set[str]:
    return {key.split("}:")[1] for key in dump(hr)} - {"agenda", "events", "log"}


@proves("W-02")
@pytest.mark.parametrize("what", ["put", "pop", "complete", "release", "cancel"])
def test_every_operation_is_one_command(
    hr: Client, tasks: Queue, session: Session, url: str, what: str
) -> None:
    for _ in ("the first time the script is loaded", "this time it counts"):
        tasks.put("x")
        lease = None if what in ("put", "pop") else pop_one(tasks)
        with commands(url) as sent:
            if what == "put":
                tasks.put("y")
            elif lease is None:
                tasks.pop(session.worker)
            elif what == "cancel":
                hr.cancel(lease.id)
            else:
                getattr(lease, what)()

    assert [line.split()[0] for line in sent] == ["FCALL"]
    assert hr.audit().balanced


@proves("W-04", "W-18")
def test_finished_job_leaves_nothing_behind(
    hr: Client, tasks: Queue, session: Session, clock: Clock
) -> None:
    empty = keys(hr)
    for data in ("x", "x" * 5000):
        session.renew()
        tasks.put(data)
        pop_one(tasks, session.worker).release()
        clock.tick(1)
        lease = pop_one(tasks, session.worker)
        assert [stage.outcome for stage in lease.job.history] == [None]
        clock.tick(1)
        assert lease.complete() == "complete"

    assert keys(hr) == empty | {"books:tasks"}
    assert tasks.stats().run.count == 0
    assert hr.workers.list()[0].jobs == 0
    assert [event.left_out for event in hr.events() if event.kind == "put"] == [3, 5002]
    assert {event.data for event in hr.events()} == {None}


@proves("W-05", "W-47")
def test_one_of_two_concurrent_pops_gets_the_job(hr: Client, tasks: Queue) -> None:
    workers = [serving(hr, "w1", tasks), serving(hr, "w2", tasks)]
    put = tasks.put_many(range(60))

    def work(worker: str) -> list[str]:
        taken: list[str] = []
        while leases := tasks.pop(worker):
            taken += ids(leases)
        return taken

    with meanwhile(lambda: work(workers[1].worker)) as others:
        mine = work(workers[0].worker)

    assert sorted(mine + others.result()) == sorted(put)
    assert tasks.pop("w1") == tasks.pop("w2") == []


@proves("W-06", "W-16")
@pytest.mark.parametrize("payload", [b"", b"\0", bytes(range(256)), b"\xff" * 31, b"x" * 70_000])
def test_the_payload_comes_back_byte_for_byte(url: str, payload: bytes) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        tasks = hr.queue("tasks")
        tasks.configure(profile="task")
        serving(hr, "w1", tasks)
        job_id = tasks.put(payload)

        lease = pop_one(tasks)
        assert lease.data == payload
        lease.release()
        assert pop_one(tasks).data == payload
        assert found(hr, job_id).payload == payload
        assert hr.finish(job_id) == "complete"


@proves("W-08")
def test_jobs_leases_workers_and_queues_have_matching_names(
    hr: Client, tasks: Queue, session: Session
) -> None:
    put = tasks.put_many(["a", "b"])

    leases = tasks.pop(session.worker, count=2)

    assert [(lease.id, lease.data, lease.worker, lease.queue) for lease in leases] == [
        (put[0], "a", "w1", "tasks"),
        (put[1], "b", "w1", "tasks"),
    ]
    assert [worker.name for worker in hr.workers.list()] == ["w1"]


@proves("W-10")
def test_a_put_makes_the_queue_and_sends_a_notice(hr: Client, url: str) -> None:
    with listening(hr, url, "queue:new") as workers:
        hr.queue("new").put("x")

        assert workers.messages() == ["work 1"]
    assert list(hr.queues()) == ["new"]


@proves("W-11")
def test_bulk_put_keeps_order_and_notifies_the_number(
    hr: Client, tasks: Queue, session: Session, url: str
) -> None:
    first = tasks.put("first")
    with listening(hr, url, "queue:tasks") as workers:
        put = tasks.put_many(["a", "b", "c"])

        assert workers.messages() == ["work 3"]
    assert drain(tasks, session.worker) == [first, *put]


@proves("W-12")
def test_equal_data_makes_jobs_of_their_own(tasks: Queue, session: Session) -> None:
    put = [
        tasks.put("same"),
        tasks.put("same"),
        tasks.put("same", id="a"),
        tasks.put("same", id="a"),
    ]

    assert len(set(put)) == 4
    assert drain(tasks, session.worker) == put


@proves("W-13")
def test_a_pop_takes_the_oldest_job_and_lists_it_with_the_worker(
    hr: Client, tasks: Queue, session: Session
) -> None:
    first, second = tasks.put("a"), tasks.put("b")

    assert ids(tasks.pop(session.worker)) == [first]

    assert ids(tasks.jobs("running").jobs) == [first]
    assert ids(tasks.jobs("waiting").jobs) == [second]
    assert hr.workers.list()[0].jobs == 1


@proves("W-14")
def test_every_lease_has_an_unguessable_token(tasks: Queue, session: Session) -> None:
    tasks.put_many(range(20))
    leases = [pop_one(tasks, session.worker) for _ in range(20)]

    secrets = {lease.token.split(".", 1)[1] for lease in leases}

    assert len(secrets) == 20
    assert all(len(secret) >= 16 for secret in secrets)


@proves("W-14", "WD-05")
def test_a_pop_from_an_empty_queue_leaves_no_trace(
    hr: Client, tasks: Queue, session: Session
) -> None:
    before = dump(hr)

    assert tasks.pop(session.worker) == []
    assert tasks.pop(session.worker, count=10, lease=5) == []

    assert dump(hr) == before


@proves("W-15")
def test_a_worker_without_a_session_or_that_does_not_serve_is_refused(
    hr: Client, tasks: Queue
) -> None:
    tasks.put("x")
    hr.session("idle")
    serving(hr, "elsewhere", hr.queue("other"))
    before = dump(hr)

    for worker in ("unknown", "idle", "elsewhere"):
        with pytest.raises(SessionRequired):
            tasks.pop(worker)

    assert dump(hr) == before


@proves("W-17", "WD-01", "WD-08")
def test_a_released_job_returns_to_the_front(hr: Client, tasks: Queue, session: Session) -> None:
    put = tasks.put_many(["a", "b", "c"])

    assert pop_one(tasks, session.worker).release() == "waiting"

    assert hr.workers.list()[0].jobs == 0
    assert drain(tasks, session.worker) == put


@proves("W-18", "WD-08")
def test_a_completed_job_is_gone(hr: Client, tasks: Queue, session: Session) -> None:
    job_id = tasks.put("x")

    assert pop_one(tasks, session.worker).complete() == "complete"

    assert hr.job(job_id) is None
    assert tasks.length() == 0
    assert tasks.pop(session.worker) == []


@proves("W-21")
@pytest.mark.parametrize("what", ["complete", "release"])
def test_calls_with_a_lost_lease_are_refused(
    hr: Client, tasks: Queue, session: Session, what: str
) -> None:
    tasks.put_many(["gone", "lost"])
    gone, lost = tasks.pop(session.worker, count=2)
    hr.cancel(gone.id)
    hr.release(lost.id)
    before = dump(hr)

    with pytest.raises(JobNotFound):
        getattr(gone, what)()
    with pytest.raises(LeaseLost):
        getattr(lost, what)()

    assert dump(hr) == before


@proves("W-22")
def test_reading_changes_nothing(hr: Client, tasks: Queue, session: Session) -> None:
    tasks.put_many([Put({"n": 1}, id="a"), Put({"n": 2}, id="b"), Put({"n": 3}, id="c")])
    tasks.pop(session.worker)
    before = dump(hr)

    assert [job.data for job in tasks.peek(2)] == [{"n": 2}, {"n": 3}]
    assert (tasks.counts().waiting, tasks.counts().running, tasks.length()) == (2, 1, 3)
    assert [job.data for job in tasks.jobs("running").jobs] == [{"n": 1}]
    assert list(hr.queues()) == ["tasks"]
    assert [(worker.name, worker.queues) for worker in hr.workers.list()] == [("w1", ["tasks"])]

    assert dump(hr) == before


@proves("W-48")
def test_a_worker_that_finishes_gets_the_next_in_the_same_round_trip(
    tasks: Queue, session: Session
) -> None:
    put = tasks.put_many(range(3))
    leases = tasks.pop(session.worker)
    served = ids(leases)
    while leases:
        answers, leases = tasks.complete_and_pop(leases, session.worker)
        assert answers == ["complete"]
        served += ids(leases)

    assert served == put
    assert tasks.length() == 0
