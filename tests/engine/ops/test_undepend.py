"""undepend: removes dependencies of a blocked job."""

from __future__ import annotations

import pytest

from headrace import Client, JobNotFound, Put, Queue, WrongState
from tests.engine.links.test_put import states
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, pop_one


@pytest.fixture
def blocked(queue: Queue) -> str:
    queue.put_many([Put(0, id="a"), Put(0, id="b"), Put(0, id="c")])
    return queue.put(0, id="x", priority=-1, depends_on=["a", "b", "c"])


@proves("QL-11")
def test_removing_the_last_dependency_unlocks_the_job(
    hr: Client, queue: Queue, blocked: str
) -> None:
    assert hr.dependencies.remove(blocked, "a", "c") == "blocked"
    assert (found(hr, blocked).depends_on, found(hr, "a").dependents) == (["b"], [])
    assert hr.dependencies.remove(blocked, "b") == "waiting"

    assert pop_one(queue).id == blocked
    assert [event.kind for event in hr.events()][-2:] == ["unlocked", "popped"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_undepend_without_names_removes_all_dependencies(hr: Client, blocked: str) -> None:
    assert hr.dependencies.remove(blocked) == "waiting"

    assert not [key for key in dump(hr) if "depend" in key]


@proves("QL-11")
def test_undepend_of_a_non_dependency_changes_nothing(hr: Client, blocked: str) -> None:
    before = dump(hr)

    assert hr.dependencies.remove(blocked, "never", blocked) == "blocked"

    assert dump(hr) == before


@proves("QL-11")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed", "complete"])
def test_a_job_that_is_not_blocked_is_left_alone(hr: Client, queue: Queue, state: str) -> None:
    queue.put(0, id="x", delay=5 if state == "scheduled" else 0)
    if state not in ("waiting", "scheduled"):
        lease = pop_one(queue)
        {"failed": lambda: lease.fail("io"), "complete": lease.complete}.get(state, bool)()
    before = dump(hr)

    with pytest.raises(WrongState, match=f"is {state}"):
        hr.dependencies.remove("x")
    with pytest.raises(JobNotFound):
        hr.dependencies.remove("never")

    assert dump(hr) == before
    assert states(hr, "x") == [state]
