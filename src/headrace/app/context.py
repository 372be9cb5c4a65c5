"""What a task may know and say of its job while it runs."""

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
    """The job that is being worked on. A parameter annotated with it is given it.

    Names that begin with an a are for code that awaits.
    """

    __slots__ = ("_app", "_popped", "_taken", "span")

    def __init__(self, app: App, popped: Popped) -> None:
        self._app = app
        self._popped = popped
        self._taken: threading.Event | None = None
        # What telemetry has of this run, where there is telemetry.
        self.span: RunSpan | None = None

    @property
    def id(self) -> str:
        """The id of the job."""
        return self._popped.id

    @property
    def attempt(self) -> int:
        """Which delivery of the job this is, from 1 on."""
        return self._popped.record.attempt

    @property
    def job(self) -> Job:
        """The job as it was when it was handed out."""
        return job_of(self._app.codec, self._popped)

    @staticmethod
    def current() -> Context:
        """The context of the task that is running here; LookupError outside of tasks."""
        try:
            return _current.get()
        except LookupError:
            raise LookupError("no task is running here") from None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled or taken away: then nothing said of it counts any more."""
        return self._event().is_set()

    def check(self) -> None:
        """Raises LeaseLost if the job was cancelled or taken away; for long plain functions."""
        if self.cancelled:
            raise LeaseLost(self.id, "cancelled or with another worker")

    def wait(self, seconds: float) -> bool:
        """Sleeps, but wakes up when the job is taken away; returns whether it was."""
        return self._event().wait(seconds)

    def progress(self, share: float, note: str = "") -> None:
        """Says how far the job is, from 0 to 1."""
        self._lease().progress(share, note)

    async def aprogress(self, share: float, note: str = "") -> None:
        """Says how far the job is, from 0 to 1."""
        await (await self._async_lease()).progress(share, note)

    def log(self, line: str) -> None:
        """Adds a line to the log of the job."""
        self._lease().log(line)

    async def alog(self, line: str) -> None:
        """Adds a line to the log of the job."""
        await (await self._async_lease()).log(line)

    def heartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renews the lease. A worker does this by itself; LeaseLost if the job is not ours."""
        self._lease().heartbeat(lease_for=lease_for)

    async def aheartbeat(self, *, lease_for: Span | None = None) -> None:
        """Renews the lease. A worker does this by itself; LeaseLost if the job is not ours."""
        await (await self._async_lease()).heartbeat(lease_for=lease_for)

    def _lease(self) -> Lease:
        return Lease(self._app.client.core, self._popped)

    async def _async_lease(self) -> AsyncLease:
        return AsyncLease((await self._app.async_client()).core, self._popped)

    def _event(self) -> threading.Event:
        if self._taken is None:
            self._taken = threading.Event()
        return self._taken


def enter(context: Context) -> None:
    """From here on this is the current context of the running code."""
    _current.set(context)
    if context.span is not None:
        context.span.enter()


def tell_taken(context: Context) -> None:
    """The job was taken away: the task may want to know."""
    context._event().set()  # noqa: SLF001 - the worker's side of a context
