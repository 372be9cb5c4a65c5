"""What the code of a task may raise to say what is to become of its job."""

from __future__ import annotations

from headrace.engine.check import Span, milliseconds
from headrace.errors import InvalidArgument


class Verdict(Exception):
    """The root of what a task may raise to decide over its job."""


class Snooze(Verdict):
    """Not now: the job comes back after a time. It costs no retry."""

    def __init__(self, delay: Span) -> None:
        super().__init__(f"snoozed for {delay} seconds")
        self.delay = milliseconds("delay", delay) / 1000


class Discard(Verdict):
    """Never again: the job is set aside as failed at once, whatever retries it has left."""

    def __init__(self, message: str = "", *, failure: str = "Discard") -> None:
        super().__init__(message)
        self.message = message
        self.failure = _text("failure", failure)


class Retry(Verdict):
    """Once more: the attempt failed and the job is tried again after a time, if it has retries."""

    def __init__(
        self, message: str = "", *, delay: Span | None = None, failure: str = "Retry"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.delay = None if delay is None else milliseconds("delay", delay) / 1000
        self.failure = _text("failure", failure)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{what} must be a text that is not empty")
    return value
