"""Runs jobs: async functions in the loop, plain ones in threads, isolated ones in processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.app.app import App
from headrace.app.context import Context, enter, tell_taken
from headrace.operations.core import Core
from headrace.operations.popping import Popped
from headrace.worker.isolated import Isolated
from headrace.worker.reading import read_call
from headrace.worker.run import (
    Done,
    Envelope,
    Failed,
    Run,
    Snoozed,
    Timeout,
    Unwritable,
    failed,
    packed_value,
)
from headrace.worker.threads import Threads

GRACE = 1.0

Outcome = Done | Failed | Snoozed
OnBegin = Callable[[Popped], None]
OnEnd = Callable[[Run, Outcome], None]


class Runner:
    """What runs now. Each run ends once: by itself, by its timeout, or because it was stopped."""

    def __init__(
        self,
        app: App,
        core: Core,
        app_path: str,
        concurrency: int,
        on_begin: OnBegin,
        on_end: OnEnd,
    ) -> None:
        self._app = app
        self._core = core
        self._on_begin = on_begin
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._threads = Threads(concurrency, self._told_by_thread)
        self._isolated = Isolated(app_path, concurrency)
        self.running: set[Run] = set()

    def start(self, popped: Popped) -> Run:
        """Begins to run a job; whatever comes of it is told by on_end, perhaps before this ends."""
        run = Run(popped, Context(self._app, popped))
        run.started = time.perf_counter()
        self.running.add(run)
        try:
            envelope = read_call(self._app, run)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is said of the job
            self._end(run, error=error)
            return run
        if envelope.task.run == "process":
            run.handle = self._loop.create_task(self._in_process(run, envelope))
            return run
        self._limit_time(run, envelope)
        if envelope.task.run == "loop":
            run.handle = self._loop.create_task(self._in_loop(run, envelope))
        else:
            run.handle = partial(self._in_thread, run, envelope)
            self._threads.start(run)
        return run

    def stop(self, run: Run) -> None:
        """Ends a run whose outcome no longer counts; a thread has a moment to see it by itself."""
        self._let_go(run)
        tell_taken(run.context)
        if isinstance(run.handle, asyncio.Task):
            run.handle.cancel()
        else:
            self._loop.call_later(GRACE, self._threads.interrupt, run)

    async def close(self) -> None:
        await self._isolated.close()

    # the three ways to run

    async def _in_loop(self, run: Run, envelope: Envelope) -> None:
        run.started = time.perf_counter()
        self._on_begin(run.popped)
        enter(run.context)
        try:
            value = await envelope.task.function(**envelope.arguments)
        except asyncio.CancelledError as error:
            self._end(run, error=error)
            if run.handle.cancelling():
                raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it becomes of the job
            self._end(run, error=error)
        else:
            self._end(run, value)

    def _in_thread(self, run: Run, envelope: Envelope) -> Any:
        self._on_begin(run.popped)
        enter(run.context)
        return envelope.task.function(**envelope.arguments)

    def _told_by_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._from_threads)

    def _from_threads(self) -> None:
        for run, value, error in self._threads.ended():
            self._end(run, value, error)

    async def _in_process(self, run: Run, envelope: Envelope) -> None:
        try:
            begin = partial(self._begin_in_process, run, envelope)
            outcome = await self._isolated.run(run.popped, run.context.span, begin)
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes of the job
            self._end(run, error=error)
        else:
            self._finish(run, outcome)

    def _begin_in_process(self, run: Run, envelope: Envelope) -> None:
        self._on_begin(run.popped)
        self._limit_time(run, envelope)

    # how runs end

    def _limit_time(self, run: Run, envelope: Envelope) -> None:
        run.started = time.perf_counter()
        if envelope.timeout is not None:
            run.timer = self._loop.call_later(
                envelope.timeout, self._time_out, run, envelope.timeout
            )

    def _time_out(self, run: Run, seconds: float) -> None:
        if run.over:
            return
        error = Timeout(f"it ran for longer than its timeout, {seconds:g} seconds")
        self._end(run, error=error)
        if isinstance(run.handle, asyncio.Task):
            run.handle.cancel()
        else:
            tell_taken(run.context)
            self._threads.interrupt(run)

    def _end(self, run: Run, value: Any = None, error: BaseException | None = None) -> None:
        if run.over:
            return
        try:
            given = b"" if error is not None else packed_value(self._app, value)
            outcome: Outcome = Done(given)
        except Unwritable as wrong:
            error = wrong
        if error is not None:
            outcome = failed(self._app, run.popped, error, run.sent)
        self._finish(run, outcome)

    def _finish(self, run: Run, outcome: Outcome) -> None:
        if not run.over:
            self._let_go(run, outcome)
            self._on_end(run, outcome)

    def _let_go(self, run: Run, outcome: Outcome | None = None) -> None:
        run.over = True
        if run.context.span is not None:
            run.context.span.end(outcome)
        self.running.discard(run)
        if run.timer is not None:
            run.timer.cancel()
