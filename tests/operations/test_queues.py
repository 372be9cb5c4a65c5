"""queues: the queues of a namespace."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one


@proves("QL-17", "Q-05")
def test_queues_are_listed_in_the_order_of_their_first_use_with_their_counts(hr: Client) -> None:
    for name in ("zebra", "ant", "mole"):
        hr.queue(name).put(1)
    hr.queue("zebra").put(2)
    pop_one(hr.queue("ant")).complete(next="last")

    queues = hr.queues()

    assert list(queues) == ["zebra", "ant", "mole", "last"]
    assert [counts.waiting for counts in queues.values()] == [2, 0, 1, 1]


@proves("QL-17")
def test_a_deleted_queue_is_not_listed(hr: Client) -> None:
    hr.queue("a").put(1)
    hr.queue("b").put(1)

    hr.queue("a").delete()

    assert list(hr.queues()) == ["b"]


@proves("QL-17")
def test_asking_makes_no_queue(hr: Client) -> None:
    before = dump(hr)
    queue = hr.queue("nothing")

    for look in (queue.counts, queue.settings, queue.stats, queue.peek, queue.length):
        look()
    queue.jobs("waiting")
    queue.pop("w1")

    assert (hr.queues(), dump(hr)) == ({}, before)


@proves("QD-17", "QL-17")
@pytest.mark.parametrize(
    ("offset", "count", "expected"),
    [(0, 3, "abc"), (3, 2, "de"), (4, 1, "e"), (4, 9, "e"), (5, 1, ""), (0, 5, "abcde")],
)
def test_queues_are_paged(hr: Client, offset: int, count: int, expected: str) -> None:
    for name in "abcde":
        hr.queue(name).put(1)

    assert "".join(hr.queues(offset=offset, count=count)) == expected


@proves("Q-04")
@pytest.mark.parametrize("options", [{"offset": -1}, {"count": 0}, {"count": "5"}])
def test_a_page_begins_at_0_and_has_one_or_more(hr: Client, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        hr.queues(**options)
