"""A waiting pop does not poll: it wakes up after a notice, or when the next job is due."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client, Queue, ServerUnavailable
from headrace.operations import popping
from headrace.testing import Clock, open_with_clock, settable_clock
from headrace.transport.drive import Receive, Send, Subscribe
from tests.proof import proves
from tests.support.channels import commands, meanwhile, until_listened_to
from tests.support.jobs import ids, pop_one
from tests.support.servers import until
from tests.support.sessions import serving

LONG = 60.0


@proves("W-07")
def test_waiting_pop_returns_at_once_after_a_put_with_few_commands(
    hr: Client, queue: Queue, url: str
) -> None:
    queue.put("so that the scripts are loaded")
    pop_one(queue)
    with commands(url) as sent, meanwhile(lambda: ids(queue.pop("w", wait=LONG))) as popped:
        until_listened_to(hr, "queue:mail")
        started = time.monotonic()
        job_id = queue.put("x")
        assert popped.result(timeout=30) == [job_id]
        assert time.monotonic() - started < popping.SAFETY_POLL / 2

    calls = [line for line in sent if line.startswith("FCALL")]
    # One put, one pop before the subscription, one pop after it, and one more after the notice if
    # the second pop found no job.
    assert 3 <= len(calls) <= 4


@proves("T-33", "T-42")
@pytest.mark.parametrize("wait", [0.1, 0.3])
def test_waiting_pop_ends_in_time(queue: Queue, wait: float) -> None:
    started = time.monotonic()

    assert queue.pop("w", wait=wait) == []

    assert wait <= time.monotonic() - started < wait + 1


@proves("T-33")
def test_pop_without_a_timeout_waits_through_empty_polls(
    hr: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(popping, "SAFETY_POLL", 0.01)
    with redis.Redis.from_url(url) as server:

        def calls() -> int:
            return int(server.info("commandstats")["cmdstat_fcall"]["calls"])

        with meanwhile(lambda: ids(queue.pop("w", wait=None))) as popped:
            until_listened_to(hr, "queue:mail")
            before = calls()
            until(
                lambda: calls() > before + 20, "the waiting pop has called the script twenty times"
            )
            assert not popped.done()
            job_id = queue.put("x")

    assert popped.result() == [job_id]


@proves("W-47")
def test_one_of_two_waiting_pops_gets_the_job_and_the_other_keeps_waiting(
    hr: Client, queue: Queue
) -> None:
    with (
        meanwhile(lambda: ids(queue.pop("w1", wait=LONG))) as one,
        meanwhile(lambda: ids(queue.pop("w2", wait=LONG))) as other,
    ):
        until_listened_to(hr, "queue:mail", listeners=2)
        first = queue.put("x")
        until(lambda: one.done() or other.done(), "one of the two pops has returned")
        assert not (one.done() and other.done())
        second = queue.put("y")

    assert sorted(one.result() + other.result()) == sorted([first, second])


@proves("WD-12")
def test_pop_checks_again_after_subscribing(hr: Client, queue: Queue) -> None:
    transport = hr.core.transport
    operation = popping.pop(queue, "w", wait=LONG)
    wish = next(operation)
    assert isinstance(wish, Send)
    while isinstance(wish, Send):
        wish = operation.send(transport.send(wish.commands))
    assert isinstance(wish, Subscribe)

    job_id = queue.put("between the look and the subscription")
    wish = operation.send(transport.subscribe(wish.channels))

    assert isinstance(wish, Send)
    with pytest.raises(StopIteration) as end:
        operation.send(transport.send(wish.commands))
    assert [popped.id for popped in end.value.value] == [job_id]


@proves("WD-12")
def test_waiting_pop_survives_a_broken_connection(hr: Client, queue: Queue, url: str) -> None:
    with (
        redis.Redis.from_url(url) as server,
        meanwhile(lambda: ids(queue.pop("w", wait=LONG))) as popped,
    ):
        until_listened_to(hr, "queue:mail")
        assert server.client_kill_filter(_type="pubsub") >= 1
        until_listened_to(hr, "queue:mail")
        job_id = queue.put("x")
        assert popped.result(timeout=popping.SAFETY_POLL / 2) == [job_id]


@proves("WD-12", "W-48")
def test_lost_notice_delays_a_job_but_does_not_lose_it(
    hr: Client, queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(popping, "SAFETY_POLL", 0.05)
    job_id = queue.put("x", delay=3600)
    with meanwhile(lambda: ids(queue.pop("w", wait=LONG))) as popped:
        until_listened_to(hr, "queue:mail")
        clock.tick(3600)

        assert popped.result(timeout=30) == [job_id]


@proves("W-38")
def test_waiting_pop_gets_the_job_of_a_dead_worker(url: str) -> None:
    with headrace.connect(url, namespace=f"test-{uuid4().hex}") as hr:
        queue = hr.queue("mail")
        queue.put("x")
        hr.session("dead", ttl=0.3)
        lease = pop_one(queue, "dead")
        started = time.monotonic()

        assert ids(queue.pop("peer", wait=LONG)) == [lease.id]

        assert time.monotonic() - started < popping.SAFETY_POLL / 2


def test_waiting_pop_gets_due_jobs_and_expired_leases(url: str) -> None:
    with headrace.connect(url, namespace=f"test-{uuid4().hex}") as hr:
        queue = hr.queue("mail")
        job_id = queue.put("x", delay=0.2)
        started = time.monotonic()

        assert ids(queue.pop("w1", wait=LONG, lease=0.2)) == [job_id]
        assert ids(queue.pop("w2", wait=LONG)) == [job_id]

        assert time.monotonic() - started < popping.SAFETY_POLL / 2


def test_waiting_pop_is_woken_when_the_queue_is_resumed(hr: Client, queue: Queue) -> None:
    job_id = queue.put("x")
    queue.pause()
    with meanwhile(lambda: ids(queue.pop("w", wait=LONG))) as popped:
        until_listened_to(hr, "queue:mail")
        queue.resume()
        assert popped.result(timeout=popping.SAFETY_POLL / 2) == [job_id]


def test_waiting_pop_is_woken_by_every_shard(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        queue = hr.queue("mail")
        one_of_each = {hr.core.shard_of(str(number)): str(number) for number in range(20)}
        assert sorted(one_of_each) == [0, 1, 2]
        for job_id in one_of_each.values():
            with meanwhile(lambda: ids(queue.pop("w", wait=LONG))) as popped:
                until_listened_to(hr, "queue:mail")
                queue.put("x", id=job_id)
                assert popped.result(timeout=popping.SAFETY_POLL / 2) == [job_id]


@proves("W-33")
def test_a_worker_of_a_task_queue_waits_like_any_other(hr: Client, queue: Queue) -> None:
    queue.configure(profile="task")
    serving(hr, "w1", queue)
    with meanwhile(lambda: ids(queue.pop("w1", wait=LONG))) as popped:
        until_listened_to(hr, "queue:mail")
        job_id = queue.put("x")
        assert popped.result(timeout=popping.SAFETY_POLL / 2) == [job_id]


async def test_waiting_async_pop_returns_at_once_after_a_put(
    hr: Client, queue: Queue, url: str
) -> None:
    library, namespace = settable_clock(), hr.core.namespace
    async with await headrace.connect_async(url, namespace=namespace, library=library) as other:
        waiting = asyncio.create_task(other.queue("mail").pop("w", wait=LONG))
        await asyncio.to_thread(until_listened_to, hr, "queue:mail")
        job_id = await asyncio.to_thread(queue.put, "x")

        leases = await asyncio.wait_for(waiting, popping.SAFETY_POLL / 2)

        assert ids(leases) == [job_id]


def test_a_waiting_pop_listens_no_longer_than_needed(hr: Client, queue: Queue) -> None:
    operation = popping.pop(queue, "w", wait=LONG)
    wish = next(operation)
    asked: list[type] = []
    while not isinstance(wish, Receive):
        asked.append(type(wish))
        is_send = isinstance(wish, Send)
        wish = operation.send(
            hr.core.transport.send(wish.commands)
            if is_send
            else hr.core.transport.subscribe(wish.channels)
        )

    assert [kind for kind in asked if kind is Subscribe] == [Subscribe]
    assert wish.seconds <= popping.SAFETY_POLL


@pytest.mark.namespace(shards=2)
def test_pop_that_has_waited_long_still_waits_for_all_shards_to_return(hr: Client) -> None:
    hr.core.retry_for = 1.0
    transport = hr.core.transport
    operation = popping.pop(hr.queue("mail"), "w", wait=None)
    effect = next(operation)
    began = time.monotonic()
    while time.monotonic() < began + 1.5 * hr.core.retry_for:
        effect = operation.send(answer(hr, effect))
    while not isinstance(effect, Send):
        effect = operation.send(answer(hr, effect))
    lost = time.monotonic()

    with pytest.raises(ServerUnavailable):
        carry_out_with_errors(hr, operation, effect)

    assert time.monotonic() >= lost + 0.5 * hr.core.retry_for
    transport.close()


def carry_out_with_errors(hr: Client, operation: Any, effect: Any) -> None:
    """Carry out an operation whose commands all fail."""
    while True:
        errors = [redis.ConnectionError("cut")] * len(getattr(effect, "commands", []))
        effect = operation.send(errors or answer(hr, effect))


def answer(hr: Client, effect: object) -> object:
    """Carry out an effect of an operation, and wait at most 0.1 seconds for notices."""
    if isinstance(effect, Receive):
        return effect.subscription.receive(0.1)
    if isinstance(effect, Subscribe):
        return hr.core.transport.subscribe(effect.channels)
    if isinstance(effect, Send):
        return hr.core.transport.send(effect.commands)
    return hr.core.transport.sleep(0.01)
