"""The options of a task: what every job of it is given, unless a call says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypedDict

from headrace.app.backoff import Backoff
from headrace.engine.check import Span, milliseconds
from headrace.errors import InvalidArgument
from headrace.options import Unset


class JobOptions(TypedDict, total=False):
    """What a job can be given when it is put. Where a function may stand, it is called with the
    arguments of the job.
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
# What a worker must know rather than the server: it travels with the arguments.
CARRIED = ("timeout", "backoff")
# Where a function of the arguments may stand.
COMPUTED = ("tags", "unique", "key")


def checked(options: JobOptions) -> dict[str, Any]:
    """Options by name, or an error that says which there are."""
    given: dict[str, Any] = dict(options)
    if unknown := given.keys() - KNOWN:
        raise InvalidArgument(f"no option {min(unknown)!r}; there are: {', '.join(sorted(KNOWN))}")
    backoff = given.get("backoff")
    if backoff is not None and not isinstance(backoff, Backoff):
        raise InvalidArgument(f"backoff must be a headrace.Backoff, not {type(backoff).__name__}")
    if given.get("timeout") is not None:
        given["timeout"] = milliseconds("timeout", given["timeout"]) / 1000
        if not 0 < given["timeout"] <= LONGEST_TIMEOUT:
            raise InvalidArgument(
                "timeout must be more than 0 and at most 366 days; leave it out for none"
            )
    return given
