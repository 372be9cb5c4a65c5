"""What an error of Spark says, in short. Spark itself is not needed for it."""

from __future__ import annotations

from headrace.errors import HeadraceError

LONGEST = 2000

# From here on an error tells where in Spark it was, or what to read about it.
_NOTES = ("\n== SQL", "\n\nJVM stacktrace", "\n\nPlease see the", "\n\tat ", "SQLSTATE")
_TRACEBACK = "Traceback (most recent call last):"


def gist(error: Exception) -> str:
    """What went wrong, in a line: of an error in Python what its traceback ends with."""
    message = whole_message(error)
    for note in _NOTES:
        message = message.partition(note)[0]
    _, _, traced = message.rpartition(_TRACEBACK + "\n")
    ends = [line for line in traced.splitlines() if line[:1].strip()]
    told = ends[0] if _TRACEBACK in message and ends else message
    line = " ".join(told.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def whole_message(error: Exception) -> str:
    """All that an error says; of one of Java without how Java was called."""
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error)


def is_of(error: Exception, kind: type[HeadraceError]) -> bool:
    """Whether an error is of a kind of ours, or one of Spark that was caused by one."""
    return isinstance(error, kind) or kind.__name__ in str(error)
