"""The work of each call is bounded, in whatever state the namespace is.

The tests count commands and jobs read, which do not depend on the machine. A state that needs more
work than one call may do is handled by several calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from headrace import Client, Put, Queue
from headrace.engine import keys
from headrace.testing import Clock
from tests.support.call_work import counted_calls

# More than twice of what any call may handle.
MANY = 1500
PART = 250
# 25 ms of CPU time are enough for more than this many commands.
MOST_COMMANDS = 4000
MOST_JOBS_READ = 1500

Prepare = Callable[[Client, Queue, Clock], object]


def pop_all(queue: Queue, worker: str, count: int = 500, lease: float | None = None) -> int:
    number = 0
    while leases := queue.pop(worker, count=count, lease=lease):
        number += len(leases)
    return number


def hold(hr: Client, queue: Queue, worker: str, number: int = MANY) -> None:
    """Let a worker with a session hold jobs without a deadline."""
    hr.session(worker)
    queue.put_many(range(number))
    assert pop_all(queue, worker, lease=math.inf) == number


def late_leases(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(MANY))
    pop_all(queue, "slow", lease=1)
    clock.tick(2)


def late_leases_of_single_pops(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(300))
    for _ in range(300):
        queue.pop("slow", lease=1)
        clock.tick(0.001)
    clock.tick(2)


def late_leases_under_a_limit(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(MANY), throttles=["api"])
    pop_all(queue, "slow", lease=1)
    hr.throttles.set("api", concurrency=0)
    clock.tick(2)


def dead_worker(hr: Client, queue: Queue, clock: Clock) -> None:
    hold(hr, queue, "dead")
    clock.tick(10)


def dead_worker_of_another_queue(hr: Client, queue: Queue, clock: Clock) -> None:
    hold(hr, hr.queue("other"), "dead")
    queue.put_many(range(10))
    clock.tick(10)


def many_dead_workers(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(MANY))
    hr.queue("other").put_many(range(MANY))
    for number in range(300):
        hr.session(f"w{number}")
        queue.pop(f"w{number}", count=5, lease=math.inf)
        hr.queue("other").pop(f"w{number}", count=5, lease=math.inf)
    clock.tick(10)


def due_jobs(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(MANY), delay=1)
    clock.tick(2)


def schedules_with_a_long_backlog(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.schedule("a", 1, every=1, backlog=None)
    queue.schedule("b", 1, cron="* * * * *", backlog=None, tags=["x"])
    queue.schedule("c", 1, cron="* * * * *", backlog=None, unique=True)
    clock.tick(3000)


def pushed_elements(hr: Client, queue: Queue, _clock: Clock) -> None:
    where = hr.core.key(0, keys.ingress(queue.name))
    hr.core.transport.send([(0, ("LPUSH", where, *map(str, range(MANY))))])


def large_payloads(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.put_many(["x" * 100_000] * 100)


def expired_start_deadlines(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(MANY), start_within=1, tags=["a", "b"])
    clock.tick(2)


def old_complete_jobs(hr: Client, queue: Queue, clock: Clock) -> None:
    for number in range(20):
        each = hr.queue(f"q{number}")
        each.configure(keep_age=1)
        each.put_many(range(PART), tags=["a"])
        hr.leases.complete(each.pop("w", count=PART), results=[1] * PART)
    queue.put(1)
    clock.tick(2)


def jobs_that_get_lanes(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.put_many([Put(n, key=str(n % 900)) for n in range(MANY)])
    queue.configure(fair=True, key_concurrency=1)


def keys_at_their_limit(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.configure(key_concurrency=1)
    for _ in range(2):
        queue.put_many([Put(n, key=str(n)) for n in range(MANY)])
    pop_all(queue, "w")


def keys_with_a_raised_limit(hr: Client, queue: Queue, clock: Clock) -> None:
    keys_at_their_limit(hr, queue, clock)
    queue.configure(key_concurrency=2)


def keys_whose_rates_refill(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.configure(key_rate="1/m")
    for _ in range(2):
        queue.put_many([Put(n, key=str(n)) for n in range(MANY)])
    pop_all(queue, "w")
    clock.tick(120)


def dependents(_hr: Client, queue: Queue, _clock: Clock) -> None:
    queue.put(1, id="parent", priority=-1)
    queue.put_many(range(MANY), depends_on=["parent"], if_dependency_fails="cancel")


def everything(hr: Client, queue: Queue, clock: Clock) -> None:
    hold(hr, queue, "dead")
    queue.put_many(range(MANY))
    pop_all(queue, "slow", lease=20)
    queue.put_many(range(MANY), delay=20)
    queue.put_many(range(MANY), start_within=20)
    old_complete_jobs(hr, queue, clock)
    schedules_with_a_long_backlog(hr, queue, clock)
    pushed_elements(hr, queue, clock)


STATES: list[Prepare] = [
    late_leases,
    late_leases_of_single_pops,
    late_leases_under_a_limit,
    dead_worker,
    dead_worker_of_another_queue,
    many_dead_workers,
    due_jobs,
    schedules_with_a_long_backlog,
    pushed_elements,
    large_payloads,
    expired_start_deadlines,
    old_complete_jobs,
    jobs_that_get_lanes,
    keys_at_their_limit,
    keys_with_a_raised_limit,
    keys_whose_rates_refill,
    dependents,
    everything,
]


@pytest.mark.parametrize("prepare", STATES, ids=lambda prepare: prepare.__name__)
def test_calls_do_a_bounded_amount_of_work(
    hr: Client, queue: Queue, clock: Clock, url: str, prepare: Prepare
) -> None:
    prepare(hr, queue, clock)

    with counted_calls(url) as calls:
        queue.pop("a")
        leases = queue.pop("a", count=500)
        hr.leases.complete(leases)
        queue.peek()
        queue.put("new")
        for _ in range(3):
            hr.leases.complete(queue.pop("a", count=250))
        hr.sweep()
        hr.audit()
        queue.delete()

    assert [call for call in calls if call.commands > MOST_COMMANDS] == []
    assert [call for call in calls if call.jobs_read > MOST_JOBS_READ] == []


def test_a_pop_does_not_depend_on_the_number_of_late_leases(
    hr: Client, clock: Clock, url: str
) -> None:
    few, many = hr.queue("few"), hr.queue("many")
    for queue, number in ((few, 300), (many, 3000)):
        queue.put_many(range(number))
        pop_all(queue, "slow", count=250, lease=1)
    clock.tick(2)

    with counted_calls(url) as calls:
        assert len(few.pop("a")) == len(many.pop("a")) == 1

    assert [call.op for call in calls] == ["pop", "pop"]
    assert calls[0] == calls[1]
    assert calls[0].jobs_read <= 120


def test_a_dead_worker_of_another_queue_hardly_delays_a_pop(
    hr: Client, queue: Queue, clock: Clock, url: str
) -> None:
    dead_worker_of_another_queue(hr, queue, clock)

    with counted_calls(url) as calls:
        assert len(queue.pop("a")) == 1

    [call] = calls
    assert call.jobs_read <= 40
    assert hr.queue("other").counts().running >= MANY - 40
