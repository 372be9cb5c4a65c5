"""Turn the data of a job into a task call, and the call's result or error into an outcome."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from headrace.app.context import Context
from headrace.app.options import LONGEST_TIMEOUT
from headrace.app.outcome_exceptions import Discard, Retry, Snooze
from headrace.app.task import Task
from headrace.backoff import Backoff
from headrace.codecs.codec import Codec, bound
from headrace.engine.call import packed_pair
from headrace.errors import InvalidArgument, Unreadable
from headrace.operations.finishing import TRACEBACK_BYTES
from headrace.operations.popping import Popped
from headrace.operations.putting import payload_for

if TYPE_CHECKING:
    from headrace.app.app import App
    from headrace.operations.core import Core
    from headrace.transport.drive import Operation

LONGEST_TYPE = 200
NAMELESS = "Exception"


class Timeout(Exception):
    """A run took longer than its timeout."""


class Crashed(Exception):
    """The isolated process that ran a job died."""


class UnknownTask(Exception):
    """A job names a task that the app does not have."""


class Malformed(Exception):
    """The data of a job is not a task call."""


class WrongArguments(Exception):
    """A job calls a task with arguments that do not match the task's signature."""


class UnreadableData(Exception):
    """The app's codec cannot decode the data of a job."""


class Unwritable(Exception):
    """The return value of a task cannot be stored as a result."""


# Exceptions that Headrace itself raises. Their failure type is always the name of their class.
OWN_FAILURES = (
    Timeout,
    Crashed,
    UnknownTask,
    Malformed,
    WrongArguments,
    UnreadableData,
    Unwritable,
)

# Failures that are permanent: a retry would fail again, or the task itself refuses a retry.
FINAL = (Malformed, Unwritable, Discard)


class Run:
    """One attempt at a job, from its start to its outcome."""

    __slots__ = ("context", "envelope", "handle", "over", "popped", "started", "task", "timer")

    def __init__(self, popped: Popped, context: Context) -> None:
        self.popped = popped
        self.context = context
        self.envelope: Envelope | None = None
        self.task: Task[..., Any] | None = None
        self.started = 0.0
        self.over = False
        # The asyncio task that executes the run, or the function that a thread calls.
        self.handle: Any = None
        self.timer: Any = None


@dataclass(slots=True)
class Done:
    """The task returned. The result is packed in the format that `complete` expects."""

    result: bytes


@dataclass(slots=True)
class Failed:
    """The attempt failed. If `retry_in` is None, the job fails permanently."""

    failure: str
    message: str
    traceback: str
    retry_in: float | None


@dataclass(slots=True)
class Snoozed:
    """The job is released and becomes due after a delay."""

    delay: float


Outcome = Done | Failed | Snoozed


def outcome_name(outcome: Outcome) -> str:
    """Return the outcome in one word: completed, retried, failed or snoozed."""
    if isinstance(outcome, Failed):
        return "failed" if outcome.retry_in is None else "retried"
    return "completed" if isinstance(outcome, Done) else "snoozed"


class Envelope(msgspec.Struct):
    """A task call as stored in the data of a job."""

    task: str
    args: dict[str, Any] = {}
    timeout: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_TIMEOUT)] | None = None
    backoff: Backoff | None = None
    trace: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A task with checked arguments, ready to be called."""

    task: Task[..., Any]
    arguments: dict[str, Any]
    timeout: float | None


def read_call(app: App, run: Run) -> TaskCall:
    """Return the call that a job's data describes, with a Context if the task accepts a Context.

    If the app has telemetry, this function also begins the run's span. Raises UnreadableData,
    Malformed, UnknownTask or WrongArguments.
    """
    try:
        popped = run.popped
        codec = bound(app.codec, popped.id, popped.record.queue)
        run.envelope = read_envelope(codec, popped.payload)
    finally:
        if app.telemetry is not None and run.context.span is None:
            run.context.span = app.telemetry.begin_run(run.popped, run.envelope)
    call = resolve_call(app, run.envelope)
    run.task = call.task
    context_name = call.task.signature.context_name
    if context_name is not None:
        call.arguments[context_name] = run.context
    return call


def read_envelope(codec: Codec, payload: bytes) -> Envelope:
    """Decode the data of a job; raises UnreadableData or Malformed."""
    try:
        data = codec.decode(payload)
        return msgspec.convert(data, Envelope)
    except Unreadable as error:
        raise UnreadableData(str(error)) from None
    except (msgspec.ValidationError, InvalidArgument, RecursionError) as error:
        raise Malformed(
            f"the data of the job is not a task call {{'task': name, 'args': {{...}}}}: {error}; "
            f"the data is {_shown(data)}"
        ) from None


def resolve_call(app: App, envelope: Envelope) -> TaskCall:
    """Return the registered task that an envelope names, with checked arguments.

    Raises UnknownTask or WrongArguments.
    """
    task = app.tasks.get(envelope.task)
    if task is None:
        known = ", ".join(sorted(app.tasks)) or "none"
        raise UnknownTask(
            f"app {app.name!r} has no task {envelope.task!r}; its tasks are: {known}. If this "
            "worker runs an older version of the app than the producer, deploy the worker again"
        )
    try:
        arguments = task.signature.unpack(envelope.args)
    except InvalidArgument as error:
        raise WrongArguments(str(error)) from None
    # Any producer can write an envelope, so an envelope can only shorten the timeout of the task.
    timeouts = filter(None, (envelope.timeout, task.settings.get("timeout")))
    return TaskCall(task, arguments, min(timeouts, default=None))


def put_crons(app: App, core: Core) -> Operation[None]:
    """Create or update the schedules of the app's cron tasks on the server."""
    for name, rule in app.crons.items():
        yield from app.tasks[name]._schedule(core, **rule)  # noqa: SLF001 - not a call for users


