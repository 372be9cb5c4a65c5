"""The interface between an app and telemetry, for traces that connect a put with the job's runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

ReportIds = Callable[[list[str]], None]


class RunSpan(Protocol):
    """The span of one run of a job."""

    def enter(self) -> None:
        """Make this span the current span of the running code."""

    def carrier(self) -> dict[str, str]:
        """Return the trace headers with which another process can continue the span."""

    def end(self, outcome: Any) -> None:
        """End the span; the outcome is None if the lease was lost or the job was released."""


class Tracing(Protocol):
    """Traces the puts and runs of an app."""

    def sending(
        self, task: str, queue: str, datas: list[dict[str, Any]]
    ) -> AbstractContextManager[ReportIds]:
        """Trace a put, and add the trace to the jobs' data.

        Yield a function that the caller calls with the ids of the jobs.
        """

    def carry(self, datas: list[dict[str, Any]]) -> None:
        """Add the current trace context to the data of jobs that are put without Task.put."""

    def begin_run(self, popped: Any, envelope: Any) -> RunSpan:
        """Begin the span of a run; the envelope is None if the job's data cannot be read."""

    def join_run(self, carrier: dict[str, str]) -> RunSpan:
        """Continue the span of a run that another process has begun and will end."""

    def flush(self) -> None:
        """Export all finished spans before the process ends."""


UNTRACED: AbstractContextManager[ReportIds] = nullcontext(lambda _: None)
