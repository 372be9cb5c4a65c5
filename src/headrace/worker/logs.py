"""The worker's log: a line for what an operator should know, and on request one for every job."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from headrace.errors import HeadraceError
from headrace.operations.popping import Popped
from headrace.worker.run import Done, Failed, Run, Snoozed

log = logging.getLogger("headrace.worker")

FIELDS = "headrace_fields"


def set_up(*, verbose: bool, as_json: bool) -> None:
    """Sends what Headrace logs to stderr, readable by people or by programs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else Lines())
    for name in ("headrace", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.DEBUG if verbose and name == "headrace" else logging.INFO)
        logger.propagate = False


def say(level: int, message: str, **fields: Any) -> None:
    """A line, with what it is about as fields."""
    if log.isEnabledFor(level):
        log.log(level, message, extra={FIELDS: fields})


class Lines(logging.Formatter):
    """Time, level, message, then name=value."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone()
        fields = "".join(f" {name}={_short(value)}" for name, value in _fields(record).items())
        line = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} {record.levelname:<7} "
        line += f"{record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Not msgspec: what users raise may be no valid Unicode.
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, FIELDS, {})
    return found


def _short(value: Any) -> str:
    text = str(value)
    return repr(text) if " " in text or not text or "\n" in text else text


class JobLog:
    """At most one line for each run of a job."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._every = log.isEnabledFor(logging.DEBUG)

    def ended(self, run: Run, outcome: Done | Failed | Snoozed, seconds: float) -> None:
        if isinstance(outcome, Failed):
            again = outcome.retry_in is not None
            fields = {"failure": outcome.failure, "error": outcome.message[:200]}
            if again:
                fields["retry_in"] = f"{outcome.retry_in:.3g}"
            say(logging.WARNING, "failed", **_about(run), run=f"{seconds:.6f}", **fields)
        elif self._every:
            word = "done" if isinstance(outcome, Done) else "snoozed"
            say(logging.DEBUG, word, **_about(run), run=f"{seconds:.6f}")

    def refused(self, popped: Popped, error: HeadraceError) -> None:
        say(logging.WARNING, "refused", id=popped.id, queue=popped.record.queue, why=error)

    def dropped(self, popped: Popped) -> None:
        say(logging.ERROR, "lost, as pop had removed it", id=popped.id, queue=popped.record.queue)

    def taken(self, popped: Popped, why: str) -> None:
        say(logging.WARNING, "taken", id=popped.id, queue=popped.record.queue, why=why)


def _about(run: Run) -> dict[str, Any]:
    record = run.popped.record
    return {
        "task": run.task.name if run.task else "",
        "id": run.popped.id,
        "queue": record.queue,
        "attempt": record.attempt,
    }
