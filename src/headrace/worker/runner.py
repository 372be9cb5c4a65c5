"""Run async tasks in the event loop, sync tasks in threads and isolated tasks in processes."""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any

from headrace.app.app import App
from headrace.app.context import Context, enter, mark_lost
from headrace.operations.popping import Popped
from headrace.worker.isolation import IsolatedProcesses
from headrace.worker.task_call import Outcome, Run, TaskCall, Timeout, outcome_of_call, read_call

# After a lost lease, a thread is interrupted if its task does not end within this many seconds.
NOTICE_SECONDS = 1.0

OnStart = Callable[[Popped], None]
OnFinish = Callable[[Run, Outcome], None]
# A run, the return value of its function, and the exception that the function raised.
FinishedRun = tuple[Run, Any, BaseException | None]


class Runner:
    """Runs the jobs of a worker. A run ends once: with its task, at its timeout or by `stop`."""

    def __init__(
        self, app: App, app_path: str, concurrency: int, on_start: OnStart, on_finish: OnFinish
    ) -> None:
        self._app = app
        self._on_start = on_start
        self._on_finish = on_finish
        self._loop = asyncio.get_running_loop()
        self._threads = TaskThreads(concurrency, self._wake_from_thread)
        self._isolated = IsolatedProcesses(app_path, concurrency)
        self.running: set[Run] = set()

    def start(self, popped: Popped) -> Run:
        """Start a job. `on_finish` receives the outcome, possibly before this method returns."""
        run = Run(popped, Context(self._app, popped))
        run.started = time.perf_counter()
        self.running.add(run)
        try:
            call = read_call(self._app, run)
        except Exception as error:  # noqa: BLE001 - every error is the job's outcome
            self._end(run, error=error)
            return run
        if call.task.run == "process":
            run.handle = self._loop.create_task(self._in_process(run, call))
            return run
        self._limit_time(run, call)
        if call.task.run == "loop":
            run.handle = self._loop.create_task(self._in_loop(run, call))
        else:
            run.handle = partial(self._in_thread, run, call)
            self._threads.start(run)
        return run

    def stop(self, run: Run) -> None:
        """Stop a run whose outcome no longer counts.

        If the run is in a thread, the thread is interrupted one second later.
        """
        self._forget(run)
        mark_lost(run.context)
        if isinstance(run.handle, asyncio.Task):
            run.handle.cancel()
        else:
            self._loop.call_later(NOTICE_SECONDS, self._threads.interrupt, run)

    def close(self) -> None:
        """End the idle isolated processes."""
        self._isolated.close()

    # run a job in the event loop, in a thread or in a process

    async def _in_loop(self, run: Run, call: TaskCall) -> None:
        run.started = time.perf_counter()
        self._on_start(run.popped)
        enter(run.context)
        try:
            value = await call.task.function(**call.arguments)
        except asyncio.CancelledError as error:
            self._end(run, error=error)
            if run.handle.cancelling():
                raise
        except BaseException as error:  # noqa: BLE001 - every exception is the job's outcome
            self._end(run, error=error)
        else:
            self._end(run, value)

    def _in_thread(self, run: Run, call: TaskCall) -> Any:
        self._on_start(run.popped)
        enter(run.context)
        return call.task.function(**call.arguments)

    def _wake_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._collect_from_threads)

    def _collect_from_threads(self) -> None:
        for run, value, error in self._threads.finished():
            self._end(run, value, error)

    async def _in_process(self, run: Run, call: TaskCall) -> None:
        try:
            start = partial(self._start_in_process, run, call)
            outcome = await self._isolated.run(run.popped, run.context.span, start)
        except Exception as error:  # noqa: BLE001 - every error is the job's outcome
            self._end(run, error=error)
        else:
            self._finish(run, outcome)

    def _start_in_process(self, run: Run, call: TaskCall) -> None:
        self._on_start(run.popped)
        self._limit_time(run, call)

    # end a run

    def _limit_time(self, run: Run, call: TaskCall) -> None:
        run.started = time.perf_counter()
        if call.timeout is not None:
            run.timer = self._loop.call_later(call.timeout, self._time_out, run, call.timeout)

    def _time_out(self, run: Run, seconds: float) -> None:
        if run.over:
            return
        self._end(run, error=Timeout(f"the job ran longer than its timeout of {seconds:g} s"))
        if isinstance(run.handle, asyncio.Task):
            run.handle.cancel()
        else:
            mark_lost(run.context)
            self._threads.interrupt(run)

    def _end(self, run: Run, value: Any = None, error: BaseException | None = None) -> None:
        if not run.over:
            self._finish(run, outcome_of_call(self._app, run, value, error))

    def _finish(self, run: Run, outcome: Outcome) -> None:
        if not run.over:
            self._forget(run, outcome)
            self._on_finish(run, outcome)

    def _forget(self, run: Run, outcome: Outcome | None = None) -> None:
        run.over = True
        if run.context.span is not None:
            run.context.span.end(outcome)
        self.running.discard(run)
        if run.timer is not None:
            run.timer.cancel()


class Interrupted(BaseException):
    """Raised in a thread if the job in the thread timed out or lost its lease."""


class TaskThreads:
    """Runs jobs in a limited number of threads. The event loop collects the outcomes.

    Threads are started when needed. When a thread is interrupted, a new thread replaces it.
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
        """Run a job as soon as a thread is free."""
        with self._lock:
            self._waiting += 1
            if self._count < self._most and self._waiting > self._count - len(self._busy):
                self._count += 1
                self._start_thread()
        self._work.put(run)

    def finished(self) -> list[FinishedRun]:
        """Return the runs that have finished since the last call."""
        # Reset the flag first, because a run that a thread adds later must wake the loop again.
        self._woken = False
        return [self._done.popleft() for _ in range(len(self._done))]

    def interrupt(self, run: Run) -> None:
        """Raise Interrupted at the next bytecode of a run's thread, and replace the thread."""
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
        # The exception Interrupted may be raised in this thread after the job has ended. Another
        # thread has then already replaced this thread, so this thread ends.
        with suppress(BaseException):
            while self._run_next(ident):
                pass

    def _run_next(self, ident: int) -> bool:
        """Run one job; return False if the thread was replaced during the job."""
        run = self._work.get()
        with self._lock:
            self._waiting -= 1
            if run.over:
                # The job timed out before a thread was free.
                return True
            self._busy[ident] = run
        value, error = None, None
        try:
            if run.over:
                # The job was released or lost its lease before a thread was free.
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
        """Mark a thread as free; return False if the thread was interrupted and replaced."""
        with self._lock:
            return self._busy.pop(ident, None) is not None
