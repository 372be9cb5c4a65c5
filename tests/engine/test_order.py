"""Jobs are ordered by their sequence numbers, however large the numbers are."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, Queue
from headrace.engine.record import name_in
from tests.support.jobs import ids


@pytest.mark.parametrize("limits", [{}, {"key_concurrency": 100}, {"fair": True}], ids=str)
@pytest.mark.parametrize("number", [2**8, 2**16, 2**31, 2**32, 2**40, 2**52])
def test_jobs_are_in_order_where_the_number_needs_another_byte(
    hr: Client, queue: Queue, number: int, limits: dict[str, Any]
) -> None:
    queue.configure(**limits)
    queue.put("before", id="before")
    log = ("HSET", hr.core.key(0, "log"), "number", number - 4, "trimmed", number - 5)
    hr.core.transport.send([(0, log)])
    one_by_one = [queue.put(n) for n in range(3)]
    together = queue.put_many(range(3))
    back, *others = ids(taken := queue.pop("w", count=4))
    taken[0].release()

    assert [back, *others] == ["before", *one_by_one]
    assert ids(queue.peek(4)) == ["before", *together]
    assert ids(queue.pop("w", count=9)) == ["before", *together]
    assert hr.audit().balanced


def test_the_name_in_a_member_is_what_follows_its_number(hr: Client, queue: Queue) -> None:
    for number in (5, 2**33):
        hr.core.transport.send([(0, ("HSET", hr.core.key(0, "log"), "number", number))])
        queue.put(1, id=f"after {number}")
    [members] = hr.core.transport.send([(0, ("ZRANGE", hr.core.key(0, "waiting:mail"), 0, -1))])

    assert [name_in(member) for member in members] == ["after 5", "after 8589934592"]
    assert [member[0] for member in members] == [4, 7]
