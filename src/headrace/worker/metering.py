"""What a worker tells whoever counts: the number, the time and the outcome of its runs."""

from __future__ import annotations

from typing import Protocol

from headrace.worker.run import Done, Failed, Run, Snoozed


class Meter(Protocol):
    """Counts in worker processes, which have places: one that ends leaves its place to another."""

    def begin(self, place: int, concurrency: int) -> None:
        """This process works now, in this place; called before the app is loaded."""

    def ended(self, run: Run, outcome: Done | Failed | Snoozed, seconds: float) -> None:
        """A run is over."""

    def holding(self, running: int, ready: int) -> None:
        """So many jobs run, and so many are in hand that do not run yet."""

    def gone(self, place: int) -> None:
        """The process in this place has ended; said by the supervisor."""


def word(outcome: Done | Failed | Snoozed) -> str:
    """What became of a job, in one word."""
    if isinstance(outcome, Failed):
        return "failed" if outcome.retry_in is None else "retried"
    return "completed" if isinstance(outcome, Done) else "snoozed"
