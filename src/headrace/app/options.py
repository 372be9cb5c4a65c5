"""The options of a task: defaults for its jobs, which task.options(...) overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypedDict

from headrace.app.backoff import Backoff
from headrace.engine.check import Span, milliseconds
from headrace.errors import InvalidArgument
from headrace.options import Unset


class JobOptions(TypedDict, total=False):
    """The options of a job.

    If tags, unique or key is a function, it is called with the arguments of the job.
    """

    queue: str
    id: str | None
    priority: float | None
    tags: Iterable[str] | Callable[..., Iterable[str]] | None
    delay: Span | None
    at: datetime | None
    retries: int | Unset | None
    backoff: Backoff | None
    timeout: Span | None
    start_within: Span | None
    result_ttl: Span | None
    unique: bool | str | Callable[..., str]
    key: str | Callable[..., str] | None
    throttles: Iterable[str] | None
    depends_on: Iterable[str] | None
    if_dependency_fails: str | None
    group: str | None
    on_exists: str | None


LONGEST_TIMEOUT = 366 * 86_400.0
KNOWN = frozenset(JobOptions.__annotations__)
# Options for the worker rather than the server: they travel with the arguments.
CARRIED = ("timeout", "backoff")
# Options that may be functions of the arguments.
COMPUTED = ("tags", "unique", "key")


def checked(options: JobOptions) -> dict[str, Any]:
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
