"""get, pop and peek."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.engine import keys
from headrace.testing import START, Clock
from tests.compat.qless.conftest import OpenQless
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()


@proves("Q-35")
def test_get_returns_the_structure_of_a_job_or_none(qless: Any) -> None:
    qless.put("example", "deadbeef", '{"a":1}', NOW, 3, '["t"]')

    assert qless.get("deadbeef") == {
        "id": "deadbeef",
        "priority": 3,
        "data": '{"a":1}',
        "tags": '["t"]',
        "worker": "",
        "expires": 0,
        "state": "waiting",
        "queue": "example",
        "history": [["example", NOW, None, None, None]],
    }
    assert qless.get("unknown") is None
    assert qless.jobs["unknown"] is None


@proves("Q-36", "Q-42", "Q-43", "Q-50")
def test_pop_locks_up_to_count_jobs_for_the_worker_until_they_expire(
    qless: Any, clock: Clock
) -> None:
    for name in "abc":
        qless.put("testing", name, "1", NOW)
    clock.tick(5)

    popped = qless.pop("testing", "w1", 2, NOW + 5, NOW + 35)

    assert [job["id"] for job in popped] == ["a", "b"]
    assert popped[0] == qless.get("a")
    assert (popped[0]["state"], popped[0]["worker"]) == ("running", "w1")
    assert popped[0]["expires"] == NOW + 35
    assert popped[0]["history"] == [["testing", NOW, NOW + 5, None, "w1"]]
    assert [job["id"] for job in qless.pop("testing", "w2", 9, NOW, NOW + 9)] == ["c"]
    assert (qless.stats("testing", "2026-01-01"))["wait"]["total"] == 3


@proves("Q-02", "QD-08")
def test_only_the_difference_of_now_and_expiration_counts(
    qless: Any,
) -> None:
    qless.put("testing", "j", "1", 7, 0, "[]", 0)

    [popped] = qless.pop("testing", "w1", 1, 1352375149, 1352375209)

    assert popped["expires"] == NOW + 60
    assert popped["history"][0][1:3] == [NOW, NOW]


@proves("Q-37", "Q-38", "Q-40", "Q-87")
def test_expired_locks_come_first_then_due_and_waiting_jobs_by_priority(
    qless: Any, queue: Any, clock: Clock
) -> None:
    queue.put(1, 100, id="late2")
    queue.put(1, 99, id="late1")
    qless.pop("testing", "w1", 1, NOW, NOW + 10)
    qless.pop("testing", "w1", 1, NOW, NOW + 20)
    queue.put(1, 5, delay=1, id="due early")
    queue.put(1, -5, delay=2, id="due late")
    queue.put(1, 0, id="waiting")
    clock.tick(30)

    peeked = [job.id for job in queue.peek(9)]
    popped = [queue.pop().id for _ in range(3)]
    popped += [job.id for job in queue.pop(9)]

    assert popped == ["late1", "late2", "due late", "waiting", "due early"]
    assert peeked == popped


@proves("Q-39", "Q-44", "Q-45")
def test_expired_job_goes_to_another_worker_and_the_former_is_refused(
    other: Any, queue: Any, clock: Clock
) -> None:
    queue.put(1, id="j")
    job = queue.pop()

    clock.tick(59.999)
    assert other.queues["testing"].pop() is None
    clock.tick(0.001)
    taken = other.queues["testing"].pop()

    assert (taken.id, taken.worker) == ("j", "w2")
    assert job.heartbeat() is False
    assert job.complete() is False
    assert job.fail("kind", "why") is False
    assert taken.complete() == "complete"
    assert (queue.stats())["retries"] == 1


@proves("Q-41")
def test_pop_from_an_empty_queue_changes_only_the_list_of_workers(
    qless: Any, queue: Any, hr: Client
) -> None:
    before = dump(hr)

    assert qless.pop("testing", "w1", 3, NOW, NOW + 60) == []
    assert qless.peek("testing", 3, NOW) == []
    assert queue.pop(3) == []
    assert queue.peek(3) == []

    after = dump(hr)
    del after[hr.core.key(0, keys.WORKERS)]
    assert after == before


@proves("Q-46", "QD-19")
def test_peek_returns_the_next_jobs_without_a_lock(
    qless: Any, queue: Any, hr: Client, clock: Clock
) -> None:
    queue.put(1, id="b")
    queue.put(1, id="scheduled", delay=1, priority=-1)
    clock.tick(2)

    peeked = qless.peek("testing", 5, NOW)
    again = queue.peek(5)

    assert [job["id"] for job in peeked] == [job.id for job in again] == ["scheduled", "b"]
    assert {job["state"] for job in peeked} == {"waiting"}
    assert all(job["history"][0][2:] == [None, None, None] for job in peeked)
    assert (queue.stats())["wait"]["total"] == 0
    assert [event.kind for event in hr.events()] == ["put", "put", "due"]


@proves("Q-47")
def test_pop_returns_a_job_or_none_and_with_a_count_a_list(queue: Any) -> None:
    queue.put(1, id="j")

    assert queue.peek().id == "j"
    assert [job.id for job in queue.peek(1)] == ["j"]
    assert queue.pop().id == "j"
    assert queue.peek() is None
    assert queue.pop() is None
    assert queue.pop(1) == []


@proves("Q-03")
def test_default_worker_name_is_host_and_pid(open_qless: OpenQless) -> None:
    unnamed = open_qless()
    unnamed.queues["testing"].put(1)
    unnamed.queues["testing"].put(2)

    assert unnamed.worker_name == f"{socket.gethostname()}-{os.getpid()}"
    job = unnamed.queues["testing"].pop()
    named = unnamed.queues["testing"].pop(worker="another")

    assert (job.worker, named.worker) == (unnamed.worker_name, "another")
    assert (len(job.id), job.id.isalnum()) == (16, True)


@proves("Q-04", "Q-57", "QD-12")
@pytest.mark.parametrize(
    "arguments",
    [
        ("testing", "", 1, NOW, NOW + 60),
        ("testing", 7, 1, NOW, NOW + 60),
        ("testing", "w1", 0, NOW, NOW + 60),
        ("testing", "w1", -1, NOW, NOW + 60),
        ("testing", "w1", "many", NOW, NOW + 60),
        ("testing", "w1", 1, "now", NOW + 60),
        ("testing", "w1", 1, NOW, None),
        ("testing", "w1", 1, NOW, NOW - 1),
    ],
)
def test_pop_with_invalid_arguments_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    qless.put("testing", "j", "1", NOW)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        qless.pop(*arguments)

    assert dump(hr) == before


@proves("Q-04")
def test_expiration_before_now_is_refused(qless: Any) -> None:
    with pytest.raises(InvalidArgument, match="expiration must not be before now, but is 5"):
        qless.pop("testing", "w1", 1, NOW, NOW - 5)


@proves("Q-04", "QD-12")
@pytest.mark.parametrize(("count", "now"), [(0, NOW), (-2, NOW), ("x", NOW), (1, "now")])
def test_peek_with_invalid_arguments_is_refused(qless: Any, count: Any, now: Any) -> None:
    with pytest.raises(InvalidArgument):
        qless.peek("testing", count, now)
