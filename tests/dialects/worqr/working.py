"""What tests of worqr say all the time, said shortly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.support.clients import got

Heard = list[tuple[str, Any]]


async def at_work(worqr: Any, *queues: str) -> Any:
    """An instance whose worker works on queues."""
    await got(worqr.startWorker())
    for queue in queues:
        await got(worqr.startWork(queue))
    return worqr


async def started(worqr: Any, queue: str = "Q1") -> Any:
    """A process, which there must be."""
    process = await got(worqr.startTask(queue))
    assert process is not None
    return process


async def drained(worqr: Any, queue: str = "Q1") -> list[Any]:
    """The tasks that can be started, in their order."""
    tasks = []
    while process := await got(worqr.startTask(queue)):
        tasks.append(process.task)
    return tasks


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """Waits until a condition holds, while tasks and threads go on."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        await asyncio.sleep(0.002)


def hearing(worqr: Any, queue: str = "Q1") -> Heard:
    """What the handlers of a queue hear from now on."""
    heard: Heard = []
    worqr.on(queue, lambda kind, message: heard.append((kind, message)))
    return heard


async def hears(heard: Heard, *notices: tuple[str, Any]) -> None:
    """These notices were heard, and no others."""
    await eventually(lambda: len(heard) >= len(notices), f"{notices} are heard, not {heard}")
    assert heard == list(notices)
    heard.clear()
