"""The job of the running task: its facts, progress, log and cancellation."""

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
    from headrace.app.tracing import RunSpan

_current: ContextVar[Context] = ContextVar("headrace_context")


class Context:
    """The job that a task is working on.

    A parameter annotated with Context receives it; anywhere else Context.current() returns it.
    Methods whose names begin with an extra "a" are for async tasks.

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
        # The span of this run if the app has telemetry.
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
        """Return the context of the running task; raises LookupError outside of tasks."""
        try:
            return _current.get()
        except LookupError:
            raise LookupError(
                "no task is running here; Context.current() works only within a task"
            ) from None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled or its lease lost: its outcome no longer counts."""
        return self._event().is_set()

    def check(self) -> None:
        """Raise LeaseLost if the job was cancelled or its lease lost.

        Long sync tasks call this where they can stop.
        """
        if self.cancelled:
            raise LeaseLost(self.id, "cancelled or with another worker")

    def wait(self, seconds: float) -> bool:
        """Sleep, but return True as soon as the job is cancelled or its lease is lost."""
        return self._event().wait(seconds)

    def progress(self, share: float, note: str = "") -> None:
        """Report progress from 0 to 1; raises LeaseLost if the lease is lost."""
        self._lease().progress(share, note)

    async def aprogress(self, share: float, note: str = "") -> None:
        """Report progress from 0 to 1; raises LeaseLost if the lease is lost."""
        await (await self._async_lease()).progress(share, note)

    def log(self, line: str) -> None:
        """Add a line to the log of the job; raises LeaseLost if the lease is lost."""
        self._lease().log(line)

    async def alog(self, line: str) -> None:
        """Add a line to the log of the job; raises LeaseLost if the lease is lost."""
        await (await self._async_lease()).log(line)

    def heartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renew the lease, which a worker also does by itself.

        Raises LeaseLost if the lease is lost.
        """
        self._lease().heartbeat(lease_for=lease_for)

    async def aheartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renew the lease, which a worker also does by itself.

        Raises LeaseLost if the lease is lost.
        """
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
    """Make this the current context of the running code."""
    _current.set(context)
    if context.span is not None:
        context.span.enter()


def mark_lost(context: Context) -> None:
    """Let the task see that its job was cancelled or its lease lost."""
    context._event().set()  # noqa: SLF001 - the worker's side of a context
