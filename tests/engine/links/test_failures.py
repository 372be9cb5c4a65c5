"""A dependency that fails or is deleted: dependents follow their policy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, HasDependents, InvalidArgument, Put, Queue
from headrace.testing import Clock
from tests.engine.links.test_put import states
from tests.proof import proves
from tests.support.channels import commands
from tests.support.dump import dump
from tests.support.jobs import drain, found, pop_one

POLICIES = ("wait", "run", "cancel", "fail")


def one_for_each_policy(queue: Queue, parent: str) -> None:
    for policy in POLICIES:
        queue.put(policy, id=policy, depends_on=[parent], if_dependency_fails=policy)


@proves("QL-11")
def test_failed_dependency_follows_the_policy_of_each_dependent(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    one_for_each_policy(queue, "a")

    pop_one(queue).fail("io", "no route")

    assert states(hr, *POLICIES) == ["blocked", "waiting", "gone", "failed"]
    failure = found(hr, "fail").failure
    assert failure is not None
    assert (failure.type, failure.message) == ("dependency failed", "job a failed")
    cancelled = [event for event in hr.events() if event.kind == "cancelled"]
    assert [(event.job_id, event.reason) for event in cancelled] == [
        ("cancel", "dependency failed")
    ]
    assert found(hr, "a").dependents == ["wait"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_later_attempt_unlocks_waiting_dependents(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a", retries=0)
    queue.put(0, id="b", depends_on=["a"])
    pop_one(queue).fail("io")

    hr.retry("a")
    assert states(hr, "b") == ["blocked"]
    pop_one(queue).complete()

    assert states(hr, "b") == ["waiting"]


@proves("QL-11")
def test_retried_attempt_does_not_affect_dependents(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    one_for_each_policy(queue, "a")

    pop_one(queue).fail("io", retry_in=0)

    assert states(hr, *POLICIES) == ["blocked"] * 4


@proves("QL-11")
def test_a_dependency_that_had_failed_before_counts_at_once(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    hr.fail("a", "io")

    one_for_each_policy(queue, "a")

    assert states(hr, *POLICIES) == ["blocked", "waiting", "gone", "failed"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_retries_that_are_used_up_are_a_failure(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(0, id="a", retries=0)
    queue.put(0, id="b", depends_on=["a"], if_dependency_fails="fail")
    queue.pop("w", lease=5)
    clock.tick(5)

    assert queue.pop("w") == []

    assert states(hr, "a", "b") == ["failed", "failed"]


def expire(hr: Client, clock: Clock) -> None:
    clock.tick(60)
    hr.sweep()


GONE: dict[str, Callable[[Client, Clock], object]] = {
    "expired": expire,
    "queue deleted": lambda hr, _clock: hr.queue("other").delete(),
    "cancelled by its data": lambda hr, _clock: hr.queue("other").cancel_matching("data"),
}


@proves("QL-11")
@pytest.mark.parametrize("way", GONE)
def test_deleted_dependency_follows_the_policy_of_each_dependent(
    hr: Client, queue: Queue, clock: Clock, way: str
) -> None:
    hr.queue("other").put("data", id="a", start_within=60)
    one_for_each_policy(queue, "a")

    GONE[way](hr, clock)

    assert states(hr, *POLICIES) == ["failed", "waiting", "gone", "failed"]
    for name in ("wait", "fail"):
        failure = found(hr, name).failure
        assert failure is not None
        assert (failure.type, failure.message) == (
            "dependency gone",
            "job a is gone and was never completed",
        )
    assert hr.audit().problems == []


@proves("QL-11")
def test_failure_propagates_from_job_to_job(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"], if_dependency_fails="cancel")
    queue.put(0, id="c", depends_on=["b"], if_dependency_fails="fail")
    queue.put(0, id="d", depends_on=["c"], if_dependency_fails="run")
    queue.put(0, id="e", depends_on=["d"])

    pop_one(queue).fail("io")

    assert states(hr, *"bcde") == ["gone", "failed", "waiting", "blocked"]


@proves("QL-11")
def test_job_that_failed_with_its_dependency_can_be_retried(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"], if_dependency_fails="fail")
    pop_one(queue).fail("io")

    assert hr.retry(failure="dependency failed") == ["waiting"]

    assert drain(queue) == ["b"]


# cancel


@proves("QL-11")
def test_job_with_dependents_is_not_cancelled(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="free")])
    queue.put(0, id="b", depends_on=["a"])
    before = dump(hr)

    with pytest.raises(HasDependents, match=r"'a' has dependents \('b'\)") as refused:
        hr.cancel("free", "a")

    assert (refused.value.job_id, refused.value.dependents) == ("a", ["b"])
    assert dump(hr) == before


@proves("QL-11")
@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_jobs_that_depend_only_on_each_other_are_cancelled_together(
    hr: Client, queue: Queue, order: str
) -> None:
    queue.put(0, id="a")
    queue.put(0, id="b", depends_on=["a"], if_dependency_fails="fail")
    queue.put(0, id="c", depends_on=["b", "a"])
    with pytest.raises(HasDependents):
        hr.cancel("a", "b")

    assert hr.cancel(*order) == [*order]

    assert states(hr, *"abc") == ["gone"] * 3
    assert [event.kind for event in hr.events()] == ["put"] * 3 + ["cancelled"] * 3
    assert hr.audit().problems == []


@proves("QL-11")
def test_cascade_cancels_all_dependents(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(0, id="a"), Put(0, id="other")])
    for policy in POLICIES:
        queue.put(0, id=policy, depends_on=["a", "other"], if_dependency_fails=policy)
        queue.put(0, id=f"after {policy}", depends_on=[policy])

    assert hr.cancel("a", cascade=True) == ["a"]

    assert (queue.counts().length, states(hr, "other")) == (1, ["waiting"])
    assert found(hr, "other").dependents == []
    reasons = [event.reason for event in hr.events() if event.kind == "cancelled"]
    assert reasons == ["operator", *["cascade"] * 8]
    assert hr.audit().problems == []


@proves("QL-11")
def test_large_cascade_continues_in_further_steps(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    queue.put_many(range(600), depends_on=["a"])

    hr.cancel("a", cascade=True)
    assert queue.counts().blocked == 600 - 256
    hr.sweep()

    assert queue.counts().length == 0
    assert hr.audit().problems == []


# many


@proves("QL-11")
def test_a_thousand_are_unlocked_by_a_sweep_alone(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    names = queue.put_many(range(1000), depends_on=["a"])
    pop_one(queue).complete()
    assert queue.counts().waiting == 256
    assert hr.audit().problems == []

    hr.sweep()

    assert queue.counts().waiting == 1000
    assert [lease.id for lease in queue.pop("w", count=500)] == names[:500]
    assert not [key for key in dump(hr) if "unlock" in key or "depend" in key]


@proves("QL-11")
def test_a_thousand_are_unlocked_by_ordinary_calls(hr: Client, queue: Queue) -> None:
    hr.queue("other").put(0, id="a")
    queue.put_many(range(1000), depends_on=["a"])
    pop_one(hr.queue("other")).complete()
    for _ in range(3):
        hr.queue("other").put(0)

    assert queue.counts().waiting == 1000


@proves("QL-11")
def test_pending_unlock_ignores_a_new_job_with_the_same_id(hr: Client, queue: Queue) -> None:
    other = hr.queue("other")
    other.configure(keep_count=0)
    other.put(0, id="a")
    names = queue.put_many(range(300), depends_on=["a"])
    pop_one(other).complete()
    late = names[-1]
    hr.cancel(late)
    other.put_many([Put("a new one", id="a")])
    queue.put("a new one", id=late, depends_on=["a"])

    hr.sweep()

    assert (queue.counts().waiting, queue.counts().blocked) == (299, 1)
    assert found(hr, late).depends_on == ["a"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_job_that_finishes_twice_unlocks_its_dependents_twice(hr: Client, queue: Queue) -> None:
    queue.put(0, id="a")
    for _ in range(2):
        queue.put_many(range(400), depends_on=["a"], if_dependency_fails="run")
        hr.fail("a", "io")
        assert hr.retry("a") == ["waiting"]
    hr.sweep()

    assert (queue.counts().waiting, queue.counts().blocked) == (801, 0)
    assert hr.audit().problems == []


@proves("QL-11")
def test_dependencies_are_added_and_removed_in_bounded_steps(
    hr: Client, queue: Queue, url: str
) -> None:
    names = queue.put_many(range(1000))
    with commands(url) as sent:
        queue.put_many([0] * 25, depends_on=names)
    assert len(sent) == 5

    hr.cancel(names[0], cascade=True)

    assert 0 < queue.counts().blocked < 25
    hr.sweep()
    assert (queue.counts().blocked, queue.counts().waiting) == (0, 999)
    assert not [key for key in dump(hr) if "unlock" in key or "depend" in key]


@proves("QL-11")
def test_many_that_move_on_are_blocked_in_bounded_steps(hr: Client, queue: Queue, url: str) -> None:
    names = hr.queue("other").put_many(range(1000))
    queue.put_many(range(25))
    leases = queue.pop("w", count=25)

    with commands(url) as sent:
        assert hr.leases.complete(leases, next="later", depends_on=names) == ["blocked"] * 25

    assert len(sent) == 5


def test_chain_with_too_many_dependencies_is_refused(hr: Client) -> None:
    many = [f"job {number}" for number in range(1000)]
    with pytest.raises(InvalidArgument, match="a chain may have at most 5000 dependencies"):
        hr.chain([("mail", Put(0, depends_on=many))] * 6)
