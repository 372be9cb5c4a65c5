"""Call task functions in the thread or the event loop of a test, and report the runs."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from headrace.app.context import enter
from headrace.worker.task_call import Run, TaskCall, Timeout

# Exceptions that count as failures of a task. Any other exception, such as pytest's, ends the test.
RAISED = (Exception, SystemExit, asyncio.CancelledError)

# The return value of a function, and its exception (None if the function raised no exception).
CallResult = tuple[Any, BaseException | None]


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a job in a test.

    The outcome is completed, retried, failed, snoozed or refused. The outcome is refused if the
    server did not accept the result of the run, for example because the job was cancelled. The
    error is the exception that the function raised, or the reason why Headrace could not run the
    job.
    """

    task: str
    id: str
    queue: str
    attempt: int
    arguments: dict[str, Any]
    outcome: str
    result: Any = None
    error: BaseException | None = None


class ThreadTimeout:
    """Raises Timeout at the next bytecode of this thread if a `with` block takes too long."""

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            # Clear a pending Timeout, because no Timeout may be raised after the block.
            self._raise(None)

    def _expire(self) -> None:
        with self._lock:
            if not self._over:
                self._raise(ctypes.py_object(Timeout))

    def _raise(self, error: ctypes.py_object[type[Timeout]] | None) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), error)


def call_sync(run: Run, call: TaskCall) -> CallResult:
    """Call a sync function in this thread."""
    return copy_context().run(_call_sync, run, call)


def _call_sync(run: Run, call: TaskCall) -> CallResult:
    enter(run.context)
    try:
        with nullcontext() if call.timeout is None else ThreadTimeout(call.timeout):
            return call.task.function(**call.arguments), None
    except Timeout:
        return None, _timeout_of(call)
    except RAISED as error:
        return None, error


async def call_async(run: Run, call: TaskCall) -> CallResult:
    """Await an async function in this event loop."""
    enter(run.context)
    limit = asyncio.timeout(call.timeout)
    try:
        async with limit:
            return await call.task.function(**call.arguments), None
    except RAISED as error:
        return None, _timeout_of(call) if limit.expired() else error


def call_here(
    run: Run, call: TaskCall, run_loop: Callable[[Coroutine[Any, Any, CallResult]], CallResult]
) -> CallResult:
    """Call a sync function in this thread, or an async function in a separate event loop."""
    return run_loop(call_async(run, call)) if is_async(call) else call_sync(run, call)


async def call_in_loop(run: Run, call: TaskCall) -> CallResult:
    """Await an async function in this event loop, or call a sync function in a thread."""
    if not is_async(call):
        return await asyncio.to_thread(call_sync, run, call)
    # Use a separate asyncio task, so that the function does not change the context variables of the
    # test.
    return await asyncio.create_task(call_async(run, call))


def is_async(call: TaskCall) -> bool:
    """Return whether the function of a task is async."""
    return inspect.iscoroutinefunction(call.task.function)


def _timeout_of(call: TaskCall) -> Timeout:
    return Timeout(f"the job ran longer than its timeout of {call.timeout:.3g} s")


def report_of(run: Run, outcome: str, result: Any, error: BaseException | None) -> Ran:
    """Return the report of a run."""
    envelope = run.envelope
    record = run.popped.record
    return Ran(
        task=envelope.task if envelope else "",
        id=run.popped.id,
        queue=record.queue,
        attempt=record.attempt,
        arguments=envelope.args if envelope else {},
        outcome=outcome,
        result=result,
        error=error,
    )
