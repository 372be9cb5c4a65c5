"""A run: one job in a worker's hands, and what is to become of it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headrace.app.backoff import Backoff
from headrace.app.context import Context
from headrace.app.task import Task
from headrace.app.verdicts import Discard, Retry, Snooze
from headrace.client.talks.popping import Popped
from headrace.client.talks.putting import payload_for
from headrace.engine.call import packed_pair
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from headrace.app.app import App

TRACEBACK_BYTES = 8192
LONGEST_TYPE = 120


class Timeout(Exception):
    """A run took longer than its timeout."""


class Crashed(Exception):
    """The process that ran a job died."""


class UnknownTask(Exception):
    """A job names a task that the app does not have."""


class Malformed(Exception):
    """The data of a job is no call of a task."""


class WrongArguments(Exception):
    """A job calls a task with arguments that do not fit."""


class Unwritable(Exception):
    """What a task returned cannot be kept as its result."""


OURS = (Timeout, Crashed, UnknownTask, Malformed, WrongArguments, Unwritable)

# However often these are tried, they come out the same.
FINAL = (Malformed, WrongArguments, Unwritable, Discard)


class Run:
    """One job that is being worked on."""

    __slots__ = ("context", "data", "handle", "over", "popped", "started", "task", "timer")

    def __init__(self, popped: Popped, context: Context) -> None:
        self.popped = popped
        self.context = context
        self.data: Any = None
        self.task: Task[..., Any] | None = None
        self.started = 0.0
        self.over = False
        # What it runs as, to be stopped by: a task of the loop, a function in a thread, a process.
        self.handle: Any = None
        self.timer: Any = None


@dataclass(slots=True)
class Done:
    """The attempt went well; what is given is the result as complete takes it."""

    given: bytes


@dataclass(slots=True)
class Failed:
    """An attempt failed; with retry_in it may be tried again."""

    failure: str
    message: str
    traceback: str
    retry_in: float | None


@dataclass(slots=True)
class Snoozed:
    """The job comes back later."""

    delay: float


@dataclass(frozen=True, slots=True)
class Envelope:
    """The data of a job, read."""

    task: Task[..., Any]
    arguments: dict[str, Any]
    timeout: float | None


def open_envelope(app: App, data: Any) -> Envelope:
    """What a job asks for: only what the app has registered, with arguments that fit."""
    if not isinstance(data, dict) or not isinstance(data.get("task"), str):
        raise Malformed(
            "the data is no call of a task, {'task': name, 'args': {...}}; "
            f"it is {_shown(data)}"
        )
    task = app.tasks.get(data["task"])
    if task is None:
        known = ", ".join(sorted(app.tasks)) or "none"
        raise UnknownTask(
            f"the app {app.name!r} has no task {data['task']!r}; it has: {known}. Is this worker "
            "older than who put the job?"
        )
    try:
        arguments = task.signature.unpack(data.get("args", {}))
    except InvalidArgument as error:
        raise WrongArguments(str(error)) from None
    return Envelope(task, arguments, data.get("timeout", task.settings.get("timeout")))


def packed_value(app: App, value: Any) -> bytes:
    """What a task returned, as complete takes a result; nothing for None."""
    if value is None:
        return b""
    try:
        return packed_pair(payload_for(value, app.codec, app.limits), None)
    except InvalidArgument as error:
        raise Unwritable(f"what it returned cannot be kept: {error}") from None


def failed(app: App, popped: Popped, error: BaseException, data: Any = None) -> Failed | Snoozed:
    """What becomes of a job whose attempt raised this."""
    if isinstance(error, Snooze):
        return Snoozed(error.delay)
    retry_in = None if isinstance(error, FINAL) else _wait(app, popped, error, data)
    failure = getattr(error, "failure", None) if isinstance(error, Discard | Retry) else None
    return Failed(
        failure=(failure or _type(app, error))[:LONGEST_TYPE],
        message=str(error),
        traceback=_traceback(error),
        retry_in=retry_in,
    )


def _wait(app: App, popped: Popped, error: BaseException, data: Any) -> float | None:
    if popped.record.remaining is not False and popped.record.remaining <= 0:
        return None
    if isinstance(error, Retry) and error.delay is not None:
        return error.delay
    record = popped.record
    used = record.attempt - 1
    if record.retries is not False and record.remaining is not False:
        used = record.retries - record.remaining
    return _backoff(app, data).seconds(used + 1)


def _backoff(app: App, data: Any) -> Backoff:
    default: Backoff = app.defaults["backoff"]
    if not isinstance(data, dict):
        return default
    carried = data.get("backoff")
    if isinstance(carried, dict):
        return Backoff(**carried)
    task = app.tasks.get(data.get("task", ""))
    return default if task is None else task.settings["backoff"] or default


def _type(app: App, error: BaseException) -> str:
    if isinstance(error, OURS):
        return type(error).__name__
    try:
        return app.failure_type(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - it is the user's, and the job must not hang on it
        return type(error).__name__


def _traceback(error: BaseException) -> str:
    if error.__traceback__ is None or isinstance(error, OURS):
        return ""
    own = str(Path(__file__).parent)
    shown: TracebackType | None = error.__traceback__
    while shown is not None and shown.tb_frame.f_code.co_filename.startswith(own):
        shown = shown.tb_next
    lines = "".join(traceback.format_exception(type(error), error, shown))
    return lines.encode(errors="replace")[-TRACEBACK_BYTES:].decode(errors="ignore")


def _shown(data: Any) -> str:
    shown = repr(data)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
