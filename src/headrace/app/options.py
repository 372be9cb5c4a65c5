"""The options of a task: defaults for its jobs, which task.options(...) overrides."""

from __future__ import annotations

from typing import Any

from headrace.backoff import Backoff
from headrace.engine.check import milliseconds
from headrace.errors import InvalidArgument
from headrace.options import OPTIONS, TaskOptions

LONGEST_TIMEOUT = 366 * 86_400.0
# Options for the worker rather than the server: they travel with the arguments.
CARRIED = ("timeout", "backoff")
# Options that may be functions of the arguments.
COMPUTED = ("tags", "unique", "key")
KNOWN = frozenset((*OPTIONS, *CARRIED, "queue"))


def checked(options: TaskOptions) -> dict[str, Any]:
    """Return the checked options; raises InvalidArgument if one is unknown or invalid."""
    given: dict[str, Any] = dict(options)
    if unknown := given.keys() - KNOWN:
        raise InvalidArgument(
            f"no option {min(unknown)!r}; the options are: {', '.join(sorted(KNOWN))}"
        )
    backoff = given.get("backoff")
    if backoff is not None and not isinstance(backoff, Backoff):
        raise InvalidArgument(f"backoff must be a headrace.Backoff, not {type(backoff).__name__}")
    if given.get("timeout") is not None:
        given["timeout"] = milliseconds("timeout", given["timeout"]) / 1000
        if not 0 < given["timeout"] <= LONGEST_TIMEOUT:
            raise InvalidArgument(
                "timeout must be more than 0 and at most 366 days; leave it out for no timeout"
            )
    return given
