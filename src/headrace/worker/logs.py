"""The log lines of a worker."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from headrace.operations.popping import Popped
from headrace.printable import printable
from headrace.worker.task_call import Done, Failed, Outcome, Run

log = logging.getLogger("headrace.worker")

FIELDS = "headrace_fields"


def set_up_logging(*, verbose: bool, as_json: bool) -> None:
    """Send the logs of Headrace and asyncio to stderr, as text or as JSON objects."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    for name in ("headrace", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.DEBUG if verbose and name == "headrace" else logging.INFO)
        logger.propagate = False


def log_event(level: int, message: str, **fields: Any) -> None:
    """Log a message with additional fields, such as the name of the worker."""
    if log.isEnabledFor(level):
        log.log(level, message, extra={FIELDS: fields})


class TextFormatter(logging.Formatter):
    """Formats a record as time, level and message, followed by fields such as id=42.

    Control characters are escaped, because the values contain data of jobs.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the log line for a record."""
        at = datetime.fromtimestamp(record.created).astimezone()
        fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        line = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} {record.levelname:<7} "
        line += f"{printable(record.getMessage())}{fields}"
        if not record.exc_info:
            return line
        # The lines are indented, so that the message of an exception cannot imitate a log line.
        traceback = self.formatException(record.exc_info).split("\n")
        return "\n  ".join([line, *map(printable, traceback)])


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the log line for a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # msgspec cannot encode invalid Unicode, which users' exceptions may contain.
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, FIELDS, {})
    return found


def _quoted(value: Any) -> str:
    text = str(value)
    return repr(text) if " " in text or not text.isprintable() or not text else text


def log_job(level: int, message: str, popped: Popped, **fields: Any) -> None:
    """Log a message about a job."""
    log_event(level, message, id=popped.id, queue=popped.record.queue, **fields)


def log_run(run: Run, outcome: Outcome, seconds: float) -> None:
    """Log a failed run as a warning, and any other run only with --verbose."""
    if isinstance(outcome, Failed):
        fields = {"failure": outcome.failure, "error": outcome.message[:200]}
        message = "job failed permanently"
        if outcome.retry_in is not None:
            message = "job failed; will retry"
            fields["retry_in"] = f"{outcome.retry_in:.3g}"
        log_event(logging.WARNING, message, **_run_fields(run, seconds), **fields)
    elif log.isEnabledFor(logging.DEBUG):
        message = "job completed" if isinstance(outcome, Done) else "job snoozed"
        log_event(logging.DEBUG, message, **_run_fields(run, seconds))


def _run_fields(run: Run, seconds: float) -> dict[str, Any]:
    record = run.popped.record
    return {
        "task": run.task.name if run.task else "",
        "id": run.popped.id,
        "queue": record.queue,
        "attempt": record.attempt,
        "run": f"{seconds:.6f}",
    }
