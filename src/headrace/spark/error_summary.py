"""Summarize errors of Spark in one line. This module does not need Spark."""

from __future__ import annotations

from headrace.errors import HeadraceError

LONGEST = 2000

# The text after each of these marks describes Spark's internals or links to documentation.
_NOTES = ("\n== SQL", "\n\nJVM stacktrace", "\n\nPlease see the", "\n\tat ", "SQLSTATE")
_TRACEBACK = "Traceback (most recent call last):"


def error_summary(error: Exception) -> str:
    """Summarize an error in one line. For a Python traceback, return the line with the error."""
    message = full_message(error)
    for note in _NOTES:
        message = message.partition(note)[0]
    _, _, traced = message.rpartition(_TRACEBACK + "\n")
    ends = [line for line in traced.splitlines() if line[:1].strip()]
    cause = ends[0] if _TRACEBACK in message and ends else message
    line = " ".join(cause.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def full_message(error: Exception) -> str:
    """Return the whole message of an error. For a Java error, return only the Java message."""
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error)


def is_caused_by(error: Exception, kind: type[HeadraceError]) -> bool:
    """Return whether an error is of this kind, or is a Spark error with a cause of this kind."""
    return isinstance(error, kind) or kind.__name__ in str(error)
