"""The event loop of a worker process, and the event that wakes the main coroutine."""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

# select() can watch only file descriptors below this number.
SELECT_LIMIT = 1024
# Timeouts of this many seconds or more do not need microsecond precision. Microsecond precision
# costs another system call.
FINE_BELOW = 0.02


class Wakeup:
    """A resettable event for one waiter, with minimal work between `set` and the wakeup.

    If `set` was called before `wait`, the waiter does not sleep.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._is_set = False

    def set(self) -> None:
        """Wake the waiter, or let the next `wait` return at once."""
        self._is_set = True
        self._wake()

    def clear(self) -> None:
        """Reset the event, so that earlier calls to `set` have no effect."""
        self._is_set = False

    async def wait(self, seconds: float | None) -> None:
        """Return when `set` is called, or after this many seconds."""
        if self._is_set:
            return
        self._waiter = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that the application configured.

    Python's default loop gets a selector whose short timeouts have microsecond precision.
    Plain epoll rounds timeouts up to whole milliseconds. This rounding would delay a job of 10 ms
    by 5%.
    """
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop or not hasattr(selectors, "EpollSelector"):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(_fine_selector())


def _fine_selector() -> selectors.BaseSelector:
    # The base class exists only on Linux, so FineSelector is defined only when it is used.
    class FineSelector(selectors.EpollSelector):
        """An epoll selector whose short timeouts use select(), which has microsecond precision."""

        def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
            if timeout and 0 < timeout < FINE_BELOW and self.fileno() < SELECT_LIMIT:
                select.select([self], (), (), timeout)
                timeout = 0
            return super().select(timeout)

    return FineSelector()
