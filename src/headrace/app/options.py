"""Task options: defaults for the jobs of a task; task.options(...) overrides these defaults."""

from __future__ import annotations

from typing import Any

from headrace.backoff import Backoff
from headrace.engine.check import milliseconds
from headrace.errors import InvalidArgument
from headrace.options import OPTIONS, TaskOptions, check_names

LONGEST_TIMEOUT = 366 * 86_400.0
# Options that the worker reads. These options are stored with the arguments in the job's data.
CARRIED = ("timeout", "backoff")
# The value of these options may be a function, which is called with the job's arguments.
COMPUTED = ("tags", "unique", "key")
KNOWN = frozenset((*OPTIONS, *CARRIED, "queue"))


def checked(options: TaskOptions) -> dict[str, Any]:
    """Check and return task options; raise InvalidArgument if an option is unknown or invalid."""
    given: dict[str, Any] = dict(options)
    check_names(given, KNOWN)
    backoff = given.get("backoff")
    if backoff is not None and not isinstance(backoff, Backoff):
        raise InvalidArgument(f"backoff must be a headrace.Backoff, not {type(backoff).__name__}")
    if given.get("timeout") is not None:
        given["timeout"] = milliseconds("timeout", given["timeout"]) / 1000
        if not 0 < given["timeout"] <= LONGEST_TIMEOUT:
            raise InvalidArgument(
                "timeout must be more than 0 and at most 366 days; omit timeout= for no timeout"
            )
    return given