def pack_result(app: App, job_id: str, value: Any) -> bytes:
    """Pack a return value in the format that `complete` expects; pack None as empty bytes.

    Raises Unwritable if the codec cannot encode the value or the value is too large.
    """
    if value is None:
        return b""
    try:
        codec = bound(app.codec, job_id, use="result")
        return packed_pair(payload_for(value, codec, app.limits), None)
    except InvalidArgument as error:
        raise Unwritable(f"the return value cannot be stored as a result: {error}") from None


def outcome_of_call(app: App, run: Run, value: Any, error: BaseException | None) -> Outcome:
    """Return the outcome of a run, given the return value or the error of the function."""
    if error is None:
        try:
            return Done(pack_result(app, run.popped.id, value))
        except Unwritable as unwritable:
            error = unwritable
    return outcome_of_error(app, run.popped, error, run.envelope)


def outcome_of_error(
    app: App, popped: Popped, error: BaseException, envelope: Envelope | None
) -> Failed | Snoozed:
    """Return the outcome of an attempt that raised an error. This function never raises."""
    try:
        return _outcome_of_error(app, popped, error, envelope)
    except BaseException:  # noqa: BLE001 - methods of users' exception classes may raise anything
        return Failed(
            failure=_as_type(type(error).__name__) or NAMELESS,
            message=f"a {type(error).__name__} whose message or class cannot be read",
            traceback="",
            retry_in=_retry_in(app, popped, None, envelope),
        )


def _outcome_of_error(
    app: App, popped: Popped, error: BaseException, envelope: Envelope | None
) -> Failed | Snoozed:
    if isinstance(error, Snooze):
        return Snoozed(error.delay)
    own = error.failure if isinstance(error, Discard | Retry) else ""
    return Failed(
        failure=_as_type(own or _type(app, error)) or NAMELESS,
        message=_message(error),
        traceback=_traceback(error),
        retry_in=None if isinstance(error, FINAL) else _retry_in(app, popped, error, envelope),
    )


def _retry_in(
    app: App, popped: Popped, error: BaseException | None, envelope: Envelope | None
) -> float | None:
    record = popped.record
    if record.remaining is not False and record.remaining <= 0:
        return None
    if isinstance(error, Retry) and error.delay is not None:
        return error.delay
    used = record.attempt - 1
    if record.retries is not False and record.remaining is not False:
        used = record.retries - record.remaining
    return _backoff(app, envelope).seconds(used + 1)


def _backoff(app: App, envelope: Envelope | None) -> Backoff:
    default: Backoff = app.defaults["backoff"] or Backoff()
    if envelope is None:
        return default
    task = app.tasks.get(envelope.task)
    return envelope.backoff or (task and task.settings["backoff"]) or default


def _type(app: App, error: BaseException) -> str:
    if isinstance(error, OWN_FAILURES):
        return type(error).__name__
    try:
        return str(app.failure_type(error))
    except Exception:  # noqa: BLE001 - the user's function must not keep the job from failing
        return type(error).__name__


def _as_type(text: str) -> str:
    """Turn a text into a failure type: one line of at most 200 bytes."""
    line = "".join(char if char.isprintable() else " " for char in text).strip()
    return line.encode(errors="replace")[:LONGEST_TYPE].decode(errors="ignore")


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the user's class must not keep the job from failing
        return f"a {type(error).__name__} whose message cannot be read"


def _traceback(error: BaseException) -> str:
    if error.__traceback__ is None or isinstance(error, OWN_FAILURES):
        return ""
    own = str(Path(__file__).parent.parent)
    shown: TracebackType | None = error.__traceback__
    while shown is not None and shown.tb_frame.f_code.co_filename.startswith(own):
        shown = shown.tb_next
    try:
        lines = "".join(traceback.format_exception(type(error), error, shown))
    except Exception:  # noqa: BLE001 - formatting calls methods of users' classes
        return ""
    return lines.encode(errors="replace")[-TRACEBACK_BYTES:].decode(errors="ignore")


def _shown(data: Any) -> str:
    try:
        shown = repr(data)
    except Exception:  # noqa: BLE001 - deeply nested data has no repr
        return f"a {type(data).__name__}"
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
