"""depend: adds dependencies to a job that has not started."""

from __future__ import annotations

import pytest

from headrace import Client, DependencyRefused, InvalidArgument, JobNotFound, Put, Queue, WrongState
from headrace.testing import Clock
from tests.engine.links.test_put import states
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, pop_one


@proves("QL-11")
@pytest.mark.parametrize("delay", [0, 10])
def test_a_job_that_waits_or_is_scheduled_is_blocked(
    hr: Client, queue: Queue, clock: Clock, delay: int
) -> None:
    queue.put(0, id="a")
    queue.put(0, id="x", delay=delay, priority=-1)

    assert hr.dependencies.add("x", on=["a"]) == "blocked"

    assert found(hr, "x").depends_on == ["a"]
    assert [event.kind for event in hr.events()] == ["put", "put", "blocked"]
    pop_one(queue).complete()
    assert states(hr, "x") == ["scheduled" if delay else "waiting"]
    clock.tick(delay)
    assert pop_one(queue).id == "x"
    assert hr.audit().problems == []


@proves("QL-11")
def test_blocked_job_also_waits_for_added_dependencies(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="b")])
    queue.put(0, id="x", depends_on=["a"])

    assert hr.dependencies.add("x", on=["a", "b"]) == "blocked"

    for lease in queue.pop("w", count=2):
        assert states(hr, "x") == ["blocked"]
        lease.complete()
    assert states(hr, "x") == ["waiting"]
    assert [event.kind for event in hr.events() if event.job_id == "x"] == ["put", "unlocked"]


@proves("QL-11")
def test_finished_dependency_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    pop_one(queue).complete()
    queue.put(0, id="x")
    before = dump(hr)

    assert hr.dependencies.add("x", on=["a", "never"]) == "waiting"
    assert hr.dependencies.add("x", on=[]) == "waiting"

    assert dump(hr) == before


@proves("QL-11")
@pytest.mark.parametrize("state", ["running", "failed", "complete"])
def test_failed_or_running_job_cannot_be_blocked(hr: Client, queue: Queue, state: str) -> None:
    queue.put(0, id="x")
    lease = pop_one(queue)
    if state == "failed":
        lease.fail("io")
    elif state == "complete":
        lease.complete()
    queue.put(0, id="a")
    before = dump(hr)

    with pytest.raises(WrongState, match=f"is {state}"):
        hr.dependencies.add("x", on=["a"])
    with pytest.raises(JobNotFound):
        hr.dependencies.add("never", on=["a"])

    assert dump(hr) == before


@proves("QL-11")
def test_a_job_cannot_depend_on_too_many(hr: Client, queue: Queue) -> None:
    names = queue.put_many(range(5000))
    queue.put(0, id="x", depends_on=names)
    queue.put(0, id="one more")
    before = dump(hr)

    with pytest.raises(DependencyRefused, match="more than 5,000 dependencies; use a group"):
        hr.dependencies.add("x", on=["one more"])
    with pytest.raises(InvalidArgument, match="depends_on must list at most 5000 names, not 5001"):
        queue.put(0, depends_on=[*names, "one more"])

    assert dump(hr) == before
    assert hr.cancel(*names, cascade=True) == names
    assert states(hr, "x") == ["gone"]
    assert not [key for key in dump(hr) if "depend" in key]
