"""Steps that the thoonk tests share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from headrace import Client
from headrace.compat.thoonk import Job, Thoonk
from headrace.transport.drive import Operation, Send
from tests.support.dump import dump


def tried(error: type[Exception], call: Callable[..., Any], *args: Any) -> str:
    """Make a call that must raise, and return the message."""
    try:
        call(*args)
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"no {error.__name__}")


def begun(method: Callable[..., Any], *args: Any) -> Future[Any]:
    """Start a call in another thread."""
    return ThreadPoolExecutor(1).submit(method, *args)


def changes(hr: Client, operation: Operation[Any]) -> int:
    """Run an operation and return how many of its steps changed something on the server."""
    found = 0
    try:
        effect = next(operation)
        while True:
            assert isinstance(effect, Send)
            before = dump(hr)
            answer = hr.core.transport.send(effect.commands)
            found += dump(hr) != before
            effect = operation.send(answer)
    except StopIteration:
        return found


def operation_of(owner: Any, name: str, *args: Any) -> Operation[Any]:
    """Return the operation behind a method, to run it step by step."""
    operation: Operation[Any] = getattr(type(owner), name).__wrapped__(owner, *args)
    return operation


def keys(hr: Client) -> set[str]:
    """Return the keys of the namespace without its prefix and without those that always exist."""
    always = {"agenda", "events", "log", "meta", "config"}
    return {key.split("}:", 1)[1] for key in dump(hr)} - always


def steps_of(thoonk: Thoonk, *items: Any) -> tuple[Job, list[str]]:
    """Put items into a feed of jobs; return the feed and the ids."""
    steps = thoonk.job("steps")
    return steps, [steps.put(item) for item in items]
