"""The report of a run in a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.worker.run import Run


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a job in a test.

    The outcome is completed, retried, failed or snoozed; or refused, if the server did not accept
    it, for example because the job was cancelled. The error is what the function raised, or why
    Headrace could not run the job.
    """

    task: str
    id: str
    queue: str
    attempt: int
    arguments: dict[str, Any]
    outcome: str
    result: Any = None
    error: BaseException | None = None


def report_of(run: Run, outcome: str, result: Any, error: BaseException | None) -> Ran:
    """Return the report of a run."""
    envelope = run.envelope
    record = run.popped.record
    return Ran(
        task=envelope.task if envelope else "",
        id=run.popped.id,
        queue=record.queue,
        attempt=record.attempt,
        arguments=envelope.args if envelope else {},
        outcome=outcome,
        result=result,
        error=error,
    )
