"""Summarize errors of Spark in one line. This module does not need Spark."""

from __future__ import annotations

from headrace.errors import HeadraceError

LONGEST = 2000

# The text after these describes Spark's internals or links to documentation.
_NOTES = ("\n== SQL", "\n\nJVM stacktrace", "\n\nPlease see the", "\n\tat ", "SQLSTATE")
_TRACEBACK = "Traceback (most recent call last):"


def error_summary(error: Exception) -> str:
    """Return what went wrong in one line: for a Python error, the last line of its traceback."""
    message = full_message(error)
    for note in _NOTES:
        message = message.partition(note)[0]
    _, _, traced = message.rpartition(_TRACEBACK + "\n")
    ends = [line for line in traced.splitlines() if line[:1].strip()]
    cause = ends[0] if _TRACEBACK in message and ends else message
    line = " ".join(cause.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def full_message(error: Exception) -> str:
    """Return the whole message; for a Java error, without the call that raised it."""
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error)


def is_caused_by(error: Exception, kind: type[HeadraceError]) -> bool:
    """Return whether an error is of this kind, or a Spark error that was caused by one."""
    return isinstance(error, kind) or kind.__name__ in str(error)
