"""The options of a job, for put, put_many, schedules, tasks, the CLI and Spark.

Each option is a key of a TypedDict. The key is annotated with a type and with a function. Editors
use the type. The function checks a value and converts the value to the form that the scripts read.

Internal: import JobOptions, TaskOptions and Put from `headrace`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypedDict, Unpack, get_type_hints

from headrace.backoff import Backoff
from headrace.engine.check import (
    Durability,
    Limits,
    Span,
    choice,
    durability,
    listed,
    milliseconds,
    moment_ms,
    number,
    tags,
    text,
    whole,
)
from headrace.engine.settings import SETTINGS
from headrace.errors import InvalidArgument

MOST_RETRIES = 1_000_000
MOST_DEPENDENCIES = 5000
MOST_THROTTLES = 8
IF_FAILS = ("wait", "run", "cancel", "fail")

Check = Callable[[str, Any, Limits], Any]


class Unset:
    """The type of UNSET."""

    def __repr__(self) -> str:
        return "unset"


# The value of an option that was not passed, for options in which None has a meaning of its own.
UNSET = Unset()


def _number(name: str, value: Any, _limits: Limits) -> float:
    return number(name, value)


def _tags(_name: str, value: Any, limits: Limits) -> list[str]:
    return tags(value, limits)


def _duration(name: str, value: Any, _limits: Limits) -> int:
    return milliseconds(name, value)


def _time(name: str, value: Any, _limits: Limits) -> int:
    return moment_ms(name, value)


def _text(name: str, value: Any, limits: Limits) -> str:
    return text(name, value, limits.name)


def _retries(name: str, value: Any, _limits: Limits) -> int | bool:
    return False if value is None else whole(name, value, 0, MOST_RETRIES)


def _throttles(name: str, value: Any, limits: Limits) -> list[str]:
    return _names(name, "a throttle", value, limits, MOST_THROTTLES)


def dependencies(name: str, value: Any, limits: Limits) -> list[str]:
    """Return the distinct ids of dependencies, sorted, or raise InvalidArgument."""
    return _names(name, "an id", value, limits, MOST_DEPENDENCIES)


def _names(name: str, one: str, value: Any, limits: Limits, most: int) -> list[str]:
    found = sorted({text(one, each, limits.name) for each in listed(name, value, "str")})
    if len(found) > most:
        raise InvalidArgument(f"{name} must list at most {most} names, not {len(found)}")
    return found


def _if_fails(name: str, value: Any, _limits: Limits) -> str:
    return choice(name, value, IF_FAILS)


def _on_exists(name: str, value: Any, _limits: Limits) -> str:
    return choice(name, value, SETTINGS["on_exists"].choices)


def _durability(_name: str, value: Any, _limits: Limits) -> Durability:
    return durability(value)


class _CommonOptions(TypedDict, total=False):
    priority: Annotated[float | None, _number]
    """Jobs with a lower number run sooner. The default is 0."""
    retries: Annotated[int | None, _retries]
    """How many times a failed job is retried; None means no limit."""
    start_within: Annotated[Span | None, _duration]
    """Expire the job if it has not started within this time."""
    result_ttl: Annotated[Span | None, _duration]
    """How long the server keeps the result."""
    throttles: Annotated[Iterable[str] | None, _throttles]
    """Throttles whose limits the job shares."""


class _PutOptions(TypedDict, total=False):
    id: Annotated[str | None, _text]
    """The id of the job; random by default."""
    delay: Annotated[Span | None, _duration]
    """Start the job after this time."""
    at: Annotated[datetime | None, _time]
    """Start the job at this time."""
    depends_on: Annotated[Iterable[str] | None, dependencies]
    """Ids of jobs that must be complete before this job starts."""
    if_dependency_fails: Annotated[str | None, _if_fails]
    """The policy for a failed dependency: "wait", "run", "cancel" or "fail"."""
    group: Annotated[str | None, _text]
    """The group that the job belongs to."""
    on_exists: Annotated[str | None, _on_exists]
    """The policy if a job with this id exists: "move", "replace", "reject" or "duplicate"."""
    durability: Annotated[Durability | None, _durability]
    """Wait for the append-only file ("aof") or for this number of replicas; 0 means no wait."""


class ScheduleOptions(_CommonOptions, total=False):
    """Options of the jobs that a schedule puts."""

    tags: Annotated[Iterable[str] | None, _tags]
    """Labels for finding jobs."""
    unique: Annotated[bool | str, _text]
    """Allow one unfinished job per value in the queue; True uses the data, or a schedule's id."""
    key: Annotated[str | None, _text]
    """The owner of the job, for limits per key; in a fair queue, keys take turns."""


class JobOptions(ScheduleOptions, _PutOptions, total=False):
    """Options for putting a job. Use this type in functions that pass options on to `put`.

    def put_mail(to: str, **options: Unpack[headrace.JobOptions]) -> str: ...
    """


class TaskOptions(_CommonOptions, _PutOptions, total=False):
    """Options of a task.

    `tags`, `unique` and `key` can be functions, which are called with the job's arguments as
    keyword arguments.
    """

    tags: Iterable[str] | Callable[..., Iterable[str]] | None
    unique: bool | str | Callable[..., str]
    key: str | Callable[..., str] | None
    queue: str
    """The queue of the task."""
    backoff: Backoff | None
    """How long a failed job waits before the next attempt: a headrace.Backoff."""
    timeout: Span | None
    """Fail the attempt after this time."""


_CHECKS: dict[str, Check] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(JobOptions, include_extras=True).items()
}
OPTIONS = tuple(_CHECKS)
SCHEDULE_OPTIONS = frozenset(get_type_hints(ScheduleOptions))
# The id of the job that is replayed. Only a replay passes this option.
ORIGIN = "origin"
_CHECKS[ORIGIN] = _text
WIRE_NAMES = {"if_dependency_fails": "if_fails"}
# Maps an option to the value that means "not passed", if this value is not None.
_NOT_GIVEN: dict[str, Any] = {"retries": UNSET, "unique": False}


def is_given(name: str, value: Any) -> bool:
    """Return whether an option was passed; each option has a value that means "not passed"."""
    return value is not _NOT_GIVEN.get(name)


def check_names(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise InvalidArgument if an option is unknown."""
    for name in options:
        if name not in known:
            names = ", ".join(sorted(known))
            raise InvalidArgument(f"no option {name!r}; the options are: {names}")


def check_options(
    options: Mapping[str, Any], limits: Limits, *, known: Collection[str] = OPTIONS
) -> dict[str, Any]:
    """Check the passed options, and return them in the form that the scripts read.

    Raises InvalidArgument if an option is invalid or not in `known`.
    """
    check_names(options, known)
    checked = {
        WIRE_NAMES.get(name, name): _CHECKS[name](name, value, limits)
        for name, value in options.items()
        if is_given(name, value)
    }
    if "at" in checked and "delay" in checked:
        raise InvalidArgument("pass delay= or at=, not both")
    return checked


@dataclass(frozen=True, slots=True, init=False)
class Put:
    """An item of put_many, or a step of a chain, with its own options."""

    data: Any
    options: JobOptions

    def __init__(self, data: Any, **options: Unpack[JobOptions]) -> None:
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "options", options)
