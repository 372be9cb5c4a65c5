"""The job of the running task: its attributes, progress, log and cancellation."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

from headrace.client.lease import AsyncLease, Lease, job_of
from headrace.engine.check import Span
from headrace.errors import LeaseLost
from headrace.operations.popping import Popped
from headrace.operations.values import Job

if TYPE_CHECKING:
    from headrace.app.app import App
    from headrace.app.tracing_hooks import RunSpan

_current: ContextVar[Context] = ContextVar("headrace_context")


class Context:
    """The job that a task is working on.

    A task receives its Context through a parameter annotated with Context. Other functions that the
    task calls get the Context from Context.current(). Async tasks use aprogress, alog and
    aheartbeat.

    >>> import headrace
    >>> app = headrace.App("shop")
    >>> @app.task()
    ... def export(context: headrace.Context, rows: int) -> int:
    ...     context.progress(0.5, "half of the rows")
    ...     return context.attempt
    >>> with app.inlined() as runs:
    ...     job_id = export.put(rows=10)
    >>> runs[0].result
    1
    """

    __slots__ = ("_app", "_lost", "_popped", "span")

    def __init__(self, app: App, popped: Popped) -> None:
        self._app = app
        self._popped = popped
        self._lost: threading.Event | None = None
        # The telemetry span of this run, or None if the app has no telemetry.
        self.span: RunSpan | None = None

    @property
    def id(self) -> str:
        """The id of the job."""
        return self._popped.id

    @property
    def attempt(self) -> int:
        """The attempt number, starting at 1."""
        return self._popped.record.attempt

    @property
    def job(self) -> Job:
        """The job as it was when it was popped."""
        return job_of(self._app.codec, self._popped)

    @staticmethod
    def current() -> Context:
        """Return the context of the running task.

        Raises LookupError outside of tasks.

        >>> @app.task()
        ... def export() -> int:
        ...     return headrace.Context.current().attempt
        """
        try:
            return _current.get()
        except LookupError:
            raise LookupError(
                "no task is running here; Context.current() works only within a task"
            ) from None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled or lost its lease.

        If so, the server refuses the result of the task.
        """
        return self._event().is_set()

    def check(self) -> None:
        """Raise LeaseLost if the job was cancelled or lost its lease.

        Long sync tasks should call this method wherever they can safely stop.

        >>> context.check()
        """
        if self.cancelled:
            raise LeaseLost(self.id, "cancelled or with another worker")

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, but return True as soon as the job is cancelled or loses its lease.

        Return False after the full time. This method does not raise LeaseLost; `check` does.

        >>> if context.wait(0.1):
        ...     print("cancelled")
        """
        return self._event().wait(seconds)

    def progress(self, share: float, note: str = "") -> None:
        """Report progress from 0 to 1.

        Raises LeaseLost if the lease is lost, and InvalidArgument if `share` is not from 0 to 1.

        >>> context.progress(0.4, "400 of 1000 rows")
        """
        self._lease().progress(share, note)

    async def aprogress(self, share: float, note: str = "") -> None:
        """Report progress from 0 to 1; see Context.progress."""
        await (await self._async_lease()).progress(share, note)

    def log(self, line: str) -> None:
        """Add a line to the log of the job.

        Raises LeaseLost if the lease is lost.

        >>> context.log("400 of 1000 rows")
        """
        self._lease().log(line)

    async def alog(self, line: str) -> None:
        """Add a line to the log of the job; see Context.log."""
        await (await self._async_lease()).log(line)

    def heartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renew the lease. A worker already renews the leases of its running jobs automatically.

        `lease_for` is the new duration of the lease in seconds.

        Raises LeaseLost if the lease is lost.

        >>> context.heartbeat(lease_for=600)
        """
        self._lease().heartbeat(lease_for=lease_for)

    async def aheartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renew the lease; see Context.heartbeat."""
        await (await self._async_lease()).heartbeat(lease_for=lease_for)

    def _lease(self) -> Lease:
        return Lease(self._app.client.core, self._popped)

    async def _async_lease(self) -> AsyncLease:
        return AsyncLease((await self._app.async_client()).core, self._popped)

    def _event(self) -> threading.Event:
        if self._lost is None:
            self._lost = threading.Event()
        return self._lost


def enter(context: Context) -> None:
    """Make a context the current context of the running code."""
    _current.set(context)
    if context.span is not None:
        context.span.enter()


def mark_lost(context: Context) -> None:
    """Tell a context that its job was cancelled or lost its lease."""
    context._event().set()  # noqa: SLF001 - the worker's side of a context
