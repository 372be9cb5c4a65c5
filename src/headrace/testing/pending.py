"""Runs every job of an app that can be had now, one after the other, under real leases."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Generator, Iterable
from contextvars import copy_context
from dataclasses import dataclass
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
from headrace.testing.calling import Came, acall, call_async, call_plain, is_async
from headrace.testing.report import Ran, ran
from headrace.transport.drive import Operation, drive, drive_async
from headrace.worker.metering import word
from headrace.worker.outbox import Outbox
from headrace.worker.reading import read_call
from headrace.worker.run import Done, Envelope, Failed, Run, Snoozed, failed, packed_value


@dataclass(slots=True)
class Calling:
    """A step that is no talk: the function of a task is to be called."""

    run: Run
    envelope: Envelope


Steps = Generator[Operation[Any] | Calling, Any, list[Ran]]


def run_pending(app: App, *, queues: Iterable[str] | None, reraise: bool, most: int) -> list[Ran]:
    """As App.run_pending."""
    _refuse_loop()
    with (
        asyncio.Runner() as loop,
        app.client.session(_name(), ttl=None) as session,
    ):
        steps = work_off(app, session, queues, reraise=reraise, most=most)
        answer: Any = None
        used_loop = False
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Calling):
                    used_loop = used_loop or is_async(step.envelope)
                    answer = _call(loop, step)
                else:
                    answer = drive(session.core.transport, step)
        except StopIteration as end:
            return list(end.value)
        finally:
            if used_loop:
                loop.run(app.aclose())


async def arun_pending(
    app: App, *, queues: Iterable[str] | None, reraise: bool, most: int
) -> list[Ran]:
    """As App.arun_pending."""
    client = await app.async_client()
    async with await client.session(_name(), ttl=None) as session:
        steps = work_off(app, session, queues, reraise=reraise, most=most)
        answer: Any = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Calling):
                    answer = await acall(step.run, step.envelope)
                else:
                    answer = await drive_async(session.core.transport, step)
        except StopIteration as end:
            return list(end.value)


def work_off(
    app: App, session: SessionLike, queues: Iterable[str] | None, *, reraise: bool, most: int
) -> Steps:
    """Pops, runs and answers for one job after the other, until there is none."""
    core = session.core
    chosen = None if queues is None else listed("queues", queues, "names")
    served: set[str] = set()
    report: list[Ran] = []
    yield _crons(app, core)
    while True:
        names = chosen if chosen is not None else (yield _queues(app, core))
        for name in names:
            if name not in served:
                yield sessions.serve(session, name)
                served.add(name)
        popped = yield _next(core, session.worker, names)
        if popped is None:
            return report
        if len(report) == most:
            raise _endless(report)
        run = Run(popped, Context(app, popped))
        outcome, (value, error) = yield from _attempt(app, run)
        if run.context.span is not None:
            run.context.span.end(outcome)
        refusal = yield _say(core, run, outcome)
        ended = "refused" if refusal else word(outcome)
        report.append(ran(run, ended, value, refusal or error))
        if reraise and error is not None and isinstance(outcome, Failed):
            raise error


def _attempt(app: App, run: Run) -> Generator[Calling, Came, tuple[Done | Failed | Snoozed, Came]]:
    try:
        envelope = read_call(app, run)
        value, error = yield Calling(run, envelope)
        if error is None:
            return Done(packed_value(app, value)), (value, None)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it becomes of the job
        error = wrong
    return failed(app, run.popped, error, run.sent), (None, error)


def _call(loop: asyncio.Runner, step: Calling) -> Came:
    if not is_async(step.envelope):
        return call_plain(step.run, step.envelope)
    return loop.run(call_async(step.run, step.envelope), context=copy_context())


def _crons(app: App, core: Core) -> Operation[None]:
    for name, rule in app.crons.items():
        yield from app.tasks[name].schedule(core, **rule)


def _queues(app: App, core: Core) -> Operation[list[str]]:
    """The queues of the app's tasks, then those that jobs were put into by other means."""
    own = [str(task.settings["queue"]) for task in app.tasks.values()]
    return list(dict.fromkeys([*own, *(yield from all_queues(core))]))


def _next(core: Core, worker: str, names: list[str]) -> Operation[Popped | None]:
    for name in names:
        queue = QueueRef(core, name)
        for popped in (yield from popping.pop(queue, worker, lease=math.inf)):
            return popped
    return None


def _say(core: Core, run: Run, outcome: Done | Failed | Snoozed) -> Operation[HeadraceError | None]:
    """Tells the server what became of a job; what it has against that, if anything."""
    if run.popped.record.state != "running":
        # A queue from which a pop takes the job away for good.
        return None
    outbox = Outbox(core)
    outbox.say(run.popped, outcome)
    [[answer]] = yield from ask(core, [(said.shard, said.call) for said in outbox.take()])
    return answer if isinstance(answer, HeadraceError) else None


def _endless(report: list[Ran]) -> RuntimeError:
    last = ", ".join(f"{one.task} {one.outcome}" for one in report[-3:])
    return RuntimeError(
        f"{len(report)} jobs were run and there are still more; do they put each other? The last "
        f"were: {last}. If there are so many: run_pending(most=...)"
    )


def _refuse_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("an event loop is running here: await app.arun_pending() instead")


def _name() -> str:
    return f"run-pending-{uuid4().hex[:6]}"
