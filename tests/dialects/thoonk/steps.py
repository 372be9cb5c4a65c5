"""What tests of thoonk do again and again."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from headrace import Client
from headrace.transport.drive import Operation, Send
from tests.support.clients import got
from tests.support.dump import dump


async def tried(error: type[Exception], call: Callable[..., Any], *args: Any) -> str:
    """What is said when a call is refused."""
    try:
        await got(call(*args))
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"no {error.__name__}")


def begun(method: Callable[..., Any], *args: Any) -> asyncio.Task[Any]:
    """A call that goes on beside the test, of either colour."""
    if inspect.iscoroutinefunction(method):
        return asyncio.create_task(method(*args))
    return asyncio.create_task(asyncio.to_thread(method, *args))


def changes(hr: Client, operation: Operation[Any]) -> int:
    """How many of the steps of a talk changed anything on the server."""
    found = 0
    try:
        wish = next(operation)
        while True:
            assert isinstance(wish, Send)
            before = dump(hr)
            answer = hr.core.transport.send(wish.commands)
            found += dump(hr) != before
            wish = operation.send(answer)
    except StopIteration:
        return found


def keys(hr: Client) -> set[str]:
    """The keys of the namespace without its prefix, and without what is there in any case."""
    always = {"agenda", "events", "log", "meta", "config"}
    return {key.split("}:", 1)[1] for key in dump(hr)} - always


async def steps_of(thoonk: Any, *items: Any) -> tuple[Any, list[str]]:
    """A feed of jobs, and the ids of those in it."""
    steps = await got(thoonk.job("steps"))
    return steps, [await got(steps.put(item)) for item in items]
