"""Effects that operations yield, and the two drivers that carry them out.

An operation is a generator: it yields effects (send commands, sleep, subscribe, receive) and is
sent their results. It does no I/O itself, so one definition serves the sync and the async client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from headrace.transport.transport import AsyncTransport, Command, Transport

T = TypeVar("T")
Operation = Generator[Any, Any, T]


@dataclass(slots=True)
class Send:
    """Wants commands sent; is sent a reply or an error for each."""

    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Refresh:
    """Wants the wire to learn anew where the shards are."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wants to wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Wants an ear on channels, each with its shard; one that is held outlives the talk."""

    channels: list[tuple[int, str]]
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Receive:
    """Wants to wait for notices."""

    subscription: Any
    seconds: float


def drive(transport: Transport, operation: Operation[T]) -> T:
    """Carries out a talk, blocking."""
    subscriptions = []
    try:
        wish = next(operation)
        while True:
            kind = type(wish)
            if kind is Send:
                answer: Any = transport.send(wish.commands)
            elif kind is Receive:
                answer = wish.subscription.hear(wish.seconds)
            elif kind is Subscribe:
                answer = transport.listen(wish.channels)
                transport.hold(answer) if wish.hold else subscriptions.append(answer)
            else:
                answer = None
                transport.sleep(wish.seconds) if kind is Sleep else transport.refresh()
            wish = operation.send(answer)
    except StopIteration as end:
        return cast(T, end.value)
    finally:
        for subscription in subscriptions:
            transport.keep(subscription)


async def drive_async(transport: AsyncTransport, operation: Operation[T]) -> T:
    """Carries out a talk, awaiting."""
    subscriptions = []
    task = asyncio.current_task()
    cancellings = task.cancelling() if task else 0
    try:
        wish = next(operation)
        while True:
            kind = type(wish)
            if kind is Send:
                answer: Any = await transport.send(wish.commands)
            elif kind is Receive:
                answer = await wish.subscription.hear(wish.seconds)
            elif kind is Subscribe:
                answer = await transport.listen(wish.channels)
                transport.hold(answer) if wish.hold else subscriptions.append(answer)
            else:
                answer = None
                await (transport.sleep(wish.seconds) if kind is Sleep else transport.refresh())
            # Before Python 3.12 a cancellation can get lost below us: it is in force all the same.
            if task and task.cancelling() > cancellings:
                raise asyncio.CancelledError
            wish = operation.send(answer)
    except StopIteration as end:
        return cast(T, end.value)
    finally:
        for subscription in subscriptions:
            transport.keep(subscription)
