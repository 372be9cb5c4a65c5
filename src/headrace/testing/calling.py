"""Calls the function of a task in the thread or the loop of whoever runs it."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import threading
from contextlib import nullcontext
from contextvars import copy_context
from types import TracebackType
from typing import Any

from headrace.app.context import enter
from headrace.worker.run import Envelope, Run, Timeout

# What a task may raise: what stops a test run, and what decides over a test, is not for its job.
RAISED = (Exception, SystemExit, asyncio.CancelledError)

# What a function returned, or what it raised.
Came = tuple[Any, BaseException | None]


class Alarm:
    """Raises Timeout in this thread, at its next step in Python, unless the block ends before."""

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            # One that was raised but has not come yet must not come later.
            self._raise(None)

    def _ring(self) -> None:
        with self._lock:
            if not self._over:
                self._raise(ctypes.py_object(Timeout))

    def _raise(self, error: ctypes.py_object[type[Timeout]] | None) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), error)


def call_plain(run: Run, envelope: Envelope) -> Came:
    """Calls a plain function here."""
    return copy_context().run(_entered, run, envelope)


def _entered(run: Run, envelope: Envelope) -> Came:
    enter(run.context)
    try:
        with nullcontext() if envelope.timeout is None else Alarm(envelope.timeout):
            return envelope.task.function(**envelope.arguments), None
    except Timeout:
        return None, _late(envelope)
    except RAISED as error:
        return None, error


async def call_async(run: Run, envelope: Envelope) -> Came:
    """Awaits an async function here."""
    enter(run.context)
    limit = asyncio.timeout(envelope.timeout)
    try:
        async with limit:
            return await envelope.task.function(**envelope.arguments), None
    except RAISED as error:
        return None, _late(envelope) if limit.expired() else error


async def acall(run: Run, envelope: Envelope) -> Came:
    """Calls a function in this loop, or a plain one beside it."""
    if not is_async(envelope):
        return await asyncio.to_thread(call_plain, run, envelope)
    # A task of its own, so that what the function sets in its context stays there.
    return await asyncio.create_task(call_async(run, envelope))


def is_async(envelope: Envelope) -> bool:
    """Whether the function of a task is to be awaited."""
    return inspect.iscoroutinefunction(envelope.task.function)


def _late(envelope: Envelope) -> Timeout:
    return Timeout(f"it ran for longer than its timeout, {envelope.timeout:.3g} seconds")
