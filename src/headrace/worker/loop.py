"""The event loop of a worker process. Jobs that wait are woken when it is time, not up to a
millisecond later: epoll counts whole milliseconds, and a job of ten would lose a twentieth to that.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

# What select can watch.
HIGHEST = 1024
# Where a millisecond does not matter, it is not worth another call of the system.
FINE_BELOW = 0.02


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop as the application wants it; the one that comes with Python tells time finely."""
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop or not hasattr(selectors, "EpollSelector"):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(_fine_selector())


def _fine_selector() -> selectors.BaseSelector:
    class FineSelector(selectors.EpollSelector):
        """Waits for its own epoll by select, which counts microseconds."""

        def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
            if timeout and 0 < timeout < FINE_BELOW and self.fileno() < HIGHEST:
                select.select([self], (), (), timeout)
                timeout = 0
            return super().select(timeout)

    return FineSelector()
