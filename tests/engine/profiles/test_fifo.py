"""fifo: a pop takes the oldest job and deletes it; each job is delivered at most once."""

from __future__ import annotations

import time

import pytest

from headrace import Client, JobNotFound, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import commands, meanwhile, until_listened_to
from tests.support.dump import dump


@pytest.fixture
def fifo(hr: Client) -> Queue:
    queue = hr.queue("steps")
    queue.configure(profile="fifo")
    return queue


@proves("T-30")
def test_every_put_has_an_id_of_its_own(fifo: Queue) -> None:
    ids = [fifo.put("same") for _ in range(100)]

    assert len(set(ids)) == 100
    assert all(len(job_id) == 16 for job_id in ids)


@proves("T-30")
def test_an_id_that_is_taken_gives_a_new_job_under_a_new_id(fifo: Queue) -> None:
    first = fifo.put("one", id="a")
    second = fifo.put("two", id="a")

    assert first == "a"
    assert second != "a"
    assert [lease.data for lease in fifo.pop("w", count=10)] == ["one", "two"]


@proves("T-31", "T-32")
def test_jobs_leave_in_the_order_in_which_they_were_put(fifo: Queue) -> None:
    for data in (10, 20, 30, 40):
        fifo.put(data)

    assert [fifo.pop("w")[0].data for _ in range(4)] == [10, 20, 30, 40]
    assert fifo.pop("w") == []


@proves("T-74")
def test_waiting_jobs_are_listed_in_pop_order(fifo: Queue) -> None:
    ids = fifo.put_many([10, 20, 30])

    assert [job.id for job in fifo.jobs("waiting").jobs] == ids
    assert [job.id for job in fifo.peek(3)] == ids


@proves("T-31")
def test_a_put_stores_place_and_data_by_one_command(fifo: Queue, url: str) -> None:
    fifo.put("warm")

    with commands(url) as sent:
        job_id = fifo.put("data")

    assert [line.split()[0] for line in sent] == ["FCALL"]
    assert [(job.id, job.data) for job in fifo.jobs("waiting").jobs][1:] == [(job_id, "data")]


@proves("T-32", "T-34")
def test_a_pop_deletes_the_job(hr: Client, fifo: Queue) -> None:
    empty = set(dump(hr))
    small, large = fifo.put("x"), fifo.put("x" * 5000)

    leases = fifo.pop("w", count=2)

    assert [lease.id for lease in leases] == [small, large]
    assert [len(lease.data) for lease in leases] == [1, 5000]
    assert hr.jobs([small, large]) == []
    left = {key.split("}:")[1] for key in set(dump(hr)) - empty}
    assert left <= {"agenda", "events", "log", "books:steps"}


@proves("T-32", "T-34")
def test_deleted_by_pop_counts_as_waited_but_not_run(hr: Client, fifo: Queue) -> None:
    fifo.configure(stats=True)
    fifo.put("x")

    fifo.pop("w")

    assert [(event.kind, event.wait, event.run) for event in hr.events() if event.job_id] == [
        ("put", None, None),
        ("popped", 0, None),
        ("completed", None, None),
    ]
    assert (fifo.stats().wait.count, fifo.stats().run.count) == (1, 0)


@proves("T-32")
def test_a_waiting_pop_gets_the_next_job(hr: Client, fifo: Queue) -> None:
    with meanwhile(lambda: fifo.pop("w", wait=20)) as popped:
        until_listened_to(hr, "queue:steps")
        fifo.put("now")

    assert [lease.data for lease in popped.result()] == ["now"]


@proves("T-33")
@pytest.mark.parametrize("wait", [0, 0.2])
def test_waiting_pop_that_times_out_changes_nothing(hr: Client, fifo: Queue, wait: float) -> None:
    before = dump(hr)
    started = time.monotonic()

    assert fifo.pop("w", wait=wait) == []

    assert wait <= time.monotonic() - started < wait + 2
    assert dump(hr) == before


@proves("T-34")
def test_each_of_many_jobs_goes_to_one_of_two_workers(fifo: Queue) -> None:
    put = fifo.put_many(range(40))

    def take(worker: str) -> list[str]:
        taken: list[str] = []
        while leases := fifo.pop(worker, count=3):
            taken += [lease.id for lease in leases]
        return taken

    with meanwhile(lambda: take("other")) as others:
        mine = take("mine")

    assert sorted(mine + others.result()) == sorted(put)


@proves("T-34")
def test_popped_job_never_comes_back(hr: Client, fifo: Queue, clock: Clock) -> None:
    hr.session("w", ttl=3)
    fifo.put("once")
    [lease] = fifo.pop("w")

    clock.tick(86_400)
    hr.sweep()

    assert fifo.pop("other") == []
    with pytest.raises(JobNotFound):
        lease.complete()
    with pytest.raises(JobNotFound):
        lease.release()
    assert hr.audit().balanced
