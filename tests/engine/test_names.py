"""Any visible name is allowed: none is mistaken for another key, and no script searches keys."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import commands
from tests.support.dump import dump
from tests.support.jobs import pop_one
from tests.support.sessions import serving

NAMES = [
    *("a", "a:b", "b", "a_b", "a_work", "waiting:a", "job:a", "20454:a", "result:a", "complete:a"),
    *(
        "{a}",
        "a}",
        "*",
        "[a-z]*",
        "%s",
        "a b",
        "ä",
        "'",
        '"',
        "\\",
        "0",
        "none",
        "=",
        "#",
        "x" * 250,
    ),
]


@proves("WD-15")
def test_queues_of_any_names_do_not_touch_each_other(hr: Client, clock: Clock) -> None:
    queues = [hr.queue(name) for name in NAMES]
    for number, queue in enumerate(queues):
        queue.configure(lease=number + 1)
        queue.put_many([queue.name] * 4)
        pop_one(queue).complete("result")
        pop_one(queue).fail("no ink")
        pop_one(queue)

    for number, queue in enumerate(queues):
        counts = queue.counts()
        assert (counts.waiting, counts.running, counts.failed, counts.complete) == (1, 1, 1, 1)
        assert queue.settings()["lease"] == number + 1
        assert queue.stats().run.count == 1
        assert queue.peek()[0].data == queue.name
    assert list(hr.queues()) == NAMES
    assert hr.audit().problems == []

    clock.tick(timedelta(days=40))
    hr.sweep()
    assert all(queue.counts().complete == 0 for queue in queues)
    for queue in queues:
        queue.delete()
    left = {key.split(":0}:", 1)[1] for key in dump(hr)}
    assert left <= {"events", "log", "meta", "clock", "agenda"}


@proves("WD-15")
def test_workers_of_any_names_do_not_touch_each_other(hr: Client, queue: Queue) -> None:
    queue.configure(profile="task")
    other = hr.queue("mail:b")
    other.configure(profile="task")
    queue.put_many(NAMES)
    other.put_many(NAMES)
    sessions = {name: serving(hr, name, queue, other) for name in NAMES}
    leases = {name: [pop_one(queue, name), pop_one(other, name)] for name in NAMES}
    assert [(worker.name, worker.jobs) for worker in hr.workers.list()] == [
        (name, 2) for name in sorted(NAMES)
    ]

    for name in NAMES[::2]:
        sessions[name].unserve("mail")
    for name in NAMES[1::2]:
        sessions[name].end()

    assert queue.counts().waiting == len(NAMES)
    assert all(leases[name][1].complete() == "complete" for name in NAMES[::2])
    assert other.counts().waiting == len(NAMES[1::2])
    assert hr.audit().problems == []


@proves("WD-15")
@pytest.mark.parametrize("job_id", NAMES)
def test_an_id_may_be_any_name(hr: Client, queue: Queue, job_id: str) -> None:
    queue.put("x" * 2000, id=job_id)
    lease = pop_one(queue)
    assert lease.id == job_id
    lease.log("line")
    lease.complete("result")

    assert hr.result(job_id, take=True).value == "result"
    assert hr.audit().problems == []


@proves("WD-15")
def test_nothing_is_found_by_searching_the_keys(
    hr: Client, queue: Queue, clock: Clock, url: str
) -> None:
    serving(hr, "w1", queue)
    queue.put_many(range(5))
    queue.pop("w1")
    with commands(url) as sent, commands(url, of_scripts=True) as carried_out:
        hr.queues()
        hr.workers.list()
        hr.failures.counts()
        hr.audit()
        queue.jobs("waiting")
        clock.tick(3)
        hr.sweep()
        queue.delete()

    words = {line.split()[0].upper() for line in sent + carried_out}
    assert words & {"FCALL", "ZRANGE"} == {"FCALL", "ZRANGE"}
    assert not words & {"KEYS", "SCAN", "SMEMBERS", "RANDOMKEY"}
