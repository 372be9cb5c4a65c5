"""The interface through which a worker reports metrics."""

from __future__ import annotations

from typing import Protocol

from headrace.worker.task_call import Outcome, Run


class Meter(Protocol):
    """Counts the runs of worker processes.

    Every process has a slot. When a process ends, its replacement takes over the slot.
    """

    def begin(self, slot: int, concurrency: int) -> None:
        """Start counting in this process.

        A worker process calls this method before the process loads the app.
        """

    def finished(self, run: Run, outcome: Outcome, seconds: float) -> None:
        """Count a finished run."""

    def holding(self, running: int, ready: int) -> None:
        """Set the numbers of running jobs and of prefetched jobs that have not started."""

    def process_ended(self, slot: int) -> None:
        """Record that the process of this slot has ended. The supervisor calls this method."""

    def keep_serving(self) -> None:
        """Restart the metrics server if it died. The supervisor calls this method every second."""
