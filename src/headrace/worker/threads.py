"""Threads that run the sync tasks of a worker. A thread that does not stop is replaced."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

from headrace.worker.run import Run

# A run with what its function returned or raised.
FinishedRun = tuple[Run, Any, BaseException | None]


class Interrupted(BaseException):
    """Raised in a thread whose job ran longer than its timeout, or whose lease was lost."""


class TaskThreads:
    """A limited number of threads, started when needed. The event loop collects what they return.

    An interrupted thread no longer counts: another one is started in its place.
    """

    def __init__(self, most: int, wake: Callable[[], None]) -> None:
        self._most = most
        self._wake = wake
        self._work: SimpleQueue[Run] = SimpleQueue()
        self._done: deque[FinishedRun] = deque()
        self._lock = threading.Lock()
        self._busy: dict[int, Run] = {}
        self._count = 0
        self._waiting = 0
        self._woken = False

    def start(self, run: Run) -> None:
        """Run this as soon as a thread is free."""
        with self._lock:
            self._waiting += 1
            if self._count < self._most and self._waiting > self._count - len(self._busy):
                self._count += 1
                self._start_thread()
        self._work.put(run)

    def finished(self) -> list[FinishedRun]:
        """Return the runs that have finished since the last call."""
        # This comes first: what threads add from now on is found below or causes another wake.
        self._woken = False
        found = []
        while self._done:
            found.append(self._done.popleft())
        return found

    def interrupt(self, run: Run) -> None:
        """Raise Interrupted in the thread of a run, at its next Python step, and replace it."""
        with self._lock:
            for ident, busy in self._busy.items():
                if busy is run:
                    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                    raise_in(ctypes.c_ulong(ident), ctypes.py_object(Interrupted))
                    del self._busy[ident]
                    self._start_thread()
                    return

    def _start_thread(self) -> None:
        threading.Thread(target=self._main, name="headrace task", daemon=True).start()

    def _main(self) -> None:
        ident = threading.get_ident()
        # Interrupted may arrive as late as here. The thread has been replaced then, so it ends.
        with suppress(BaseException):
            while self._run_next(ident):
                pass

    def _run_next(self, ident: int) -> bool:
        """Run one job; return False if the thread was replaced meanwhile."""
        run = self._work.get()
        with self._lock:
            self._waiting -= 1
            if run.over:
                # It timed out before a thread was free.
                return True
            self._busy[ident] = run
        value, error = None, None
        try:
            if run.over:
                # Its lease was lost, or it was released, before a thread was free.
                return self._is_current(ident)
            value = copy_context().run(run.handle)
        except BaseException as raised:  # noqa: BLE001 - every exception is the job's outcome
            error = raised
        if not self._is_current(ident):
            return False
        self._done.append((run, value, error))
        if not self._woken:
            self._woken = True
            self._wake()
        return True

    def _is_current(self, ident: int) -> bool:
        """Mark a thread as free; return False if it was interrupted and replaced."""
        with self._lock:
            return self._busy.pop(ident, None) is not None
