"""Listeners iterate over messages of channels, and subscribe again if a connection breaks.

A ListeningState has the channels, a function that reads a message, and a check. The check runs
after every subscription, because the listener may have missed messages before the subscription.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from headrace.close_on_exit import ClosesOnAsyncExit, ClosesOnExit
from headrace.engine.check import Span, milliseconds
from headrace.operations.core import Core
from headrace.operations.requests import Retries, is_transient, refusal_error
from headrace.transport.drive import Operation, Receive, Subscribe, drive, drive_async

T = TypeVar("T")

# If the server sends a reply and a message at the same time, the message arrives at most this many
# seconds after the reply.
DELIVERY_SKEW = 0.2


@dataclass(slots=True)
class ListeningState(Generic[T]):
    """The channels of a listener, and the items that were received but not yet returned.

    `read` turns a message into items. `check` runs after every subscription, including the first,
    and returns items about the messages that were missed since the last check.
    """

    core: Core
    channels: list[tuple[int, str]]
    read: Callable[[str, bytes], Iterable[T]]
    check: Callable[[], Operation[Iterable[T]]]
    wait: float | None = None
    received: deque[T] = field(default_factory=deque)
    subscription: Any = None
    checked: bool = False
    closed: bool = False

    @property
    def ended(self) -> bool:
        """Whether the listener or its client was closed."""
        return self.closed or self.subscription.ended


def seconds(wait: Span | None) -> float | None:
    """Convert the time to wait for the next item to seconds; None means no limit."""
    return None if wait is None else milliseconds("wait", wait) / 1000


def subscribe(state: ListeningState[T]) -> Operation[ListeningState[T]]:
    """Subscribe to the channels, so that every message published later is received.

    Raises ServerUnavailable if the server refuses the subscription or cannot be reached within
    `retry_for` seconds.
    """
    retries = Retries(state.core)
    while state.subscription is None or state.subscription.broken:
        state.checked = False
        state.subscription = yield Subscribe(state.channels, hold=True)
        if state.closed or not state.subscription.broken:
            break
        cause = state.subscription.cause
        if not is_transient(cause):
            raise refusal_error(cause) from cause
        yield from retries.pause(cause, maybe_done=False)
    if not state.closed:
        state.received.extend((yield from state.check()))
        state.checked = True
    return state


def receive(state: ListeningState[T]) -> Operation[list[T]]:
    """Return a list with the next item, or an empty list after a timeout or after `close`."""
    until = None if state.wait is None else time.monotonic() + state.wait
    while not state.received:
        if state.ended:
            return []
        if state.subscription.broken or not state.checked:
            yield from subscribe(state)
            continue
        left = math.inf if until is None else until - time.monotonic()
        yield from _listen(state, left)
        if left <= 0 and not state.received:
            return []
    return [state.received.popleft()]


def catch_up(state: ListeningState[T], reached: Callable[[], bool]) -> Operation[None]:
    """Receive messages that are still on their way, for DELIVERY_SKEW seconds at most.

    A check calls this function when the server reports more messages than were received.
    """
    until = time.monotonic() + DELIVERY_SKEW
    while (
        not reached() and not state.subscription.broken and (left := until - time.monotonic()) > 0
    ):
        yield from _listen(state, left)


def _listen(state: ListeningState[T], seconds_left: float) -> Operation[None]:
    for channel, message in (yield Receive(state.subscription, max(0, seconds_left))):
        state.received.extend(state.read(channel, message))


class Listener(ClosesOnExit, Generic[T]):
    """An iterator over the events of a subscription; close the iterator, or use a `with` statement.

    A listener subscribes again after a broken connection and reports missed events. The iteration
    ends when the listener is closed, or when no event arrives within `wait` seconds. After such a
    timeout, the listener can be iterated again.

        with client.tracking.listen(wait=60) as events:
            for event in events:
                print(event.kind, event.job_id)
    """

    def __init__(self, state: ListeningState[T]) -> None:
        self._state = state

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        for item in drive(self._state.core.transport, receive(self._state)):
            return item
        if self._state.closed:
            self._state.subscription.end()
        raise StopIteration

    def close(self) -> None:
        """End the subscription, and any iteration that waits for the next event."""
        self._state.closed = True
        self._state.subscription.end()


class AsyncListener(ClosesOnAsyncExit, Generic[T]):
    """The asyncio form of Listener: an async iterator and an async context manager."""

    def __init__(self, state: ListeningState[T]) -> None:
        self._state = state

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for item in await drive_async(self._state.core.transport, receive(self._state)):
            return item
        if self._state.closed:
            await self._state.subscription.end()
        raise StopAsyncIteration

    async def close(self) -> None:
        """End the subscription, and any iteration that waits for the next event."""
        self._state.closed = True
        await self._state.subscription.end()
