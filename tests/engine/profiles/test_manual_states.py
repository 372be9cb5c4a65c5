"""manual: a job is in exactly one state, where it can be listed and cancelled."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Client, HeadraceError, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import ids, pop_one

STATES = ("waiting", "scheduled", "running", "failed", "complete")

MOVES: list[Callable[[Client, Queue, str], object]] = [
    lambda _, queue, __: queue.put("more"),
    lambda _, queue, __: queue.put("later", delay=5),
    lambda _, queue, __: queue.pop("w"),
    lambda hr, _, job_id: hr.release(job_id),
    lambda hr, _, job_id: hr.release(job_id, position="front", delay=2),
    lambda hr, _, job_id: hr.fail(job_id, "stalled"),
    lambda hr, _, job_id: hr.retry(job_id),
    lambda hr, _, job_id: hr.finish(job_id),
    lambda hr, _, job_id: hr.finish(job_id, "result"),
    lambda hr, _, job_id: hr.result(job_id, take=True),
    lambda hr, _, job_id: hr.requeue(job_id),
    lambda hr, _, job_id: hr.cancel(job_id),
]


@pytest.fixture
def manual(hr: Client) -> Queue:
    queue = hr.queue("steps")
    queue.configure(profile="manual")
    return queue


def listed(queue: Queue) -> list[str]:
    return [job_id for state in STATES for job_id in ids(queue.jobs(state, count=1000).jobs)]


@proves("T-57")
@pytest.mark.parametrize("seed", range(5))
def test_job_is_in_one_state_and_has_data_until_it_is_deleted(
    hr: Client, manual: Queue, clock: Clock, seed: int
) -> None:
    chance = random.Random(seed)
    known = [manual.put("x" * 2000) for _ in range(5)]
    for _ in range(60):
        try:
            made = chance.choice(MOVES)(hr, manual, chance.choice(known))
        except HeadraceError:
            continue
        finally:
            clock.tick(1)
        known += [made] if isinstance(made, str) and len(made) == 16 else []

    hr.sweep()
    once = listed(manual)
    alone = {job.id for job in hr.jobs(known) if job.state == "complete"}
    assert len(once) == len(set(once))
    assert hr.audit().problems == []
    assert {job.id for job in hr.jobs(known)} == set(once) | alone
    assert all(hr.result(job_id).value == "result" for job_id in alone)


@proves("T-59")
def test_the_jobs_of_every_state_can_be_listed(hr: Client, manual: Queue) -> None:
    running, failed = manual.put("a"), manual.put("b")
    manual.pop("w")
    hr.fail(failed, "stalled")
    scheduled = manual.put("c", delay=5)
    waiting = [manual.put("d"), manual.put("e", priority=-1), manual.put("f")]

    found = {state: ids(manual.jobs(state).jobs) for state in STATES}

    assert found == {
        "waiting": [waiting[1], waiting[0], waiting[2]],
        "scheduled": [scheduled],
        "running": [running],
        "failed": [failed],
        "complete": [],
    }


@proves("T-60")
def test_cancelling_removes_a_job_in_any_state(hr: Client, manual: Queue) -> None:
    empty = set(dump(hr))
    running, failed, waiting = manual.put_many(["x" * 2000] * 3)
    scheduled = manual.put("later", delay=5)
    manual.pop("w")
    hr.release(running, position="front")
    manual.pop("w")
    hr.fail(failed, "stalled")

    assert hr.cancel(running, failed, waiting, scheduled) == [running, failed, waiting, scheduled]

    left = {key.split("}:")[1] for key in set(dump(hr)) - empty}
    assert left <= {"agenda", "books:steps", "events", "log"}
    assert listed(manual) == []
    assert hr.failures.counts() == {}
    assert hr.audit().balanced


@proves("T-60")
def test_cancelling_an_unknown_id_changes_nothing(hr: Client, manual: Queue) -> None:
    kept = manual.put("x")
    before = dump(hr)

    assert hr.cancel("bogus") == []
    assert dump(hr) == before
    assert hr.cancel("bogus", kept) == [kept]


@proves("TD-02", "WD-06")
def test_cancel_by_id_removes_one_of_two_jobs_with_equal_data(hr: Client, manual: Queue) -> None:
    first, second, third = manual.put_many(["same"] * 3)

    hr.cancel(second)
    pop_one(manual)
    hr.finish(first)

    assert listed(manual) == [third]


@proves("TD-15")
def test_timestamps_are_server_time_in_milliseconds(
    hr: Client, manual: Queue, clock: Clock
) -> None:
    put = clock.now
    job_id = manual.put("x", delay=timedelta(milliseconds=1))
    assert manual.jobs("scheduled").jobs[0].due == put + timedelta(milliseconds=1)
    clock.tick(timedelta(milliseconds=1))
    pop_one(manual)
    hr.fail(job_id, "stalled")

    [job] = hr.failures.jobs("stalled").jobs

    assert job.put_at == put
    assert job.failure is not None
    assert job.failure.at == put + timedelta(milliseconds=1)
