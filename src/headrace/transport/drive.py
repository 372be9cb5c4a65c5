"""Effects that operations yield, and the two drivers that carry them out.

An operation is a generator: it yields effects (send commands, sleep, subscribe, receive) and gets
the result of each effect. An operation does no I/O itself, so one definition serves the sync and
the async client.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from headrace.errors import HeadraceError
from headrace.transport.transport import AsyncTransport, Command, Transport

T = TypeVar("T")
Operation = Generator[Any, Any, T]

# The maximum number of seconds for the clean-up of a cancelled operation.
CLEAN_UP_SECONDS = 1.0


@dataclass(slots=True)
class Send:
    """Send commands; the result is a list with a reply or an error for each command."""

    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Refresh:
    """Look up again which node has which shard."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait for a number of seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Subscribe to channels of shards; with `hold`, the subscription outlives the operation."""

    channels: list[tuple[int, str]]
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Receive:
    """Wait for notices of a subscription."""

    subscription: Any
    seconds: float


def drive(transport: Transport, operation: Operation[T]) -> T:
    """Carry out an operation and return its result."""
    subscriptions = []
    try:
        effect = next(operation)
        while True:
            kind = type(effect)
            if kind is Send:
                answer: Any = transport.send(effect.commands)
            elif kind is Receive:
                answer = effect.subscription.receive(effect.seconds)
            elif kind is Subscribe:
                answer = transport.subscribe(effect.channels)
                transport.hold(answer) if effect.hold else subscriptions.append(answer)
            else:
                answer = None
                transport.sleep(effect.seconds) if kind is Sleep else transport.refresh()
            effect = operation.send(answer)
    except StopIteration as end:
        return cast(T, end.value)
    finally:
        for subscription in subscriptions:
            transport.keep(subscription)


async def drive_async(transport: AsyncTransport, operation: Operation[T]) -> T:
    """Carry out an operation in an event loop and return its result.

    If the task is cancelled, the operation receives the CancelledError and may clean up.
    """
    subscriptions = []
    task = asyncio.current_task()
    cancellings = task.cancelling() if task else 0
    try:
        effect = next(operation)
        while True:
            kind = type(effect)
            if kind is Send:
                answer: Any = await transport.send(effect.commands)
            elif kind is Receive:
                answer = await effect.subscription.receive(effect.seconds)
            elif kind is Subscribe:
                answer = await transport.subscribe(effect.channels)
                transport.hold(answer) if effect.hold else subscriptions.append(answer)
            else:
                answer = None
                await (transport.sleep(effect.seconds) if kind is Sleep else transport.refresh())
            _check_cancelled(task, cancellings)
            effect = operation.send(answer)
    except StopIteration as end:
        return cast(T, end.value)
    except asyncio.CancelledError as cancelled:
        await _clean_up(transport, operation, cancelled)
        raise
    finally:
        for subscription in subscriptions:
            transport.keep(subscription)


def _check_cancelled(task: asyncio.Task[Any] | None, cancellings: int) -> None:
    """Raise CancelledError if the task was cancelled during the last effect.

    On Python before 3.12, the calls of asyncio can lose a cancellation.
    """
    if task and task.cancelling() > cancellings:
        raise asyncio.CancelledError


async def _clean_up(
    transport: AsyncTransport, operation: Operation[T], cancelled: asyncio.CancelledError
) -> None:
    """Let a cancelled operation clean up, for example release jobs, unless it has already ended."""
    if inspect.getgeneratorstate(operation) == inspect.GEN_SUSPENDED:
        with suppress(HeadraceError, TimeoutError):
            async with asyncio.timeout(CLEAN_UP_SECONDS):
                await drive_async(transport, _cancelled(operation, cancelled))


def _cancelled(operation: Operation[T], cancelled: asyncio.CancelledError) -> Operation[None]:
    """Raise CancelledError in an operation, and yield the effects of its clean-up."""
    effect = operation.throw(cancelled)
    while True:
        effect = operation.send((yield effect))
