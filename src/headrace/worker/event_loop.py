"""The event loop of a worker process, and the wakeup that its main coroutine sleeps on."""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

# The number of file descriptors that select can watch.
SELECT_LIMIT = 1024
# Longer timeouts do not need microseconds, so they are not worth another system call.
FINE_BELOW = 0.02


class Wakeup:
    """A resettable event for one waiter, with as little work as possible between set and wake.

    A waiter that comes after `set` does not sleep.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._is_set = False

    def set(self) -> None:
        """Wake the waiter now, or as soon as it waits."""
        self._is_set = True
        self._wake()

    def clear(self) -> None:
        """Forget earlier calls of set."""
        self._is_set = False

    async def wait(self, seconds: float | None) -> None:
        """Return when set is called, or after this many seconds."""
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

    Python's default loop gets a selector that keeps short timeouts to the microsecond. Plain epoll
    rounds up to whole milliseconds, which would delay a job of 10 ms by a twentieth.
    """
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop or not hasattr(selectors, "EpollSelector"):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(_fine_selector())


def _fine_selector() -> selectors.BaseSelector:
    class FineSelector(selectors.EpollSelector):
        """An epoll selector that waits for its own epoll with select, which has microseconds."""

        def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
            if timeout and 0 < timeout < FINE_BELOW and self.fileno() < SELECT_LIMIT:
                select.select([self], (), (), timeout)
                timeout = 0
            return super().select(timeout)

    return FineSelector()
