"""The log lines of a worker, and the interface through which it reports runs to metrics."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Protocol

from headrace.errors import HeadraceError
from headrace.operations.popping import Popped
from headrace.worker.run import Done, Failed, Outcome, Run

log = logging.getLogger("headrace.worker")

FIELDS = "headrace_fields"


def set_up_logging(*, verbose: bool, as_json: bool) -> None:
    """Send the log of Headrace and asyncio to stderr, as text or as JSON objects."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    for name in ("headrace", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.DEBUG if verbose and name == "headrace" else logging.INFO)
        logger.propagate = False


def log_event(level: int, message: str, **fields: Any) -> None:
    """Log a message with the objects it concerns as fields."""
    if log.isEnabledFor(level):
        log.log(level, message, extra={FIELDS: fields})


class TextFormatter(logging.Formatter):
    """Formats a line as time, level and message, followed by name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        at = datetime.fromtimestamp(record.created).astimezone()
        fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        line = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} {record.levelname:<7} "
        line += f"{record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Formats a line as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # msgspec refuses invalid Unicode, which users' exceptions may contain.
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, FIELDS, {})
    return found


def _quoted(value: Any) -> str:
    text = str(value)
    return repr(text) if " " in text or not text or "\n" in text else text


class JobLog:
    """The log lines about jobs: at most one for each run."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._verbose = log.isEnabledFor(logging.DEBUG)

    def finished(self, run: Run, outcome: Outcome, seconds: float) -> None:
        """Log a failure; with --verbose also a success."""
        if isinstance(outcome, Failed):
            fields = {"failure": outcome.failure, "error": outcome.message[:200]}
            message = "job failed permanently"
            if outcome.retry_in is not None:
                message = "job failed; will retry"
                fields["retry_in"] = f"{outcome.retry_in:.3g}"
            log_event(logging.WARNING, message, **_run_fields(run, seconds), **fields)
        elif self._verbose:
            message = "job completed" if isinstance(outcome, Done) else "job snoozed"
            log_event(logging.DEBUG, message, **_run_fields(run, seconds))

    def refused(self, popped: Popped, error: HeadraceError) -> None:
        """Log that the server refused an outcome."""
        log_event(
            logging.WARNING, "server refused the job's outcome", **_job_fields(popped), reason=error
        )

    def dropped(self, popped: Popped) -> None:
        """Log that a job is lost because its queue keeps no popped jobs."""
        log_event(
            logging.ERROR,
            "job lost at shutdown: its queue removes jobs when they are popped",
            **_job_fields(popped),
        )

    def lease_lost(self, popped: Popped, reason: str) -> None:
        """Log that a job was cancelled or reclaimed."""
        log_event(
            logging.WARNING, "lease lost; stopped the job", **_job_fields(popped), reason=reason
        )


def _job_fields(popped: Popped) -> dict[str, Any]:
    return {"id": popped.id, "queue": popped.record.queue}


def _run_fields(run: Run, seconds: float) -> dict[str, Any]:
    record = run.popped.record
    return {
        "task": run.task.name if run.task else "",
        "id": run.popped.id,
        "queue": record.queue,
        "attempt": record.attempt,
        "run": f"{seconds:.6f}",
    }


class Meter(Protocol):
    """Counts the runs of worker processes.

    Every process has a slot. When a process ends, its replacement takes over the slot.
    """

    def begin(self, slot: int, concurrency: int) -> None:
        """Begin to count in this process; called before the app is loaded."""

    def finished(self, run: Run, outcome: Outcome, seconds: float) -> None:
        """Count a finished run."""

    def holding(self, running: int, ready: int) -> None:
        """Set how many jobs run, and how many are prefetched and do not run yet."""

    def process_ended(self, slot: int) -> None:
        """Note that the process of this slot has ended; the supervisor calls this."""

    def keep_serving(self) -> None:
        """Restart the metrics server if it died; the supervisor calls this every second."""
