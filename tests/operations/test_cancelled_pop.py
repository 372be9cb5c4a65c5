"""A cancelled pop of the asyncio client gives back the jobs that the server has leased to it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headrace import Client
from headrace.transport import drive
from tests.support.channels import commands
from tests.support.clients import opened
from tests.support.proxy import Way

Send = Callable[[Any], Awaitable[Any]]


def cancel_soon() -> None:
    task: Any = asyncio.current_task()
    asyncio.get_running_loop().call_soon(task.cancel)


async def cancelled_when_sent(send: Send, sent: Any) -> Any:
    """Cancel the task before it reads the reply."""
    cancel_soon()
    return await send(sent)


async def cancelled_when_answered(send: Send, sent: Any) -> Any:
    """Cancel the task after the reply has arrived, before the task can use the reply."""
    await send(sent)
    cancel_soon()
    await asyncio.sleep(1)


def cancel_at(hr: Any, op: str, exchange: Callable[[Send, Any], Awaitable[Any]], skip: int) -> None:
    """Make the call of this operation after `skip` such calls with this exchange."""
    send: Send = hr.core.transport.send
    function = hr.core.library.operations[op].function
    left = [skip + 1]

    async def send_and_cancel(sent: Any) -> Any:
        left[0] -= any(function in words for _, words in sent)
        if left[0] == 0:
            left[0] = -1
            return await exchange(send, sent)
        return await send(sent)

    hr.core.transport.send = send_and_cancel


async def is_cancelled(call: Awaitable[Any]) -> bool:
    task = asyncio.ensure_future(call)
    await asyncio.wait([task])
    return task.cancelled()


@pytest.mark.parametrize("exchange", [cancelled_when_sent, cancelled_when_answered])
@pytest.mark.parametrize("shards", [1, 3])
async def test_jobs_of_a_cancelled_pop_return_to_the_front(
    valkey_url: str, exchange: Callable[..., Awaitable[Any]], shards: int
) -> None:
    namespace = f"{exchange.__name__}-{shards}"
    async with opened("async", valkey_url, namespace=namespace, shards=shards) as hr:
        mail = hr.queue("mail")
        ids = await mail.put_many(range(30))
        await mail.pop("other", count=1)
        cancel_at(hr, "pop", exchange, skip=shards - 1)

        assert await is_cancelled(mail.pop("w", count=29))

        counts = await mail.counts()
        assert (counts.waiting, counts.running) == (29, 1)
        leases = await mail.pop("w", count=30)
        assert {lease.attempt for lease in leases} <= {1, 2}
        assert all(lease.job.remaining == lease.job.retries for lease in leases)
        if shards == 1:
            assert [lease.id for lease in leases] == ids[1:]
        assert (await hr.audit()).problems == []


async def test_jobs_of_a_cancelled_complete_and_pop_return(valkey_url: str) -> None:
    async with opened("async", valkey_url, namespace="cancelled-both") as hr:
        mail = hr.queue("mail")
        first, second = await mail.put_many(range(2))
        leases = await mail.pop("w")
        cancel_at(hr, "pop", cancelled_when_answered, skip=0)

        assert await is_cancelled(mail.complete_and_pop(leases, "w"))

        assert (await hr.job(first)).state == "complete"
        job = await hr.job(second)
        assert (job.state, job.remaining) == ("waiting", job.retries)


async def test_pop_that_is_cancelled_while_it_waits_sends_nothing(valkey_url: str) -> None:
    async with opened("async", valkey_url, namespace="cancelled-wait") as hr:
        await hr.queue("mail").pop("w")
        before = await pops(hr)
        task = asyncio.create_task(hr.queue("mail").pop("w", wait=None))
        # The waiting pop calls the server before and after it subscribes.
        while await pops(hr) < before + 2:
            pass
        for _ in range(5):
            await pops(hr)
        with commands(valkey_url) as sent:
            task.cancel()
            await asyncio.wait([task])
        assert task.cancelled()
        assert not any("FCALL" in line for line in sent)


async def pops(hr: Any) -> int:
    [found] = await hr.core.transport.send([(0, ("INFO", "commandstats"))])
    [calls] = re.findall(rb"cmdstat_fcall:calls=(\d+)", found)
    return int(calls)


async def test_pop_is_cancelled_in_time_if_the_server_does_not_answer(
    calm: Client, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "CLEAN_UP_SECONDS", 0.1)
    async with opened("async", way.url, namespace=calm.core.namespace) as hr:
        await hr.queue("mail").put(1)
        way.close()
        cancel_at(hr, "pop", cancelled_when_sent, skip=0)
        began = time.monotonic()

        assert await is_cancelled(hr.queue("mail").pop("w"))

        assert time.monotonic() - began < 5
