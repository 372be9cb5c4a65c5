"""A run: one job in a worker's hands, and what is to become of it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from headrace.app.backoff import Backoff
from headrace.app.context import Context
from headrace.app.options import LONGEST_TIMEOUT
from headrace.app.task import Task
from headrace.app.verdicts import Discard, Retry, Snooze
from headrace.codecs.codec import Codec
from headrace.engine.call import packed_pair
from headrace.errors import InvalidArgument, Unreadable
from headrace.operations.popping import Popped
from headrace.operations.putting import payload_for

if TYPE_CHECKING:
    from headrace.app.app import App

TRACEBACK_BYTES = 8192
LONGEST_TYPE = 200
NAMELESS = "Exception"


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


class UnreadableData(Exception):
    """The data of a job cannot be read by the app's codec."""


class Unwritable(Exception):
    """What a task returned cannot be kept as its result."""


OURS = (
    Timeout,
    Crashed,
    UnknownTask,
    Malformed,
    WrongArguments,
    UnreadableData,
    Unwritable,
)

# However often these are tried, they come out the same.
FINAL = (Malformed, Unwritable, Discard)


class Run:
    """One job that is being worked on."""

    __slots__ = ("context", "handle", "over", "popped", "sent", "started", "task", "timer")

    def __init__(self, popped: Popped, context: Context) -> None:
        self.popped = popped
        self.context = context
        self.sent: Sent | None = None
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


class Sent(msgspec.Struct):
    """What the data of a job must be."""

    task: str
    args: dict[str, Any] = {}
    timeout: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_TIMEOUT)] | None = None
    backoff: Backoff | None = None
    trace: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """The call that a job stands for."""

    task: Task[..., Any]
    arguments: dict[str, Any]
    timeout: float | None


def read_data(codec: Codec, payload: bytes) -> Sent:
    """The data of a job, if it is what the data of a job must be."""
    try:
        data = codec.decode(payload)
        return msgspec.convert(data, Sent)
    except Unreadable as error:
        raise UnreadableData(str(error)) from None
    except (msgspec.ValidationError, InvalidArgument, RecursionError) as error:
        raise Malformed(
            f"the data is no call of a task, {{'task': name, 'args': {{...}}}}: {error}; "
            f"it is {_shown(data)}"
        ) from None


def open_envelope(app: App, sent: Sent) -> Envelope:
    """What a job asks for: only what the app has registered, with arguments that fit."""
    task = app.tasks.get(sent.task)
    if task is None:
        known = ", ".join(sorted(app.tasks)) or "none"
        raise UnknownTask(
            f"the app {app.name!r} has no task {sent.task!r}; it has: {known}. Is this worker "
            "older than who put the job?"
        )
    try:
        arguments = task.signature.unpack(sent.args)
    except InvalidArgument as error:
        raise WrongArguments(str(error)) from None
    return Envelope(task, arguments, sent.timeout or task.settings.get("timeout"))


def packed_value(app: App, value: Any) -> bytes:
    """What a task returned, as complete takes a result; nothing for None."""
    if value is None:
        return b""
    try:
        return packed_pair(payload_for(value, app.codec, app.limits), None)
    except InvalidArgument as error:
        raise Unwritable(f"what it returned cannot be kept: {error}") from None


def failed(app: App, popped: Popped, error: BaseException, sent: Sent | None) -> Failed | Snoozed:
    """What becomes of a job whose attempt raised this. Whatever was raised, this raises nothing."""
    try:
        return _judged(app, popped, error, sent)
    except BaseException:  # noqa: BLE001 - classes of users may raise anything, from anywhere
        return Failed(
            failure=_as_type(type(error).__name__) or NAMELESS,
            message="what was raised cannot be shown",
            traceback="",
            retry_in=_wait(app, popped, None, sent),
        )


def _judged(app: App, popped: Popped, error: BaseException, sent: Sent | None) -> Failed | Snoozed:
    if isinstance(error, Snooze):
        return Snoozed(error.delay)
    own = error.failure if isinstance(error, Discard | Retry) else ""
    return Failed(
        failure=_as_type(own or _type(app, error)) or NAMELESS,
        message=_message(error),
        traceback=_traceback(error),
        retry_in=None if isinstance(error, FINAL) else _wait(app, popped, error, sent),
    )


def _wait(app: App, popped: Popped, error: BaseException | None, sent: Sent | None) -> float | None:
    record = popped.record
    if record.remaining is not False and record.remaining <= 0:
        return None
    if isinstance(error, Retry) and error.delay is not None:
        return error.delay
    used = record.attempt - 1
    if record.retries is not False and record.remaining is not False:
        used = record.retries - record.remaining
    return _backoff(app, sent).seconds(used + 1)


def _backoff(app: App, sent: Sent | None) -> Backoff:
    default: Backoff = app.defaults["backoff"] or Backoff()
    if sent is None:
        return default
    task = app.tasks.get(sent.task)
    return sent.backoff or (task and task.settings["backoff"]) or default


def _type(app: App, error: BaseException) -> str:
    if isinstance(error, OURS):
        return type(error).__name__
    try:
        return str(app.failure_type(error))
    except Exception:  # noqa: BLE001 - it is the user's, and the job must not hang on it
        return type(error).__name__


def _as_type(text: str) -> str:
    """A text as the type of a failure may be: on one line, and short."""
    line = "".join(char if char.isprintable() else " " for char in text).strip()
    return line.encode(errors="replace")[:LONGEST_TYPE].decode(errors="ignore")


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is the user's, and the job must not hang on it
        return f"a {type(error).__name__} that cannot be shown"


def _traceback(error: BaseException) -> str:
    if error.__traceback__ is None or isinstance(error, OURS):
        return ""
    own = str(Path(__file__).parent.parent)
    shown: TracebackType | None = error.__traceback__
    while shown is not None and shown.tb_frame.f_code.co_filename.startswith(own):
        shown = shown.tb_next
    try:
        lines = "".join(traceback.format_exception(type(error), error, shown))
    except Exception:  # noqa: BLE001 - it shows what is the user's
        return ""
    return lines.encode(errors="replace")[-TRACEBACK_BYTES:].decode(errors="ignore")


def _shown(data: Any) -> str:
    try:
        shown = repr(data)
    except Exception:  # noqa: BLE001 - what is nested too deep has no repr
        return f"a {type(data).__name__}"
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
