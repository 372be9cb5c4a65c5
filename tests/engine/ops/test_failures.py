"""failures, failed: the number of failed jobs per type, and the jobs of a type."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import ids, pop_one


def fail(queue: Queue, name: str, kind: str) -> None:
    queue.put(1, id=name)
    pop_one(queue).fail(kind)


def fail_many(queue: Queue, clock: Clock, count: int) -> list[str]:
    """Make failed jobs of one type; return their ids, most recent first."""
    names = [f"{number:03}" for number in range(count)]
    for name in names:
        fail(queue, name, "broken")
        clock.tick(1)
    return names[::-1]


@proves("Q-81", "Q-82", "QD-07")
def test_types_are_counted_over_all_queues_the_most_frequent_first(
    hr: Client, queue: Queue
) -> None:
    fail(queue, "a", "widget failure")
    fail(queue, "b", "upload error")
    fail(hr.queue("other"), "c", "upload error")

    found = hr.failures.counts()

    assert list(found.items()) == [("upload error", 2), ("widget failure", 1)]
    assert {job.queue for job in hr.failures.jobs("upload error").jobs} == {"mail", "other"}


@proves("Q-81")
def test_failure_counts_are_empty_without_failures(hr: Client) -> None:
    assert hr.failures.counts() == {}
    assert (hr.failures.jobs("nothing").total, hr.failures.jobs("nothing").jobs) == (0, [])


@proves("Q-83")
def test_failure_type_without_jobs_is_deleted(hr: Client, queue: Queue) -> None:
    for name in "abcd":
        fail(queue, name, "broken")

    hr.retry("a")
    queue.put(1, id="b")
    hr.cancel("c")
    assert hr.failures.counts() == {"broken": 1}
    hr.requeue("d")

    assert hr.failures.counts() == {}
    assert not [key for key in dump(hr) if "failure" in key]


@proves("Q-82", "QL-02")
def test_a_page_is_25_by_default_most_recent_first(hr: Client, queue: Queue, clock: Clock) -> None:
    names = fail_many(queue, clock, 27)

    page = hr.failures.jobs("broken")

    assert (page.total, ids(page.jobs)) == (27, names[:25])


@proves("QD-17", "QL-02")
@pytest.mark.parametrize("offset", [0, 1, 4, 5, 6, 10, 11])
@pytest.mark.parametrize("count", [1, 5, 6, 10, 11, 12])
def test_a_page_has_count_jobs_from_its_offset_on(
    hr: Client, queue: Queue, clock: Clock, offset: int, count: int
) -> None:
    names = fail_many(queue, clock, 11)

    page = hr.failures.jobs("broken", offset=offset, count=count)

    assert (page.total, ids(page.jobs)) == (11, names[offset : offset + count])


@proves("Q-82")
def test_failure_types_are_paged(hr: Client, queue: Queue) -> None:
    for number in range(30):
        fail(queue, f"job {number}", f"type {number:02}")

    assert len(hr.failures.counts()) == 25
    assert list(hr.failures.counts(offset=0, count=30)) == [
        f"type {number:02}" for number in range(30)
    ]
    assert list(hr.failures.counts(offset=28, count=5)) == ["type 28", "type 29"]


@proves("QD-17", "Q-04")
@pytest.mark.parametrize("options", [{"offset": -1}, {"count": 0}, {"count": 1001}, {"count": 2.0}])
def test_a_page_begins_at_0_and_has_up_to_1000(hr: Client, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        hr.failures.jobs("broken", **options)
    with pytest.raises(InvalidArgument):
        hr.failures.counts(**options)
