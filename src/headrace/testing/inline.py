"""Tasks without a server: every put runs the task at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import msgspec

from headrace.app.app import App
from headrace.app.context import Context
from headrace.app.task import Task
from headrace.codecs.codec import bound
from headrace.engine.check import Span
from headrace.engine.record import STATE_NUMBERS, Record, text_bytes
from headrace.errors import JobNotFound, NoResult, TaskFailed
from headrace.operations.popping import Popped
from headrace.operations.putting import payload_for
from headrace.testing.calling import CallResult, Ran, call_here, call_in_loop, report_of
from headrace.worker import task_call

ID_DIGITS = 24
WORKER = "inline"


class InlineContext(Context):
    """A job context without a server. Progress, log lines and heartbeats are ignored."""

    __slots__ = ()

    def progress(self, share: float, note: str = "") -> None:
        """Do nothing."""

    async def aprogress(self, share: float, note: str = "") -> None:
        """Do nothing."""

    def log(self, line: str) -> None:
        """Do nothing."""

    async def alog(self, line: str) -> None:
        """Do nothing."""

    def heartbeat(self, *, lease_for: Span | None = None) -> None:
        """Do nothing."""

    async def aheartbeat(self, *, lease_for: Span | None = None) -> None:
        """Do nothing."""


class InlineRunner:
    """Runs every call that is put, and keeps the outcomes."""

    def __init__(self, app: App, *, keep_failures: bool) -> None:
        self._app = app
        self._keep_failures = keep_failures
        self.runs: list[Ran] = []
        self._outcomes: dict[str, task_call.Outcome] = {}

    def put(self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]) -> str:
        """Run the call of a job, and return the job's id.

        Raises the exception of the task, unless `keep_failures` is set.
        """
        run = self._run(task, data, options)
        return self._end(run, *call_here(run, task_call.read_call(self._app, run), _run_loop))

    async def aput(
        self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]
    ) -> str:
        """Run a job's task inside the current event loop, and return the job's id."""
        run = self._run(task, data, options)
        return self._end(run, *(await call_in_loop(run, task_call.read_call(self._app, run))))

    def result(self, job_id: str) -> Any:
        """Return a job's result as the server would return it.

        Raises JobNotFound, TaskFailed or NoResult as task.result does.
        """
        if job_id not in self._outcomes:
            raise JobNotFound(job_id)
        outcome = self._outcomes[job_id]
        if isinstance(outcome, task_call.Failed):
            raise TaskFailed(job_id, outcome.failure, outcome.message)
        if isinstance(outcome, task_call.Snoozed):
            raise NoResult(job_id, "scheduled")
        if not outcome.result:
            return None
        payload, _ = msgspec.msgpack.decode(outcome.result, type=list[msgspec.Raw])
        return self._app.codec.decode(text_bytes(payload))

    def _run(
        self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]
    ) -> task_call.Run:
        job_id = options.get("id") or uuid4().hex[:ID_DIGITS]
        record = _record(task, options)
        payload = payload_for(data, bound(self._app.codec, job_id, record.queue), self._app.limits)
        popped = Popped(job_id, record, msgspec.msgpack.encode(record), payload)
        return task_call.Run(popped, InlineContext(self._app, popped))

    def _end(self, run: task_call.Run, value: Any, error: BaseException | None) -> str:
        outcome: task_call.Outcome
        try:
            outcome = task_call.Done(task_call.pack_result(self._app, run.popped.id, value))
        except task_call.Unwritable as unwritable:
            value, error = None, unwritable
        if error is not None:
            outcome = task_call.outcome_of_error(self._app, run.popped, error, run.envelope)
        if run.context.span is not None:
            run.context.span.end(outcome)
        self._outcomes[run.popped.id] = outcome
        self.runs.append(report_of(run, task_call.outcome_name(outcome), value, error))
        if error is not None and not self._keep_failures:
            raise error
        return run.popped.id


def _run_loop(coroutine: Coroutine[Any, Any, CallResult]) -> CallResult:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # This thread already runs an event loop, so the coroutine needs another thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, coroutine).result()


def _record(task: Task[..., Any], options: dict[str, Any]) -> Record:
    return Record(
        state_number=STATE_NUMBERS["running"],
        queue=task.settings["queue"],
        priority=options.get("priority") or 0,
        seq=0,
        put_at=0,
        retries=0,
        data=msgspec.Raw(b"\xc2"),
        attempt=1,
        remaining=0,
        worker=WORKER,
    )
