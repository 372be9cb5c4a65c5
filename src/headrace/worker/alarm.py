"""An alarm: what a worker sleeps by. Rung before it is waited for, it is heard at once."""

from __future__ import annotations

import asyncio


class Alarm:
    """For one waiter, and with as little as possible between ringing and waking."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._rung = False

    def ring(self) -> None:
        """Wakes the waiter, now or as soon as it waits."""
        self._rung = True
        self._wake()

    def clear(self) -> None:
        """What has rung so far is heard."""
        self._rung = False

    async def wait(self, seconds: float | None) -> None:
        """Returns when it rings, or after some seconds."""
        if self._rung:
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
