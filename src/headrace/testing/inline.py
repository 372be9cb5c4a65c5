"""Tasks without a server: what is put runs at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import msgspec

from headrace.app.app import App
from headrace.app.context import Context
from headrace.app.task import Task
from headrace.engine.check import Span
from headrace.engine.record import STATE_NUMBERS, Record
from headrace.errors import JobNotFound, NoResult, TaskFailed
from headrace.operations.popping import Popped
from headrace.operations.putting import payload_for
from headrace.testing.calling import Came, acall, call_async, call_plain, is_async
from headrace.testing.report import Ran, ran
from headrace.worker.metering import word
from headrace.worker.reading import read_call
from headrace.worker.run import (
    Done,
    Envelope,
    Failed,
    Run,
    Snoozed,
    Unwritable,
    failed,
    packed_value,
)

ID_DIGITS = 24
WORKER = "inline"


class InlineContext(Context):
    """The context of a job that no server knows: what is said of it is said to nobody."""

    __slots__ = ()

    def progress(self, share: float, note: str = "") -> None: ...

    async def aprogress(self, share: float, note: str = "") -> None: ...

    def log(self, line: str) -> None: ...

    async def alog(self, line: str) -> None: ...

    def heartbeat(self, *, lease_for: Span | None = None) -> None: ...

    async def aheartbeat(self, *, lease_for: Span | None = None) -> None: ...


class Inline:
    """Runs what is put, and keeps what came of it."""

    def __init__(self, app: App, *, keep_failures: bool) -> None:
        self._app = app
        self._keep_failures = keep_failures
        self.runs: list[Ran] = []
        self._ended: dict[str, tuple[Done | Failed | Snoozed, bytes | None]] = {}

    def put(self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]) -> str:
        """Runs a call here and now; what it raises is raised, unless failures are kept."""
        run = self._run(task, data, options)
        return self._end(run, *_call(run, read_call(self._app, run)))

    async def aput(
        self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]
    ) -> str:
        """The same for code that awaits."""
        run = self._run(task, data, options)
        return self._end(run, *(await acall(run, read_call(self._app, run))))

    def result(self, job_id: str) -> Any:
        """What a function returned, as it would have come from the server."""
        if job_id not in self._ended:
            raise JobNotFound(job_id)
        outcome, payload = self._ended[job_id]
        if isinstance(outcome, Failed):
            raise TaskFailed(job_id, outcome.failure, outcome.message)
        if isinstance(outcome, Snoozed):
            raise NoResult(job_id, "scheduled")
        return None if payload is None else self._app.codec.decode(payload)

    def _run(self, task: Task[..., Any], data: dict[str, Any], options: dict[str, Any]) -> Run:
        job_id = options.get("id") or uuid4().hex[:ID_DIGITS]
        payload = payload_for(data, self._app.codec, self._app.limits)
        record = _record(task, options)
        popped = Popped(job_id, record, msgspec.msgpack.encode(record), payload)
        return Run(popped, InlineContext(self._app, popped))

    def _end(self, run: Run, value: Any, error: BaseException | None) -> str:
        outcome: Done | Failed | Snoozed = Done(b"")
        payload: bytes | None = None
        try:
            if packed_value(self._app, value):
                payload = payload_for(value, self._app.codec, self._app.limits)
        except Unwritable as wrong:
            value, error = None, wrong
        if error is not None:
            outcome = failed(self._app, run.popped, error, run.sent)
        if run.context.span is not None:
            run.context.span.end(outcome)
        self._ended[run.popped.id] = outcome, payload
        self.runs.append(ran(run, word(outcome), value, error))
        if error is not None and not self._keep_failures:
            raise error
        return run.popped.id


def _call(run: Run, envelope: Envelope) -> Came:
    if not is_async(envelope):
        return call_plain(run, envelope)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call_async(run, envelope))
    # Inside a loop another one can only run in another thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, call_async(run, envelope)).result()


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
