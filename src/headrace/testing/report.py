"""What was run in a test, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.worker.run import Run


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a job.

    The outcome is completed, retried, failed or snoozed; refused, if the job was no longer there
    to be ended. The error is what the function raised, or what Headrace has against the job.
    """

    task: str
    id: str
    queue: str
    attempt: int
    arguments: dict[str, Any]
    outcome: str
    result: Any = None
    error: BaseException | None = None


def ran(run: Run, outcome: str, result: Any, error: BaseException | None) -> Ran:
    """The report of a run."""
    sent = run.sent
    record = run.popped.record
    return Ran(
        task=sent.task if sent else "",
        id=run.popped.id,
        queue=record.queue,
        attempt=record.attempt,
        arguments=sent.args if sent else {},
        outcome=outcome,
        result=result,
        error=error,
    )
