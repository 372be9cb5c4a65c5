"""Threads, tasks and forked children share a client; Ctrl-C leaves it usable."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import AsyncClient, Client
from tests.support.proxy import LATE, way_to
from tests.support.repeats import mark
from tests.support.restartable import meanwhile
from tests.support.servers import until

pytestmark = pytest.mark.namespace(server_clock=True)


THREADS = 8


@pytest.fixture
async def ahr(valkey_url: str) -> AsyncIterator[AsyncClient]:
    namespace = f"shared-{uuid4().hex}"
    async with await headrace.connect_async(valkey_url, namespace=namespace) as client:
        yield client


def listeners(admin: redis.Redis, hr: Client | AsyncClient) -> int:
    _, name = hr.core.channel(0, "queue", "mail")
    return int(admin.pubsub_shardnumsub(name)[0][1])


@contextmanager
def interrupted_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block as soon as the condition holds."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    def wait_and_press() -> None:
        until(condition, "it is time to press Ctrl-C")
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, press)
    try:
        with meanwhile(wait_and_press), pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_client_is_usable_after_ctrl_c_in_a_waiting_pop(hr: Client, admin: redis.Redis) -> None:
    with interrupted_when(lambda: listeners(admin, hr) > 0):
        hr.queue("mail").pop("w", wait=30)

    job_id = hr.queue("mail").put("x")

    assert [lease.id for lease in hr.queue("mail").pop("w", wait=5)] == [job_id]
    assert hr.queue("mail").pop("w", wait=0.01) == []


def test_client_is_usable_after_ctrl_c_inside_a_reply(valkey_url: str) -> None:
    pressed = threading.Event()
    namespace = f"shared-{uuid4().hex}"
    with way_to(valkey_url) as way, headrace.connect(way.url, namespace=namespace) as hr:
        queue = hr.queue("mail")
        ids = queue.put_many(["w", "x", "y", "z"])
        _, leases = queue.complete_and_pop(queue.pop("w"), "w")
        way.lose(mark(hr, "pop"), LATE, meanwhile=lambda: print(pressed.wait(20)))

        with interrupted_when(lambda: way.cuts > 0):
            queue.complete_and_pop(leases, "w")
        pressed.set()

        # The next call must not read the remaining bytes of this reply.
        states = [job.state for job in hr.jobs(ids)]
        assert states == ["complete", "complete", "running", "waiting"]
        assert [lease.id for lease in queue.pop("w")] == ids[3:]


def test_forked_child_does_not_disturb_the_parent(hr: Client) -> None:
    queue = hr.queue("mail")
    queue.put("from the parent")
    queue.pop("w", wait=0.01)

    child = os.fork()
    if child == 0:
        try:
            queue.put("from the child")
            done = queue.pop("child", wait=5)[0].complete()
            os._exit(0 if done == "complete" else 1)
        finally:
            os._exit(2)
    for number in range(50):
        queue.put(number)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    counts = queue.counts()
    assert (counts.waiting, counts.running, counts.complete) == (50, 1, 1)
    assert hr.audit().problems == []


def test_threads_can_share_a_client(hr: Client) -> None:
    queue = hr.queue("mail")

    def produce(worker: int) -> int:
        for number in range(25):
            queue.put([worker, number])
        return 25

    def consume(worker: int) -> int:
        ended = 0
        while leases := queue.pop(f"w{worker}", count=3, wait=0.5):
            ended += len([lease.complete() for lease in leases])
        return ended

    with ThreadPoolExecutor(THREADS) as pool:
        produced = [pool.submit(produce, number) for number in range(THREADS // 2)]
        consumed = [pool.submit(consume, number) for number in range(THREADS // 2)]
        assert sum(one.result() for one in produced) == 100
        assert sum(one.result() for one in consumed) == 100

    assert queue.counts().complete == 100
    assert hr.audit().problems == []


def test_connections_of_a_thread_end_with_it(hr: Client, admin: redis.Redis) -> None:
    def connections() -> int:
        return len(admin.client_list())

    before = connections()
    thread = threading.Thread(target=lambda: hr.queue("mail").pop("w", wait=0.01))
    thread.start()
    thread.join()

    until(lambda: connections() == before, "the connections of the thread are closed")


async def test_tasks_can_share_a_client(ahr: AsyncClient) -> None:
    queue = ahr.queue("mail")

    async def consume(worker: int) -> int:
        leases = await queue.pop(f"w{worker}", wait=20)
        return len([await lease.complete() for lease in leases])

    consumers = [asyncio.create_task(consume(number)) for number in range(20)]
    await asyncio.gather(*(queue.put(number) for number in range(20)))

    assert sum(await asyncio.gather(*consumers)) == 20
    assert (await ahr.audit()).problems == []


async def test_tasks_that_pop_again_open_no_new_connections(
    ahr: AsyncClient, admin: redis.Redis
) -> None:
    for _ in range(3):
        pops = [asyncio.ensure_future(ahr.queue("mail").pop("w", wait=20)) for _ in range(20)]
        await asyncio.to_thread(until, lambda: listeners(admin, ahr) == 20, "all pops wait")

        await ahr.queue("mail").put_many(range(20))

        assert [len(leases) for leases in await asyncio.gather(*pops)] == [1] * 20


async def test_client_is_usable_after_a_cancelled_task(
    ahr: AsyncClient, admin: redis.Redis
) -> None:
    queue = ahr.queue("mail")
    waiting = asyncio.create_task(queue.pop("w", wait=30))
    await asyncio.to_thread(until, lambda: listeners(admin, ahr) > 0, "the pop waits")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    calls = [asyncio.ensure_future(queue.counts()) for _ in range(5)]
    await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)

    job_id = await queue.put("x")
    assert [lease.id for lease in await queue.pop("w", wait=5)] == [job_id]
