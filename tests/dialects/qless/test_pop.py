"""get, pop and peek: what is next, and whose it then is."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump

NOW = START.timestamp()


@proves("Q-35")
async def test_get_shows_the_whole_structure_and_nothing_for_an_unknown_id(qless: Any) -> None:
    await got(qless.put("example", "deadbeef", '{"a":1}', NOW, 3, '["t"]'))

    assert await got(qless.get("deadbeef")) == {
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
    assert await got(qless.get("unknown")) is None
    assert await got(qless.jobs["unknown"]) is None


@proves("Q-36", "Q-42", "Q-43", "Q-50")
async def test_pop_locks_up_to_count_jobs_for_the_worker_until_they_expire(
    qless: Any, clock: Clock
) -> None:
    for name in "abc":
        await got(qless.put("testing", name, "1", NOW))
    clock.tick(5)

    popped = await got(qless.pop("testing", "w1", 2, NOW + 5, NOW + 35))

    assert [job["id"] for job in popped] == ["a", "b"]
    assert popped[0] == await got(qless.get("a"))
    assert (popped[0]["state"], popped[0]["worker"]) == ("running", "w1")
    assert popped[0]["expires"] == NOW + 35
    assert popped[0]["history"] == [["testing", NOW, NOW + 5, None, "w1"]]
    assert [job["id"] for job in await got(qless.pop("testing", "w2", 9, NOW, NOW + 9))] == ["c"]
    assert (await got(qless.stats("testing", "2026-01-01")))["wait"]["total"] == 3


@proves("Q-02", "QD-08")
async def test_of_the_moments_of_the_caller_only_the_span_between_them_counts(
    qless: Any,
) -> None:
    await got(qless.put("testing", "j", "1", 7, 0, "[]", 0))

    [popped] = await got(qless.pop("testing", "w1", 1, 1352375149, 1352375209))

    assert popped["expires"] == NOW + 60
    assert popped["history"][0][1:3] == [NOW, NOW]


@proves("Q-37", "Q-38", "Q-40", "Q-87")
async def test_expired_locks_come_first_then_due_and_waiting_jobs_by_priority(
    qless: Any, queue: Any, clock: Clock
) -> None:
    await got(queue.put(1, 100, id="late2"))
    await got(queue.put(1, 99, id="late1"))
    await got(qless.pop("testing", "w1", 1, NOW, NOW + 10))
    await got(qless.pop("testing", "w1", 1, NOW, NOW + 20))
    await got(queue.put(1, 5, delay=1, id="due early"))
    await got(queue.put(1, -5, delay=2, id="due late"))
    await got(queue.put(1, 0, id="waiting"))
    clock.tick(30)

    peeked = [job.id for job in await got(queue.peek(9))]
    popped = [(await got(queue.pop())).id for _ in range(3)]
    popped += [job.id for job in await got(queue.pop(9))]

    assert popped == ["late1", "late2", "due late", "waiting", "due early"]
    assert peeked == popped


@proves("Q-39", "Q-44", "Q-45")
async def test_at_its_expiry_a_job_goes_to_another_worker_and_the_former_is_refused(
    other: Any, queue: Any, clock: Clock
) -> None:
    await got(queue.put(1, id="j"))
    job = await got(queue.pop())

    clock.tick(59.999)
    assert await got(other.queues["testing"].pop()) is None
    clock.tick(0.001)
    taken = await got(other.queues["testing"].pop())

    assert (taken.id, taken.worker) == ("j", "w2")
    assert await got(job.heartbeat()) is False
    assert await got(job.complete()) is False
    assert await got(job.fail("kind", "why")) is False
    assert await got(taken.complete()) == "complete"
    assert (await got(queue.stats()))["retries"] == 1


@proves("Q-41")
async def test_an_empty_queue_gives_nothing_and_nothing_changes(
    qless: Any, queue: Any, hr: Client
) -> None:
    before = dump(hr)

    assert await got(qless.pop("testing", "w1", 3, NOW, NOW + 60)) == []
    assert await got(qless.peek("testing", 3, NOW)) == []
    assert await got(queue.pop(3)) == []
    assert await got(queue.peek(3)) == []

    assert dump(hr) == before


@proves("Q-46", "QD-19")
async def test_peek_shows_what_is_next_and_gives_it_to_nobody(
    qless: Any, queue: Any, hr: Client, clock: Clock
) -> None:
    await got(queue.put(1, id="b"))
    await got(queue.put(1, id="scheduled", delay=1, priority=-1))
    clock.tick(2)

    peeked = await got(qless.peek("testing", 5, NOW))
    again = await got(queue.peek(5))

    assert [job["id"] for job in peeked] == [job.id for job in again] == ["scheduled", "b"]
    assert {job["state"] for job in peeked} == {"waiting"}
    assert all(job["history"][0][2:] == [None, None, None] for job in peeked)
    assert (await got(queue.stats()))["wait"]["total"] == 0
    assert [event.kind for event in hr.events()] == ["put", "put", "due"]


@proves("Q-47")
async def test_without_a_count_there_is_one_job_or_none_and_with_one_a_list(queue: Any) -> None:
    await got(queue.put(1, id="j"))

    assert (await got(queue.peek())).id == "j"
    assert [job.id for job in await got(queue.peek(1))] == ["j"]
    assert (await got(queue.pop())).id == "j"
    assert await got(queue.peek()) is None
    assert await got(queue.pop()) is None
    assert await got(queue.pop(1)) == []


@proves("Q-03")
async def test_a_worker_is_called_by_its_host_and_pid_unless_it_has_a_name(opening: Any) -> None:
    unnamed = opening()
    await got(unnamed.queues["testing"].put(1))
    await got(unnamed.queues["testing"].put(2))

    assert unnamed.worker_name == f"{socket.gethostname()}-{os.getpid()}"
    job = await got(unnamed.queues["testing"].pop())
    named = await got(unnamed.queues["testing"].pop(worker="another"))

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
async def test_a_pop_that_is_not_as_the_document_says_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    await got(qless.put("testing", "j", "1", NOW))
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        await got(qless.pop(*arguments))

    assert dump(hr) == before


@proves("Q-04")
async def test_an_expiration_before_now_is_told_as_such(qless: Any) -> None:
    with pytest.raises(InvalidArgument, match="expiration must not be before now, but is by 5"):
        await got(qless.pop("testing", "w1", 1, NOW, NOW - 5))


@proves("Q-04", "QD-12")
@pytest.mark.parametrize(("count", "now"), [(0, NOW), (-2, NOW), ("x", NOW), (1, "now")])
async def test_a_peek_that_is_not_as_the_document_says_is_refused(
    qless: Any, count: Any, now: Any
) -> None:
    with pytest.raises(InvalidArgument):
        await got(qless.peek("testing", count, now))
