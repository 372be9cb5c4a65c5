"""Listening: to hear, one after the other, what is told on channels, across broken connections.

What is listened to is a Station: its channels, how a message is read, and what to ask after every
subscription, because something may have been missed until then.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from headrace.engine.check import Span, milliseconds
from headrace.operations.core import Core
from headrace.operations.requests import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    is_transient,
    refusal_error,
    unavailable_error,
)
from headrace.transport.drive import (
    Operation,
    Receive,
    Refresh,
    Sleep,
    Subscribe,
    drive,
    drive_async,
)

T = TypeVar("T")

# A message and an answer that left the server together may arrive so far apart.
ON_THE_WAY = 0.2


@dataclass(slots=True)
class ListeningState(Generic[T]):
    """What is listened to, and what was heard but not yet taken.

    check is asked after every subscription, the first one too: it returns what is to be told of
    what was missed since the last message.
    """

    core: Core
    channels: list[tuple[int, str]]
    read: Callable[[str, bytes], Iterable[T]]
    check: Callable[[], Operation[Iterable[T]]]
    wait: float | None = None
    heard: deque[T] = field(default_factory=deque)
    subscription: Any = None
    checked: bool = False
    closed: bool = False

    @property
    def ended(self) -> bool:
        return self.closed or self.subscription.ended


def seconds(wait: Span | None) -> float | None:
    """How long to wait for the next, checked; None is for ever."""
    return None if wait is None else milliseconds("wait", wait) / 1000


def subscribe(state: ListeningState[T]) -> Operation[ListeningState[T]]:
    """Subscribes; whatever is told from now on will be heard."""
    core = state.core
    deadline = time.monotonic() + core.retry_for
    pause = FIRST_PAUSE
    while state.subscription is None or state.subscription.broken:
        state.checked = False
        state.subscription = yield Subscribe(state.channels, hold=True)
        if state.closed or not state.subscription.broken:
            break
        cause = state.subscription.cause
        if not is_transient(cause):
            raise refusal_error(cause) from cause
        if time.monotonic() + pause > deadline:
            raise unavailable_error(cause, maybe_done=False) from cause
        yield Sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        yield Refresh()
    if not state.closed:
        state.heard.extend((yield from state.check()))
        state.checked = True
    return state


def receive(state: ListeningState[T]) -> Operation[list[T]]:
    """The next one, or nothing if none came in time or the station was closed."""
    until = None if state.wait is None else time.monotonic() + state.wait
    while not state.heard:
        if state.ended:
            return []
        if state.subscription.broken or not state.checked:
            yield from subscribe(state)
            continue
        left = math.inf if until is None else until - time.monotonic()
        yield from _listen(state, left)
        if left <= 0 and not state.heard:
            return []
    return [state.heard.popleft()]


def catch_up(state: ListeningState[T], reached: Callable[[], bool]) -> Operation[None]:
    """For a check that knows what was told: hears what is still on its way, but not for long."""
    until = time.monotonic() + ON_THE_WAY
    while (
        not reached() and not state.subscription.broken and (left := until - time.monotonic()) > 0
    ):
        yield from _listen(state, left)


def _listen(state: ListeningState[T], seconds_left: float) -> Operation[None]:
    for channel, message in (yield Receive(state.subscription, max(0, seconds_left))):
        state.heard.extend(state.read(channel, message))


class Listener(Generic[T]):
    """What is heard, one after the other, for code that blocks. Close it, or use it in a with.

    It goes on after a broken connection, and says what it has missed. It ends when it is closed, or
    when nothing came for the time it was told to wait; in that case it can be iterated again.
    """

    def __init__(self, state: ListeningState[T]) -> None:
        self._state = state

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        for heard in drive(self._state.core.transport, receive(self._state)):
            return heard
        if self._state.closed:
            self._state.subscription.end()
        raise StopIteration

    def close(self) -> None:
        """Ends it; whoever waits for the next one, waits no more."""
        self._state.closed = True
        self._state.subscription.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncListener(Generic[T]):
    """What is heard, one after the other, for code that awaits. Close it, or use it in a with.

    It goes on after a broken connection, and says what it has missed. It ends when it is closed, or
    when nothing came for the time it was told to wait; in that case it can be iterated again.
    """

    def __init__(self, state: ListeningState[T]) -> None:
        self._state = state

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for heard in await drive_async(self._state.core.transport, receive(self._state)):
            return heard
        if self._state.closed:
            await self._state.subscription.end()
        raise StopAsyncIteration

    async def close(self) -> None:
        """Ends it; whoever waits for the next one, waits no more."""
        self._state.closed = True
        await self._state.subscription.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()
