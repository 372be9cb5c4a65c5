"""How a trace goes on from the put of a job to its run: what telemetry must be able to do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

Told = Callable[[list[str]], None]


class RunSpan(Protocol):
    """One run of a job."""

    def enter(self) -> None:
        """From here on what the running code traces is part of the run."""

    def carrier(self) -> dict[str, str]:
        """What another process needs to know to go on with it."""

    def end(self, outcome: Any) -> None:
        """It is over; without an outcome, because the job was taken away or given back."""


class Tracing(Protocol):
    """What an app tells of its jobs."""

    def sending(
        self, task: str, queue: str, datas: list[dict[str, Any]]
    ) -> AbstractContextManager[Told]:
        """Jobs are put: their data is given the trace, and in the end their ids are told."""

    def carry(self, datas: list[dict[str, Any]]) -> None:
        """The data of jobs that are put by other means is given the trace that goes on here."""

    def running(self, popped: Any, sent: Any) -> RunSpan:
        """A job that was handed out is run; what was sent is None where it cannot be read."""

    def joining(self, carrier: dict[str, str]) -> RunSpan:
        """The same run in another process, which does not tell of it."""

    def flush(self) -> None:
        """The process ends: what was not told yet is told now."""


def _untold(_: list[str]) -> None:
    pass


UNTRACED: AbstractContextManager[Told] = nullcontext(_untold)
