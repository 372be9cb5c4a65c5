"""put(depends_on=...): a job is blocked until its dependencies are complete."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from headrace import Client, DependencyRefused, InvalidArgument, Lease, Put, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one


def states(hr: Client, *names: str) -> list[str]:
    return [job.state if (job := hr.job(name)) else "gone" for name in names]


@proves("QL-11")
def test_a_job_is_blocked_until_the_last_of_its_dependencies_is_complete(
    hr: Client, queue: Queue
) -> None:
    queue.put_many([Put(1, id="a"), Put(2, id="b")])
    queue.put(3, id="c", depends_on=["a", "b"])
    assert (states(hr, "c"), queue.counts().blocked) == (["blocked"], 1)
    assert found(hr, "c").depends_on == ["a", "b"]
    assert (found(hr, "a").dependents, found(hr, "b").dependents) == (["c"], ["c"])

    pop_one(queue).complete()
    assert (states(hr, "c"), found(hr, "c").depends_on) == (["blocked"], ["b"])
    last = pop_one(queue)
    assert queue.pop("w") == []
    last.complete("result")

    assert states(hr, "c") == ["waiting"]
    assert (found(hr, "c").depends_on, found(hr, "b").dependents) == ([], [])
    assert pop_one(queue).id == "c"
    assert hr.audit().problems == []


@proves("QL-11")
def test_unknown_or_complete_dependency_counts_as_done(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    pop_one(queue).complete()

    queue.put(2, id="b", depends_on=["a", "never"])

    assert (states(hr, "b"), found(hr, "a").dependents) == (["waiting"], [])


@proves("QL-11")
@pytest.mark.parametrize("profile", ["fifo", "task", "manual", "ring"])
def test_dependency_unlocks_its_dependents_even_if_it_is_not_kept(
    hr: Client, queue: Queue, profile: str
) -> None:
    other = hr.queue("other")
    other.configure(profile, session="none")
    other.put(1, id="a")
    queue.put(2, id="b", depends_on=["a"])

    for lease in other.pop("w"):
        if profile != "fifo":
            lease.complete()

    assert states(hr, "a", "b")[1] == "waiting"
    assert hr.audit().problems == []


@proves("QL-11")
def test_dependency_that_moves_to_another_queue_is_not_complete(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    queue.put(2, id="b", depends_on=["a"])

    pop_one(queue).complete(next="later")
    hr.requeue("a")
    hr.queue("later").put("new", id="a")
    assert states(hr, "b") == ["blocked"]
    pop_one(hr.queue("later")).complete()

    assert states(hr, "b") == ["waiting"]


@proves("QL-11")
@pytest.mark.parametrize(("done_after", "state"), [(4, "scheduled"), (10, "waiting")])
def test_a_delay_runs_while_the_job_is_blocked(
    hr: Client, queue: Queue, clock: Clock, done_after: int, state: str
) -> None:
    queue.put(1, id="a")
    queue.put(2, id="b", depends_on=["a"], delay=10)
    due = clock.now + timedelta(seconds=10)
    clock.tick(done_after)

    pop_one(queue).complete()

    assert states(hr, "b") == [state]
    assert found(hr, "b").due == (due if state == "scheduled" else None)
    clock.tick(10 - done_after)
    assert pop_one(queue).id == "b"


@proves("QL-11")
def test_unlocked_jobs_join_the_back_of_their_priority_in_put_order(
    hr: Client, queue: Queue
) -> None:
    queue.put(0, id="a")
    blocked = ["z", "y", "x"]
    queue.put_many([Put(name, id=name, depends_on=["a"]) for name in blocked])
    queue.put(1, id="urgent", priority=-1, depends_on=["a"])
    hr.prioritise("urgent", -2)
    lease = pop_one(queue)
    queue.put(2, id="between")

    lease.complete()

    assert drain(queue) == ["urgent", "between", *blocked]


@proves("QL-11")
def test_time_while_a_job_is_blocked_is_not_waiting_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"])
    lease = pop_one(queue)
    clock.tick(100)
    lease.complete()
    clock.tick(7)
    pop_one(queue)

    waits = [(event.job_id, event.wait) for event in hr.events() if event.kind == "popped"]
    assert waits == [("a", 0), ("b", 7000)]


@proves("QL-11")
def test_unlocked_job_wakes_a_waiting_worker(hr: Client, queue: Queue, url: str) -> None:
    hr.queue("other").put(0, id="a")
    with listening(hr, url, "queue:mail") as listener:
        queue.put_many([1, 2], depends_on=["a"])
        assert listener.messages() == []

        pop_one(hr.queue("other")).complete()

        assert listener.messages() == ["work 2"]


@proves("QL-11")
def test_unlocking_a_job_writes_one_event(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"], delay=5)
    pop_one(queue).complete()

    events = [(event.kind, event.job_id, event.delay) for event in hr.events()]

    assert events[-2:] == [("completed", "a", None), ("unlocked", "b", 5000)]


@proves("QL-11")
def test_a_blocked_job_that_is_not_started_in_time_expires(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"], start_within=5)
    queue.put(0, id="c", depends_on=["b"])
    clock.tick(5)
    hr.sweep()

    assert states(hr, "a", "b", "c") == ["waiting", "gone", "failed"]
    assert found(hr, "a").dependents == []
    assert hr.audit().problems == []


@proves("QL-11")
def test_blocked_jobs_are_listed_and_not_peeked_at(queue: Queue, clock: Clock) -> None:
    queue.put(0, id="a")
    for name in ("z", "y"):
        queue.put(0, id=name, depends_on=["a"])
        clock.tick(1)

    listed = queue.jobs("blocked")

    assert (listed.total, [job.id for job in listed.jobs]) == (2, ["z", "y"])
    assert [job.id for job in queue.peek(5)] == ["a"]
    assert queue.length() == 3


@proves("QL-11")
def test_a_job_that_is_put_again_leaves_its_dependencies_behind_unless_it_has_new_ones(
    hr: Client, queue: Queue
) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="b")])
    queue.put(0, id="x", depends_on=["a"])

    queue.put(1, id="x", depends_on=["b"])
    assert (found(hr, "x").depends_on, found(hr, "a").dependents) == (["b"], [])

    queue.put(2, id="x")
    assert (states(hr, "x"), found(hr, "b").dependents) == (["waiting"], [])


@proves("QL-11")
def test_a_blocked_job_that_is_replaced_stays_blocked_by_the_same(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="b")])
    queue.put("old", id="x", depends_on=["a"])

    queue.put("new", id="x", on_exists="replace", if_dependency_fails="cancel")
    assert (found(hr, "x").data, found(hr, "x").depends_on) == ("new", ["a"])
    queue.put("newer", id="x", on_exists="replace", depends_on=["b"])
    assert found(hr, "x").depends_on == ["b"]
    queue.put("newest", id="x", on_exists="replace", depends_on=[])

    assert states(hr, "x") == ["waiting"]
    assert drain(queue) == ["a", "b", "x"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_a_duplicate_may_depend_on_the_first(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")

    twin = queue.put(1, id="a", on_exists="duplicate", if_dependency_fails="run")
    assert states(hr, twin) == ["waiting"]
    queue.put_many([Put(2, id="b", depends_on=["a", twin])])

    assert found(hr, "b").depends_on == ["a", twin]


@proves("QL-11")
def test_completed_job_with_dependencies_is_blocked_in_its_next_queue(
    hr: Client, queue: Queue
) -> None:
    later = hr.queue("later")
    queue.put_many([Put(0, id="a"), Put(0, id="x")])
    queue.put(0, id="after x", depends_on=["x"])
    first, second = queue.pop("w", count=2)

    assert second.complete(next="later", depends_on=["a"]) == "blocked"
    assert (later.counts().blocked, states(hr, "after x")) == (1, ["blocked"])
    first.complete()

    pop_one(later).complete()
    assert states(hr, "x", "after x") == ["complete", "waiting"]


@proves("QL-11")
def test_many_can_be_blocked_in_their_next_queue(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a", priority=1)
    queue.put_many(range(3))
    leases = queue.pop("w", count=3)

    assert hr.leases.complete(leases, next="later", depends_on=["a"]) == ["blocked"] * 3

    pop_one(queue).complete()
    assert hr.queue("later").counts().waiting == 3


# refusals


def nearly_a_circle(queue: Queue) -> Lease:
    """Put two jobs that depend on a running job."""
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"])
    queue.put(0, id="c", depends_on=["b"])
    return pop_one(queue)


CIRCLES: dict[str, Callable[[Client, Lease], object]] = {
    "put": lambda hr, _lease: hr.queue("mail").put(1, id="a", depends_on=["c"]),
    "replace": lambda hr, _lease: hr.queue("mail").put(
        1, id="a", depends_on=["c"], on_exists="replace"
    ),
    "depend": lambda hr, _lease: hr.dependencies.add("a", on=["c"]),
    "next": lambda _hr, lease: lease.complete(next="later", depends_on=["c"]),
}


@proves("QL-11")
@pytest.mark.parametrize("way", CIRCLES)
def test_job_cannot_depend_on_itself_through_others(hr: Client, queue: Queue, way: str) -> None:
    lease = nearly_a_circle(queue)
    if way in ("replace", "depend"):
        lease.release()
    before = dump(hr)

    with pytest.raises(DependencyRefused, match="would depend on itself") as refused:
        CIRCLES[way](hr, lease)

    assert (refused.value.job_id, refused.value.why) == ("a", "circle")
    assert dump(hr) == before


@proves("QL-11")
def test_a_job_cannot_depend_on_itself(hr: Client, queue: Queue) -> None:
    for attempt in (
        lambda: queue.put(0, id="a", depends_on=["a"]),
        lambda: queue.put_many([Put(0, id="a", depends_on=["b", "a"])]),
        lambda: queue.put_many([Put(0, id="a")], depends_on=["a"]),
    ):
        with pytest.raises(InvalidArgument, match="would depend on itself"):
            attempt()
    assert dump(hr).keys() <= {hr.core.key(0, "meta")}


@proves("QL-11")
def test_dependencies_precede_dependents_in_one_call(hr: Client, queue: Queue) -> None:
    with pytest.raises(InvalidArgument, match="'b', which comes later: put 'b' first"):
        queue.put_many([Put(0, id="a", depends_on=["b"]), Put(0, id="b")])

    queue.put_many([Put(0, id="b"), Put(0, id="a", depends_on=["b"])])

    assert states(hr, "b", "a") == ["waiting", "blocked"]


@proves("QL-11")
def test_job_is_not_made_if_its_dependency_in_the_same_call_is_refused(
    hr: Client, queue: Queue
) -> None:
    group = hr.group("g")
    group.put("mail", 0)
    callback = group.then("mail", 0)

    with pytest.raises(DependencyRefused, match="would depend on itself"):
        queue.put_many(
            [Put(0, id="m", group="g", depends_on=[callback]), Put(0, id="n", depends_on=["m"])]
        )

    assert states(hr, "m", "n") == ["gone", "gone"]


@proves("QL-11")
def test_search_for_a_cycle_terminates(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="other")])
    for first in range(0, 10_001, 500):
        queue.put_many([first] * 500, depends_on=["a"])

    with pytest.raises(DependencyRefused, match="more than 10,000"):
        hr.dependencies.add("a", on=["other"])


@proves("QL-11")
def test_why_a_job_is_blocked_can_be_asked(hr: Client) -> None:
    group = hr.group("g")
    group.put("mail", 0, id="a")
    last = group.then("mail", 0, depends_on=["a"])

    assert hr.why_waiting(last) == "blocked: group g, job a not complete yet"


@proves("QL-11")
def test_unlocked_jobs_keep_to_the_limits_of_their_queue(hr: Client, queue: Queue) -> None:
    queue.configure(concurrency=2, key_concurrency=1)
    hr.queue("other").put(0, id="a")
    queue.put_many([Put(0, id="x", key="acme"), Put(0, id="y", key="acme")], depends_on=["a"])
    queue.put(0, id="z", key="acme")
    assert hr.dependencies.add("z", on=["a"]) == "blocked"
    pop_one(hr.queue("other")).complete()

    first = queue.pop("w", count=3)
    assert [lease.id for lease in first] == ["x"]
    first[0].complete()

    assert pop_one(queue).id == "y"
    assert hr.audit().problems == []
