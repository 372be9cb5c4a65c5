"""Every call does some housekeeping of lanes, even a call for another queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, Queue
from headrace.testing import Clock

Trigger = Callable[[Client, Queue], object]
TRIGGERS: dict[str, Trigger] = {
    "put": lambda _, other: other.put(1),
    "pop": lambda _, other: other.pop("w"),
    "pop of nothing": lambda hr, _: hr.queue("empty").pop("w"),
    "complete": lambda _, other: other.pop("ada")[0].complete(),
    "tag": lambda hr, _: hr.tags.add("other", "red"),
    "feed": lambda hr, _: hr.feed("news").publish("x"),
    "sweep": lambda hr, _: hr.sweep(),
}


@pytest.fixture(params=TRIGGERS)
def trigger(request: pytest.FixtureRequest) -> Trigger:
    return TRIGGERS[request.param]


@pytest.fixture
def other(hr: Client) -> Queue:
    other = hr.queue("other")
    other.put(0, id="other")
    other.put_many(range(4))
    return other


def test_any_call_moves_waiting_jobs_into_lanes(
    hr: Client, queue: Queue, other: Queue, trigger: Trigger
) -> None:
    queue.put("x")
    queue.configure(fair=True)

    trigger(hr, other)
    assert hr.audit().problems == []
    assert [lease.data for lease in queue.pop("bob")] == ["x"]


def test_lane_is_removed_with_its_last_job_by_any_call(
    hr: Client, queue: Queue, other: Queue, clock: Clock, trigger: Trigger
) -> None:
    queue.configure(fair=True)
    queue.put("late", start_within=10, key="k")
    clock.tick(11)

    trigger(hr, other)
    queue.put("next", key="z")
    assert [lease.data for lease in queue.pop("bob", count=5)] == ["next"]


def test_throttle_expires_in_any_call(
    hr: Client, queue: Queue, other: Queue, clock: Clock, trigger: Trigger
) -> None:
    hr.throttles.set("t", concurrency=0, ttl=10)
    queue.put("held", throttles=["t"])
    assert queue.pop("bob") == []
    clock.tick(11)

    trigger(hr, other)
    assert [lease.data for lease in queue.pop("bob")] == ["held"]
