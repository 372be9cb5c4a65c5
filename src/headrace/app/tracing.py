"""The interface between an app and telemetry: traces that go on from a put to its runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

ReportIds = Callable[[list[str]], None]


class RunSpan(Protocol):
    """The span of one run of a job."""

    def enter(self) -> None:
        """Make this the current span of the running code."""

    def carrier(self) -> dict[str, str]:
        """Return what another process needs to continue the span."""

    def end(self, outcome: Any) -> None:
        """End the span; the outcome is None if the lease was lost or the job released."""


class Tracing(Protocol):
    """What an app reports about its jobs."""

    def sending(
        self, task: str, queue: str, datas: list[dict[str, Any]]
    ) -> AbstractContextManager[ReportIds]:
        """Trace a put: add the trace to the data of the jobs, and receive their ids at the end."""

    def carry(self, datas: list[dict[str, Any]]) -> None:
        """Add the current trace context to the data of jobs that are not put through a task."""

    def begin_run(self, popped: Any, envelope: Any) -> RunSpan:
        """Begin the span of a run; the envelope is None if the data cannot be read."""

    def join_run(self, carrier: dict[str, str]) -> RunSpan:
        """Continue the span of a run in another process, which does not report it."""

    def flush(self) -> None:
        """Export all finished spans: the process is about to end."""


def _ignore_ids(_: list[str]) -> None:
    pass


UNTRACED: AbstractContextManager[ReportIds] = nullcontext(_ignore_ids)
