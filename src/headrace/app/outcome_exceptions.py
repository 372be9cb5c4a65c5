"""Exceptions that a task raises to set the outcome of its job."""

from __future__ import annotations

from headrace.engine.check import Span, milliseconds
from headrace.errors import InvalidArgument


class Verdict(Exception):
    """Base class of exceptions that a task raises to set its job's outcome."""


class Snooze(Verdict):
    """Raised by a task to run its job again after a delay. A snooze does not use a retry.

    if not printer.is_on():
        raise headrace.Snooze(60)
    """

    def __init__(self, delay: Span) -> None:
        super().__init__(f"snoozed for {delay} seconds")
        self.delay = milliseconds("delay", delay) / 1000


class Discard(Verdict):
    """Raised by a task to fail its job permanently, even if the job has retries left.

    raise headrace.Discard("no such customer", failure="UnknownCustomer")
    """

    def __init__(self, message: str = "", *, failure: str = "Discard") -> None:
        super().__init__(message)
        self.message = message
        self.failure = _text("failure", failure)


class Retry(Verdict):
    """Raised by a task to fail this attempt and retry the job after a delay.

    Without `delay`, the job's backoff sets the delay. A job without retries left fails permanently.

        raise headrace.Retry("rate limited", delay=response.retry_after)
    """

    def __init__(
        self, message: str = "", *, delay: Span | None = None, failure: str = "Retry"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.delay = None if delay is None else milliseconds("delay", delay) / 1000
        self.failure = _text("failure", failure)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{what} must be a non-empty string, not {value!r}")
    return value
