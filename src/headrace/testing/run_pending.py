"""Run every available job of an app, one after the other, with real leases."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Generator, Iterable
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from headrace.app.app import App
from headrace.app.context import Context
from headrace.engine.check import listed
from headrace.errors import HeadraceError
from headrace.operations import popping, sessions
from headrace.operations.core import Core
from headrace.operations.popping import Popped
from headrace.operations.protocols import SessionLike
from headrace.operations.queues import QueueRef, all_queues
from headrace.operations.requests import ask
from headrace.testing.calling import CallResult, Ran, call_here, call_in_loop, report_of
from headrace.transport.drive import Operation, drive, drive_async
from headrace.worker import task_call
from headrace.worker.acks import AckBuffer


@dataclass(slots=True)
class CallStep:
    """The step that calls the function of a task. All other steps are server operations."""

    run: task_call.Run
    call: task_call.TaskCall


Steps = Generator[Operation[Any] | CallStep, Any, list[Ran]]


def run_pending(app: App, *, queues: Iterable[str] | None, reraise: bool, most: int) -> list[Ran]:
    """Run every available job; App.run_pending documents this function."""
    _refuse_loop()
    # Ending the loop also closes the app's asyncio client for this loop.
    with asyncio.Runner() as loop, app.client.session(_name(), ttl=None) as session:
        steps = work_off(app, session, queues, reraise=reraise, most=most)
        answer: Any = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, CallStep):
                    run_loop = partial(loop.run, context=copy_context())
                    answer = call_here(step.run, step.call, run_loop)
                else:
                    answer = drive(session.core.transport, step)
        except StopIteration as end:
            return list(end.value)


async def arun_pending(
    app: App, *, queues: Iterable[str] | None, reraise: bool, most: int
) -> list[Ran]:
    """Run every available job in an event loop; App.arun_pending documents this function."""
    client = await app.async_client()
    async with await client.session(_name(), ttl=None) as session:
        steps = work_off(app, session, queues, reraise=reraise, most=most)
        answer: Any = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, CallStep):
                    answer = await call_in_loop(step.run, step.call)
                else:
                    answer = await drive_async(session.core.transport, step)
        except StopIteration as end:
            return list(end.value)


def work_off(
    app: App, session: SessionLike, queues: Iterable[str] | None, *, reraise: bool, most: int
) -> Steps:
    """Pop, run and acknowledge one job after the other until no job is available."""
    core = session.core
    chosen = None if queues is None else listed("queues", queues, "names")
    served: set[str] = set()
    report: list[Ran] = []
    yield task_call.put_crons(app, core)
    while True:
        names = chosen if chosen is not None else (yield _all_queues(app, core))
        for name in names:
            if name not in served:
                yield sessions.serve(session, name)
                served.add(name)
        popped = yield _pop_next(core, session.worker, names)
        if popped is None:
            return report
        if len(report) == most:
            raise _too_many(report)
        run = task_call.Run(popped, Context(app, popped))
        outcome, value, error = yield from _attempt(app, run)
        if run.context.span is not None:
            run.context.span.end(outcome)
        refusal = yield _acknowledge(core, run, outcome)
        name = "refused" if refusal else task_call.outcome_name(outcome)
        report.append(report_of(run, name, value, refusal or error))
        if reraise and error is not None and isinstance(outcome, task_call.Failed):
            raise error


def _attempt(
    app: App, run: task_call.Run
) -> Generator[CallStep, CallResult, tuple[task_call.Outcome, Any, BaseException | None]]:
    try:
        call = task_call.read_call(app, run)
        value, error = yield CallStep(run, call)
        if error is None:
            return task_call.Done(task_call.pack_result(app, run.popped.id, value)), value, None
    except Exception as raised:  # noqa: BLE001 - every error is the job's outcome
        error = raised
    return task_call.outcome_of_error(app, run.popped, error, run.envelope), None, error


def _all_queues(app: App, core: Core) -> Operation[list[str]]:
    """Return the queues of the app's tasks, then all other queues of the namespace."""
    own = [str(task.settings["queue"]) for task in app.tasks.values()]
    return list(dict.fromkeys([*own, *(yield from all_queues(core))]))


def _pop_next(core: Core, worker: str, names: list[str]) -> Operation[Popped | None]:
    for name in names:
        queue = QueueRef(core, name)
        for popped in (yield from popping.pop(queue, worker, lease=math.inf)):
            return popped
    return None


def _acknowledge(
    core: Core, run: task_call.Run, outcome: task_call.Outcome
) -> Operation[HeadraceError | None]:
    """Send the outcome of a job; return the error if the server refuses the outcome."""
    if run.popped.record.state != "running":
        # There is nothing to acknowledge: the queue removed the job when the job was popped.
        return None
    acks = AckBuffer(core)
    acks.acknowledge(run.popped, outcome)
    [[answer]] = yield from ask(core, [(ack.shard, ack.call) for ack in acks.take()])
    return answer if isinstance(answer, HeadraceError) else None


def _too_many(report: list[Ran]) -> RuntimeError:
    last = ", ".join(f"{one.task} {one.outcome}" for one in report[-3:])
    return RuntimeError(
        f"run_pending ran {len(report)} jobs, and more jobs are waiting; perhaps the tasks always "
        f"put new jobs. The last runs were: {last}. Allow more with run_pending(most=...)"
    )


def _refuse_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("an event loop is running here; await app.arun_pending() instead")


def _name() -> str:
    return f"run-pending-{uuid4().hex[:6]}"
