"""The types that type checkers must infer for the public API; tests/typing/test_types.py checks it.

The functions are never called.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Unpack, assert_type

import headrace
from headrace import (
    App,
    AsyncClient,
    AsyncLease,
    AsyncQueue,
    Bulk,
    Client,
    HeadraceError,
    Job,
    Lease,
    Page,
    Put,
    Queue,
    Result,
    Schedule,
)

app = App("shop")


@app.task()
def add(a: int, b: int) -> int:
    return a + b


@app.task(queue="mail")
async def send(to: str) -> str:
    return to


def sync_types() -> None:
    with headrace.connect("redis://localhost") as client:
        assert_type(client, Client)
    queue = client.queue("mail")
    assert_type(queue, Queue)
    assert_type(queue.put({"to": "ada"}), str)
    assert_type(queue.put({"to": "ada"}, delay=60, tags=["mail"]), str)
    assert_type(queue.put_many([1, Put(2, priority=5)]), list[str])
    assert_type(queue.pop("worker-1", count=10, wait=5), list[Lease])
    assert_type(queue.peek(), list[Job])
    assert_type(queue.jobs("waiting"), Page)
    assert_type(queue.schedule("report", {}, cron="0 6 * * *"), Schedule)
    assert_type(client.job("a"), Job | None)
    assert_type(client.result("a", wait=10), Result)
    assert_type(client.cancel("a", "b"), list[str])
    assert_type(client.failures.retry("smtp", pace="100/s"), Bulk)
    assert_type(client.failures.counts(), dict[str, int])
    assert_type(client.schedules.get("report"), Schedule | None)
    for lease in queue.pop("worker-1"):
        assert_type(lease.complete({"sent": 1}), str)
        assert_type(lease.heartbeat(), datetime | None)
        assert_type(client.leases.complete([lease]), list[str | HeadraceError])


async def async_types() -> None:
    client = await headrace.connect_async("redis://localhost")
    assert_type(client, AsyncClient)
    queue = client.queue("mail")
    assert_type(queue, AsyncQueue)
    assert_type(await queue.put({"to": "ada"}), str)
    assert_type(await queue.put_many([1, 2], tags=["import"]), list[str])
    assert_type(await queue.pop("worker-1", wait=5), list[AsyncLease])
    assert_type(await client.job("a"), Job | None)
    assert_type(await client.result("a"), Result)
    assert_type(await client.failures.retry("smtp"), Bulk)
    assert_type(await client.failures.counts(), dict[str, int])
    assert_type(client.queue("mail").length, Callable[[], Awaitable[int]])
    for lease in await queue.pop("worker-1"):
        assert_type(await lease.complete(), str)
        assert_type(await lease.heartbeat(), datetime | None)


async def task_types() -> None:
    assert_type(add(1, 2), int)
    assert_type(add.put(1, 2), str)
    assert_type(add.result("a", wait=10), int)
    assert_type(await add.aput(1, b=2), str)
    assert_type(await add.aresult("a"), int)
    assert_type(await send("ada"), str)
    assert_type(send.put("ada"), str)
    assert_type(send.result("a"), str)


def put_mail(queue: Queue, to: str, **options: Unpack[headrace.JobOptions]) -> str:
    """Pass the options of a job on to `put`."""
    return queue.put({"to": to}, **options)


def put_add(a: int, **options: Unpack[headrace.TaskOptions]) -> str:
    """Pass the options of a task on to `options`."""
    return add.options(**options).put(a, 1)


def refused(client: Client, queue: Queue) -> Any:
    """Wrong arguments are errors. Mypy also reports a `type: ignore` that is not needed."""
    queue.put({}, colour="red")  # type: ignore[call-arg]
    queue.put({}, delay="soon")  # type: ignore[arg-type]
    put_mail(queue, "ada", delay="soon")  # type: ignore[arg-type]
    put_add(1, colour="red")  # type: ignore[call-arg]
    client.result(7)  # type: ignore[arg-type]
    add.put("one", "two")  # type: ignore[arg-type]
