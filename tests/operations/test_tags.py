"""Tags.jobs and Tags.top: jobs by tag, and the most frequent tags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, Put, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import ids, pop_one, wait


@proves("QL-15")
def test_jobs_are_listed_by_when_they_were_tagged(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    for name in ("c", "a", "b"):
        queue.put(1, id=name, tags=["t"])
        clock.tick(1)
    hr.tags.add("x", "t")
    clock.tick(1)
    hr.tags.add("c", "t")
    hr.tags.remove("a", "t")
    hr.tags.add("a", "t")

    assert ids(hr.tags.jobs("t").jobs) == ["c", "b", "x", "a"]
    assert hr.tags.jobs("t").total == 4
    assert (hr.tags.jobs("none").total, hr.tags.jobs("none").jobs) == (0, [])


@proves("QL-15")
def test_pages_of_a_tag_meet(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(n, id=f"{n:02}", tags=["t"]) for n in range(60)])

    pages = [hr.tags.jobs("t", offset=offset) for offset in (0, 25, 50, 75)]

    assert [page.total for page in pages] == [60] * 4
    assert [job for page in pages for job in ids(page.jobs)] == [f"{n:02}" for n in range(60)]


@proves("QL-15")
def test_the_most_used_tags_come_first_and_need_two_jobs(hr: Client, queue: Queue) -> None:
    queue.put(1, tags=["one", "two", "three"])
    queue.put(1, tags=["two", "three"])
    queue.put(1, tags=["three", "too"])
    queue.put(1, tags=["too"])

    assert list(hr.tags.top().items()) == [("three", 3), ("two", 2), ("too", 2)]
    assert hr.tags.top(least=1, offset=1, count=2) == {"two": 2, "too": 2}
    assert list(hr.tags.top(least=1)) == ["three", "two", "too", "one"]
    assert hr.tags.top(least=4) == {}


# how a record is deleted

ENDS: dict[str, Callable[[Client, Queue, Clock], object]] = {
    "cancelled": lambda hr, _queue, _clock: hr.cancel("x"),
    "expired": lambda hr, _queue, clock: (wait(clock, 60), hr.sweep()),
    "queue deleted": lambda _hr, queue, _clock: queue.delete(),
    "complete and queue deleted": lambda _hr, queue, _clock: (
        pop_one(queue).complete(),
        queue.delete(),
    ),
    "result and queue deleted": lambda _hr, queue, _clock: (
        queue.configure(keep_count=0),
        pop_one(queue).complete(1),
        queue.delete(),
    ),
    "not kept": lambda _hr, queue, _clock: (
        queue.configure(keep_count=0),
        pop_one(queue).complete(),
    ),
    "no longer kept": lambda hr, queue, clock: (
        pop_one(queue).complete(),
        wait(clock, 7 * 86_400),
        hr.sweep(),
    ),
    "one too many": lambda _hr, queue, clock: (
        queue.configure(keep_count=1),
        pop_one(queue).complete(),
        wait(clock, 1),
        queue.put(1),
        pop_one(queue).complete(),
    ),
    "result taken": lambda hr, queue, _clock: (
        queue.configure(keep_count=0),
        pop_one(queue).complete(1),
        hr.result("x", take=True),
    ),
    "result over": lambda hr, queue, clock: (
        queue.configure(keep_count=0),
        pop_one(queue).complete(1),
        wait(clock, 86_400),
        hr.sweep(),
    ),
    "popped for good": lambda _hr, queue, _clock: (queue.configure("fifo"), queue.pop("w")),
}


@proves("QL-15")
@pytest.mark.parametrize("end", ENDS)
def test_deleted_job_is_not_listed_under_its_tags(
    hr: Client, queue: Queue, clock: Clock, end: str
) -> None:
    hr.queue("other").put(1, id="y", tags=["a"])
    queue.put(1, id="x", tags=["a", "b"], start_within=60)

    ENDS[end](hr, queue, clock)

    assert hr.job("x") is None
    assert hr.tags.top(least=1) == {"a": 1}
    assert ids(hr.tags.jobs("a").jobs) == ["y"]
    assert not [key for key in dump(hr) if key.endswith(":tag:b")]
    assert hr.audit().problems == []


@proves("QL-15")
@pytest.mark.parametrize("policy", ["replace", "move"])
def test_put_of_the_same_id_updates_the_index(
    hr: Client, queue: Queue, clock: Clock, policy: str
) -> None:
    for name in ("x", "y"):
        queue.put(1, id=name, tags=["a", "b"])
        clock.tick(1)

    queue.put(2, id="x", tags=["b", "c"], on_exists=policy)
    queue.put(2, id="y", on_exists=policy)

    assert hr.tags.top(least=1) == {"b": 2, "a": 1, "c": 1}
    assert ids(hr.tags.jobs("b").jobs) == ["x", "y"]


def test_many_jobs_of_many_tags_are_audited_in_pages(hr: Client, queue: Queue) -> None:
    queue.put_many([Put(n, id=f"{n}", tags=["all", f"tag {n}"]) for n in range(1100)])
    assert hr.audit().problems == []

    key = hr.core.key(0, "tag:all")
    hr.core.transport.send([(0, ("ZADD", key, 9e15, "ghost"))])

    assert hr.audit().problems == [
        "job 'ghost' is listed under tag all but has no record",
        "tag 'all': the counter says 1100 jobs, but the index has 1101",
    ]
