"""Groups: a callback runs when all jobs of a group are finished."""

from __future__ import annotations

import pytest

from headrace import Client, DependencyRefused, InvalidArgument, Put, Queue
from headrace.testing import Clock
from tests.engine.links.test_put import states
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, ids, pop_one


@proves("QL-11")
def test_callback_waits_until_every_member_is_finished(hr: Client, queue: Queue) -> None:
    group = hr.group("g")
    members = [group.put("mail", 0), *group.put_many("post", [1, Put(2, id="m")])]
    assert members[-1] == "m"
    callback = group.then("mail", "all done", priority=-1)
    assert (states(hr, callback), group.pending()) == (["blocked"], 3)
    job = found(hr, callback)
    assert (job.depends_on, job.depends_on_groups, job.group) == ([], ["g"], None)
    assert [found(hr, member).group for member in members] == ["g"] * 3

    for lease in [*queue.pop("w", count=9), *hr.queue("post").pop("w", count=9)]:
        assert states(hr, callback) == ["blocked"]
        lease.complete()

    assert (states(hr, callback), group.pending()) == (["waiting"], 0)
    assert not [key for key in dump(hr) if ":group:" in key or "depend" in key]
    assert hr.audit().problems == []


@proves("QL-11")
def test_group_without_members_is_finished(hr: Client) -> None:
    group = hr.group()

    assert (group.pending(), states(hr, group.then("mail", 0))) == (0, ["waiting"])


def test_a_group_without_a_name_is_a_new_one(hr: Client) -> None:
    one, other = hr.group(), hr.group()
    assert one.name != other.name
    assert repr(hr.group("g")) == f"<Group 'g' of {hr.core.namespace!r}>"


@proves("QL-11")
def test_a_member_that_runs_may_put_more_members(hr: Client, queue: Queue) -> None:
    group = hr.group("g")
    group.put("mail", "list the pages")
    callback = group.then("mail", "count them")
    first = pop_one(queue)

    hr.group(first.job.group).put_many("mail", ["page 1", "page 2"])
    first.complete()
    assert states(hr, callback) == ["blocked"]
    for lease in queue.pop("w", count=2):
        lease.complete()

    assert states(hr, callback) == ["waiting"]


POLICIES = ("wait", "run", "cancel", "fail")


@proves("QL-11")
def test_failed_member_follows_the_policy_of_the_callback(hr: Client, queue: Queue) -> None:
    group = hr.group("g")
    group.put_many("mail", [Put(0, id="a"), Put(0, id="b")])
    for policy in POLICIES:
        group.then("post", policy, id=policy, if_dependency_fails=policy)
    first, second = queue.pop("w", count=2)

    first.fail("io")
    assert states(hr, *POLICIES) == ["blocked", "blocked", "gone", "failed"]
    failure = found(hr, "fail").failure
    assert failure is not None
    assert (failure.type, failure.message) == ("dependency failed", "a member of group g failed")
    second.complete()
    assert states(hr, "wait", "run") == ["blocked", "waiting"]
    hr.retry("a")
    pop_one(queue).complete()

    assert states(hr, "wait") == ["waiting"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_a_member_that_had_failed_before_counts_at_once(hr: Client) -> None:
    group = hr.group("g")
    group.put("mail", 0, id="a")
    hr.fail("a", "io")

    for policy in POLICIES:
        group.then("post", policy, id=policy, if_dependency_fails=policy)

    assert states(hr, *POLICIES) == ["blocked", "waiting", "gone", "failed"]


@proves("QL-11")
@pytest.mark.parametrize("way", ["cancel", "expire", "delete"])
def test_deleted_member_follows_the_policy_of_the_callback(
    hr: Client, clock: Clock, way: str
) -> None:
    group = hr.group("g")
    group.put("mail", 0, id="a", start_within=60)
    for policy in POLICIES:
        group.then("post", policy, id=policy, if_dependency_fails=policy)

    if way == "cancel":
        hr.cancel("a")
    elif way == "delete":
        hr.queue("mail").delete()
    else:
        clock.tick(60)
        hr.sweep()

    assert states(hr, *POLICIES) == ["failed", "waiting", "gone", "failed"]
    assert (group.pending(), hr.audit().problems) == (0, [])


@proves("QL-11")
def test_a_callback_may_be_a_member_of_another_group(hr: Client, queue: Queue) -> None:
    inner, outer = hr.group("inner"), hr.group("outer")
    inner.put("mail", 0)
    outer.put("mail", 0)
    middle = inner.then("mail", 0, group="outer")
    last = outer.then("mail", 0, depends_on=[middle])
    assert outer.pending() == 2

    for lease in queue.pop("w", count=2):
        lease.complete()
    assert states(hr, middle, last) == ["waiting", "blocked"]
    pop_one(queue).complete()

    assert states(hr, last) == ["waiting"]


@proves("QL-11")
def test_a_group_that_waits_for_itself_is_refused(hr: Client) -> None:
    group = hr.group("g")
    group.put("mail", 0)
    callback = group.then("mail", 0)
    before = dump(hr)

    with pytest.raises(DependencyRefused, match="would depend on itself"):
        group.then("mail", 0, group="g")
    with pytest.raises(DependencyRefused, match="would depend on itself"):
        group.put("mail", 0, depends_on=[callback])

    assert dump(hr) == before


@proves("QL-11")
def test_a_member_that_is_put_into_another_group_leaves_the_first(hr: Client) -> None:
    one, other = hr.group("one"), hr.group("other")
    one.put("mail", 0, id="a")
    callback = one.then("post", 0)

    other.put("mail", 0, id="a")

    assert (one.pending(), other.pending()) == (0, 1)
    assert states(hr, callback) == ["waiting"]
    assert hr.audit().problems == []


@proves("QL-11")
def test_completed_member_put_again_is_a_pending_member_again(hr: Client, queue: Queue) -> None:
    group = hr.group("g")
    group.put("mail", 0, id="a")
    pop_one(queue).complete(next="mail")
    assert group.pending() == 1
    pop_one(queue).complete()
    assert group.pending() == 0

    hr.requeue("a")

    assert group.pending() == 1
    assert hr.audit().problems == []


@proves("QL-11")
def test_callback_can_be_freed_from_its_group(hr: Client) -> None:
    group = hr.group("g")
    group.put("mail", 0)
    callback = group.then("post", 0)

    assert hr.dependencies.remove(callback) == "waiting"

    assert ids(hr.queue("post").peek()) == [callback]
    assert hr.audit().problems == []


def test_callback_accepts_only_the_options_of_a_put(hr: Client) -> None:
    group = hr.group("g")
    with pytest.raises(InvalidArgument, match="no option 'colour'"):
        group.then("mail", 0, colour="red")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="queue must not be empty"):
        group.put("", 0)
    assert group.then("mail", 0, id="x", on_exists="reject", tags=["t"], delay=5) == "x"
    assert (found(hr, "x").state, found(hr, "x").tags) == ("scheduled", ["t"])


@proves("QL-11")
def test_a_thousand_members_and_a_callback_leave_no_keys(hr: Client, queue: Queue) -> None:
    queue.configure(keep_count=0)
    group = hr.group("g")
    group.put_many("mail", range(1000))
    group.then("mail", "last", id="last")

    while leases := queue.pop("w", count=250):
        hr.leases.complete(leases)
        assert (group.pending() == 0) == (queue.counts().blocked == 0)

    left = {key.partition("}:")[2].partition(":")[0] for key in dump(hr)}
    assert left <= {"agenda", "books", "events", "log", "meta", "queues", "settings"} | {
        *("days", "stats", "histogram")
    }
