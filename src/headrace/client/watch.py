"""Watches, sync and async, which report the lost leases of a worker immediately."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any, Self

from headrace.close_on_exit import ClosesOnAsyncExit, ClosesOnExit
from headrace.engine.check import text
from headrace.errors import InvalidArgument
from headrace.operations.channel_listener import subscribe
from headrace.operations.core import Core
from headrace.operations.held_leases import HeldLeases
from headrace.operations.lease_watch import lease_notices, watch_leases
from headrace.transport.drive import drive, drive_async


class WatchBase:
    """The state that Watch and AsyncWatch share. The client starts each watch that it creates."""

    def __init__(
        self, core: Core, worker: str, on_taken: Callable[[Any, str], object] | None
    ) -> None:
        self.core = core
        self.worker = text("worker", worker, core.limits.name)
        if on_taken is not None and not callable(on_taken):
            raise InvalidArgument(f"on_taken must be a function, not {type(on_taken).__name__}")
        if inspect.iscoroutinefunction(on_taken):
            raise InvalidArgument(
                "on_taken must be a plain function, not a coroutine function; a plain function can "
                "start an asyncio task"
            )
        self._held_leases = HeldLeases(worker, on_taken)
        self._state = lease_notices(core, self._held_leases)
        core.held_leases.append(self._held_leases)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.worker!r}>"

    def _forget(self) -> None:
        if self._held_leases in self.core.held_leases:
            self.core.held_leases.remove(self._held_leases)


class Watch(WatchBase, ClosesOnExit):
    """The watch of a worker: a thread that listens until the watch is closed; see Client.watch."""

    _thread: threading.Thread

    def _start(self) -> Self:
        try:
            drive(self.core.transport, subscribe(self._state))
        except BaseException:
            self._forget()
            raise
        name = f"headrace watch of {self.worker}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            drive(self.core.transport, watch_leases(self._state, self._held_leases))
        finally:
            self._forget()
            self._state.subscription.end()

    def close(self) -> None:
        """End the watch; lost leases are no longer reported."""
        self._forget()
        self._state.closed = True
        self._state.subscription.end()
        if self._thread is not threading.current_thread():
            self._thread.join(self.core.timeout)


class AsyncWatch(WatchBase, ClosesOnAsyncExit):
    """The asyncio form of Watch: a task that listens until the watch is closed."""

    _task: asyncio.Task[None]

    async def _start(self) -> Self:
        try:
            await drive_async(self.core.transport, subscribe(self._state))
        except BaseException:
            self._forget()
            raise
        self._task = asyncio.create_task(self._run(), name=f"headrace watch of {self.worker}")
        return self

    async def _run(self) -> None:
        try:
            await drive_async(self.core.transport, watch_leases(self._state, self._held_leases))
        finally:
            self._forget()
            await self._state.subscription.end()

    async def close(self) -> None:
        """End the watch; lost leases are no longer reported."""
        self._forget()
        self._state.closed = True
        await self._state.subscription.end()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
