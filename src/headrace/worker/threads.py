"""Threads for plain functions. One that does not end in time is left behind and replaced."""

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

Ended = Callable[[Run, Any, BaseException | None], None]


class Interrupted(BaseException):
    """The job of this thread no longer counts: it ran too long, or it was taken away."""


class Threads:
    """Up to so many threads, begun when needed. What they bring is handed over in the loop.

    One that is left behind is not counted any more: its place is taken by another.
    """

    def __init__(self, most: int, wake: Callable[[], None]) -> None:
        self._most = most
        self._wake = wake
        self._work: SimpleQueue[Run | None] = SimpleQueue()
        self._done: deque[tuple[Run, Any, BaseException | None]] = deque()
        self._lock = threading.Lock()
        self._busy: dict[int, Run] = {}
        self._count = 0
        self._unbegun = 0
        self._told = False

    def start(self, run: Run) -> None:
        """A thread runs this as soon as one is free."""
        with self._lock:
            self._unbegun += 1
            if self._count < self._most and self._unbegun > self._count - len(self._busy):
                self._begin()
        self._work.put(run)

    def ended(self) -> list[tuple[Run, Any, BaseException | None]]:
        """Runs that are over: what they returned or raised."""
        # First this: what is added from now on is either found below or told again.
        self._told = False
        found = []
        while self._done:
            found.append(self._done.popleft())
        return found

    def interrupt(self, run: Run) -> None:
        """Raises in the thread that runs this, at its next step in Python, and replaces it."""
        with self._lock:
            for ident, busy in self._busy.items():
                if busy is run:
                    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                    raise_in(ctypes.c_ulong(ident), ctypes.py_object(Interrupted))
                    del self._busy[ident]
                    self._begin_thread()
                    return

    def _begin(self) -> None:
        self._count += 1
        self._begin_thread()

    def _begin_thread(self) -> None:
        threading.Thread(target=self._main, name="headrace handler", daemon=True).start()

    def _main(self) -> None:
        ident = threading.get_ident()
        # An interruption may come as late as here: it ends what was left behind anyway.
        with suppress(BaseException):
            while self._next(ident):
                pass

    def _next(self, ident: int) -> bool:
        run = self._work.get()
        if run is None:
            return False
        with self._lock:
            self._unbegun -= 1
            if run.over:
                # Its time was up before it could begin.
                return True
            self._busy[ident] = run
        value, error = None, None
        try:
            if run.over:
                # It was taken from us or given back before a thread was free.
                return self._is_free(ident)
            value = copy_context().run(run.handle)
        except BaseException as raised:  # noqa: BLE001 - whatever it is, it becomes of the job
            error = raised
        if not self._is_free(ident):
            return False
        self._done.append((run, value, error))
        if not self._told:
            self._told = True
            self._wake()
        return True

    def _is_free(self, ident: int) -> bool:
        """Whether the thread may go on; if it was left behind, another was begun in its place."""
        with self._lock:
            return self._busy.pop(ident, None) is not None
