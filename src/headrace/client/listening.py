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

from headrace.client.core import Core
from headrace.client.talk import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Hear,
    Listen,
    Refresh,
    Sleep,
    Talk,
    drive,
    drive_async,
    passes,
    refused,
    unavailable,
)
from headrace.engine.check import Span, milliseconds

T = TypeVar("T")

# A message and an answer that left the server together may arrive so far apart.
ON_THE_WAY = 0.2


@dataclass(slots=True)
class Station(Generic[T]):
    """What is listened to, and what was heard but not yet taken.

    check is asked after every subscription, the first one too: it returns what is to be told of
    what was missed since the last message.
    """

    core: Core
    channels: list[tuple[int, str]]
    read: Callable[[str, bytes], Iterable[T]]
    check: Callable[[], Talk[Iterable[T]]]
    wait: float | None = None
    heard: deque[T] = field(default_factory=deque)
    ear: Any = None
    checked: bool = False
    closed: bool = False

    @property
    def ended(self) -> bool:
        return self.closed or self.ear.ended


def seconds(wait: Span | None) -> float | None:
    """How long to wait for the next, checked; None is for ever."""
    return None if wait is None else milliseconds("wait", wait) / 1000


def tune_in(station: Station[T]) -> Talk[Station[T]]:
    """Subscribes; whatever is told from now on will be heard."""
    core = station.core
    deadline = time.monotonic() + core.retry_for
    pause = FIRST_PAUSE
    while station.ear is None or station.ear.broken:
        station.checked = False
        station.ear = yield Listen(station.channels, hold=True)
        if station.closed or not station.ear.broken:
            break
        cause = station.ear.cause
        if not passes(cause):
            raise refused(cause) from cause
        if time.monotonic() + pause > deadline:
            raise unavailable(cause, maybe_done=False) from cause
        yield Sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        yield Refresh()
    if not station.closed:
        station.heard.extend((yield from station.check()))
        station.checked = True
    return station


def hear(station: Station[T]) -> Talk[list[T]]:
    """The next one, or nothing if none came in time or the station was closed."""
    until = None if station.wait is None else time.monotonic() + station.wait
    while not station.heard:
        if station.ended:
            return []
        if station.ear.broken or not station.checked:
            yield from tune_in(station)
            continue
        left = math.inf if until is None else until - time.monotonic()
        yield from _listen(station, left)
        if left <= 0 and not station.heard:
            return []
    return [station.heard.popleft()]


def catch_up(station: Station[T], reached: Callable[[], bool]) -> Talk[None]:
    """For a check that knows what was told: hears what is still on its way, but not for long."""
    until = time.monotonic() + ON_THE_WAY
    while not reached() and not station.ear.broken and (left := until - time.monotonic()) > 0:
        yield from _listen(station, left)


def _listen(station: Station[T], seconds_left: float) -> Talk[None]:
    for channel, message in (yield Hear(station.ear, max(0, seconds_left))):
        station.heard.extend(station.read(channel, message))


class Listening(Generic[T]):
    """What is heard, one after the other, for code that blocks. Close it, or use it in a with.

    It goes on after a broken connection, and says what it has missed. It ends when it is closed, or
    when nothing came for the time it was told to wait; in that case it can be iterated again.
    """

    def __init__(self, station: Station[T]) -> None:
        self._station = station

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        for heard in drive(self._station.core.wire, hear(self._station)):
            return heard
        if self._station.closed:
            self._station.ear.end()
        raise StopIteration

    def close(self) -> None:
        """Ends it; whoever waits for the next one, waits no more."""
        self._station.closed = True
        self._station.ear.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncListening(Generic[T]):
    """What is heard, one after the other, for code that awaits. Close it, or use it in a with.

    It goes on after a broken connection, and says what it has missed. It ends when it is closed, or
    when nothing came for the time it was told to wait; in that case it can be iterated again.
    """

    def __init__(self, station: Station[T]) -> None:
        self._station = station

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for heard in await drive_async(self._station.core.wire, hear(self._station)):
            return heard
        if self._station.closed:
            await self._station.ear.end()
        raise StopAsyncIteration

    async def close(self) -> None:
        """Ends it; whoever waits for the next one, waits no more."""
        self._station.closed = True
        await self._station.ear.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()
