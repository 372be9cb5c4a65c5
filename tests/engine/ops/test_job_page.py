"""Queue.jobs: the jobs of a queue in one state, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one

Fill = Callable[[Queue, Clock, list[str]], None]


def wait(queue: Queue, _clock: Clock, names: list[str]) -> None:
    for name in names:
        queue.put(1, id=name)


def schedule(queue: Queue, _clock: Clock, names: list[str]) -> None:
    for number, name in reversed(list(enumerate(names))):
        queue.put(1, id=name, delay=number + 1)


def run(queue: Queue, _clock: Clock, names: list[str]) -> None:
    wait(queue, _clock, names[::-1])
    for number in reversed(range(len(names))):
        queue.pop("w1", lease=100 + number)


def fail(queue: Queue, clock: Clock, names: list[str]) -> None:
    for name in names[::-1]:
        queue.put(1, id=name)
        pop_one(queue).fail("broken")
        clock.tick(0.001)


def complete(queue: Queue, clock: Clock, names: list[str]) -> None:
    for name in names[::-1]:
        queue.put(1, id=name)
        pop_one(queue).complete()
        clock.tick(0.001)


STATES: dict[str, Fill] = {
    "waiting": wait,
    "scheduled": schedule,
    "running": run,
    "failed": fail,
    "complete": complete,
}


@proves("QL-16", "QD-15")
@pytest.mark.parametrize("state", STATES)
def test_jobs_of_a_state_are_listed_in_order_25_per_page(
    queue: Queue, clock: Clock, state: str
) -> None:
    names = [f"{number:02}" for number in range(27)]
    STATES[state](queue, clock, names)

    page = queue.jobs(state)

    assert (page.total, ids(page.jobs)) == (27, names[:25])
    assert {job.state for job in page.jobs} == {state}


@proves("QL-16", "QD-17")
@pytest.mark.parametrize("state", STATES)
def test_pages_meet_without_gap_or_overlap(queue: Queue, clock: Clock, state: str) -> None:
    names = [f"{number:02}" for number in range(7)]
    STATES[state](queue, clock, names)

    for count in range(1, 9):
        read: list[str] = []
        for offset in range(0, 7, count):
            page = queue.jobs(state, offset=offset, count=count)
            assert (page.total, len(page.jobs)) == (7, min(count, 7 - offset))
            read += ids(page.jobs)
        assert read == names
    assert queue.jobs(state, offset=7).jobs == []


@proves("QL-16")
def test_waiting_jobs_are_listed_as_they_will_be_served(queue: Queue) -> None:
    for priority in (3, -1, 0, -1, 3):
        queue.put(1, priority=priority)

    assert ids(queue.jobs("waiting").jobs) == drain(queue)


@proves("QL-16")
def test_listed_job_equals_the_job_read_by_id(hr: Client, queue: Queue) -> None:
    queue.put({"big": "x" * 5000}, id="x", tags=["vip"])

    assert queue.jobs("waiting").jobs == [found(hr, "x")]


@proves("QL-16")
def test_other_queues_and_other_states_are_not_listed(hr: Client, queue: Queue) -> None:
    queue.put(1, id="mine")
    hr.queue("other").put(1)
    before = dump(hr)

    assert ids(queue.jobs("waiting").jobs) == ["mine"]
    for state in ("scheduled", "blocked", "running", "failed", "complete"):
        assert (queue.jobs(state).total, queue.jobs(state).jobs) == (0, [])
    assert dump(hr) == before


@proves("QD-17", "Q-04")
@pytest.mark.parametrize(
    "options",
    [
        {"state": "stalled"},
        {"state": None},
        {"offset": -1},
        {"offset": 1.5},
        {"count": 0},
        {"count": -1},
        {"count": 1001},
    ],
    ids=repr,
)
def test_page_of_an_unknown_state_is_refused(queue: Queue, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        queue.jobs(**{"state": "waiting"} | options)
