"""A worker process, from its fork by the supervisor to its exit."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from headrace.app.app import App
from headrace.client.client import AsyncClient
from headrace.engine.check import text
from headrace.errors import (
    HeadraceError,
    InvalidArgument,
    NamespaceMismatch,
    ServerUnavailable,
)
from headrace.operations.durability import require_support
from headrace.operations.requests import load
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import drive_async
from headrace.worker.event_loop import new_event_loop
from headrace.worker.logs import log_event
from headrace.worker.meter import Meter
from headrace.worker.poison import StartedJobs
from headrace.worker.settings import ServedQueue, WorkerSettings, load_app
from headrace.worker.supervised_process import (
    ANSWER_SECONDS,
    CANCEL_SECONDS,
    RELEASE_SECONDS,
    START,
    STOP,
    Hello,
    PipeEnds,
)
from headrace.worker.task_call import put_crons
from headrace.worker.worker_loop import WorkerLoop

# Exit codes of a worker process. Any other code is a crash.
DRAINED, SERVER_AWAY, RECYCLED, UNUSABLE = 0, 69, 75, 78

CHECK_SECONDS = 1.0
CRON_SECONDS = 30.0
# Seconds between two searches for unfinished Spark writes. The first search is at startup.
WRITES_SECONDS = 60.0
# Seconds without an answer from the server before the process logs a warning.
SILENT_SECONDS = 1.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main(
    name: str,
    settings: WorkerSettings,
    pipes: PipeEnds,
    slot: int,
    meter: Meter | None,
    started_jobs: StartedJobs,
) -> int:
    """Run a worker process until it must stop, and return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if meter is not None:
        meter.begin(slot, settings.concurrency)
    found = _usable(settings)
    if found is None:
        return UNUSABLE
    # asyncio.run would wait forever for an asyncio task that ignores its cancellation.
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    working = loop.create_task(_work(*found, name, settings, pipes, meter, started_jobs))
    while True:
        try:
            return loop.run_until_complete(working)
        except ServerUnavailable as error:
            log_event(logging.ERROR, "cannot use the server; exiting", worker=name, reason=error)
            return SERVER_AWAY
        except NamespaceMismatch as error:
            log_event(logging.ERROR, "cannot use the namespace", worker=name, reason=error)
            return UNUSABLE
        except (SystemExit, KeyboardInterrupt):
            # An asyncio task of a job raised this exception. A job must not end the process.
            if working.done():
                raise


def _usable(settings: WorkerSettings) -> tuple[App, tuple[ServedQueue, ...]] | None:
    """Return the app and the queues to serve; if the app is unusable, log why and return None."""
    try:
        app = load_app(settings.app)
        queues = settings.queues or queues_of(app)
        for queue in queues:
            text("the name of a queue", queue.name, app.limits.name)
        for task in app.tasks.values():
            task.signature.check()
    except HeadraceError as error:
        log_event(logging.ERROR, "cannot use the app", app=settings.app, reason=error)
        return None
    except BaseException:
        logging.getLogger("headrace.worker").exception("cannot use the app %s", settings.app)
        return None
    return app, queues


def queues_of(app: App) -> tuple[ServedQueue, ...]:
    """Return the queues of an app's tasks; raises InvalidArgument if the app has no tasks."""
    names = {task.settings["queue"]: None for task in app.tasks.values()}
    if not names:
        raise InvalidArgument(
            f"app {app.name!r} has no tasks; import the modules that define its tasks into "
            "the app's module, or name the queues with --queues"
        )
    return tuple(ServedQueue(name) for name in names)


async def _work(
    app: App,
    queues: tuple[ServedQueue, ...],
    name: str,
    settings: WorkerSettings,
    pipes: PipeEnds,
    meter: Meter | None,
    started_jobs: StartedJobs,
) -> int:
    client = await _connect(app, name)
    await drive_async(client.core.transport, load(client.core))
    await drive_async(client.core.transport, require_support(client.core, client.core.durability))
    await put_schedules(app, client)
    loop = asyncio.get_running_loop()
    worker = WorkerLoop(app, client, name, queues, settings, meter, started_jobs)
    lifetime = ProcessLifetime(app, client, worker, settings)
    loop.add_signal_handler(signal.SIGTERM, lifetime.stop)
    loop.add_reader(pipes.read_end, lifetime.read_supervisor, pipes.read_end)
    hello = Hello(app.url or "", app.place.namespace, [queue.name for queue in queues])
    os.write(pipes.write_end, msgspec.json.encode(hello) + b"\n")
    if await lifetime.session_started:
        await lifetime.work()
    await _cancel_remaining_tasks()
    if app.telemetry is not None:
        app.telemetry.flush()
    return RECYCLED if lifetime.recycling else DRAINED


async def _connect(app: App, name: str) -> AsyncClient:
    connecting = asyncio.ensure_future(app.async_client())
    await asyncio.wait([connecting], timeout=SILENT_SECONDS)
    if not connecting.done():
        log_event(logging.WARNING, "server does not answer yet; waiting", worker=name)
    return await connecting


async def _cancel_remaining_tasks() -> None:
    """Cancel the remaining asyncio tasks and wait at most one second for their cleanup."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=CANCEL_SECONDS)


async def put_schedules(app: App, client: AsyncClient) -> None:
    """Create or update the schedules of the app.

    If the server's memory is full, it refuses the update. The worker logs a warning and runs jobs
    as usual.
    """
    try:
        await drive_async(client.core.transport, put_crons(app, client.core))
    except ServerUnavailable as error:
        log_event(logging.WARNING, "cannot update the schedules; will retry", reason=error)


async def finish_writes(client: AsyncClient) -> None:
    """Finish Spark writes whose driver died.

    A server with a single shard finishes such writes itself.
    """
    if client.core.shards == 1:
        return
    try:
        finished = await drive_async(client.core.transport, recover_transactions(client.core))
    except HeadraceError as error:
        log_event(logging.WARNING, "cannot finish a Spark write; will retry", reason=error)
        return
    for write in finished:
        log_event(
            logging.ERROR if write.lost else logging.INFO,
            "finished a Spark write that its driver left unfinished",
            write=write.id,
            rows=write.rows,
            lost=write.lost,
        )


class ProcessLifetime:
    """Ends a worker process: on a signal, to recycle the process, or if its supervisor died."""

    def __init__(
        self, app: App, client: AsyncClient, worker: WorkerLoop, settings: WorkerSettings
    ) -> None:
        self._app = app
        self._client = client
        self.worker = worker
        self.recycling = False
        # The future has the result False if the process must stop before its session starts.
        self.session_started: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._settings = settings
        self._stopping = False
        self._stop_received = False
        self._working: asyncio.Future[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def work(self) -> None:
        """Work until every job has finished or is released, or the server stops answering."""
        watching = asyncio.create_task(self.watch())
        self._working = asyncio.ensure_future(self.worker.work())
        await asyncio.wait([self._working])
        watching.cancel()
        with suppress(asyncio.CancelledError):
            self._working.result()

    def stop(self) -> None:
        """Let running jobs finish, and release jobs that still run after the drain time."""
        if self._stopping:
            return
        self._stopping = True
        self._set_session_started(started=False)
        self.worker.stop()
        loop = asyncio.get_running_loop()
        loop.call_later(self._settings.drain, self._release_all)
        self._ending = loop.create_task(self._give_up_after_drain())

    def read_supervisor(self, read_end: int) -> None:
        """Read a message from the supervisor; if the supervisor died, release all jobs and exit."""
        message = os.read(read_end, 1)
        if message == START:
            self._set_session_started(started=True)
        elif message == STOP and not self._stop_received:
            self._stop_received = True
            self.stop()
        else:
            if not message:
                asyncio.get_running_loop().remove_reader(read_end)
                log_event(logging.WARNING, "supervisor is gone; releasing all jobs and exiting")
            self.stop()
            self._release_all()

    def _set_session_started(self, *, started: bool) -> None:
        if not self.session_started.done():
            self.session_started.set_result(started)

    def _release_all(self) -> None:
        self.worker.release_all()
        asyncio.get_running_loop().call_later(RELEASE_SECONDS, self._give_up)

    async def _give_up_after_drain(self) -> None:
        """Exit if the server does not answer in time after the last job has finished."""
        await self.worker.drained.wait()
        await asyncio.sleep(ANSWER_SECONDS)
        if self.worker.has_unsent():
            await asyncio.sleep(RELEASE_SECONDS - ANSWER_SECONDS)
        self._give_up()

    def _give_up(self) -> None:
        """Exit although the server has not accepted all outcomes.

        The server redelivers these jobs when the session ends.
        """
        if self._working is None or not self._working.cancel():
            return
        if self.worker.has_unsent():
            log_event(
                logging.WARNING,
                "server did not accept the outcomes in time; jobs return when the session ends",
                worker=self.worker.name,
            )

    async def watch(self) -> None:
        """Run periodic duties, and stop when the process reaches its limit of jobs or memory."""
        crons_put_at = time.monotonic()
        writes_checked_at = -math.inf
        while not self._stopping:
            await asyncio.sleep(CHECK_SECONDS)
            if time.monotonic() > writes_checked_at + WRITES_SECONDS:
                writes_checked_at = time.monotonic()
                await finish_writes(self._client)
            if time.monotonic() > crons_put_at + CRON_SECONDS:
                # The server may have lost its data, including the schedules.
                crons_put_at = time.monotonic()
                await put_schedules(self._app, self._client)
            if reason := self._reason_to_recycle():
                log_event(
                    logging.INFO,
                    "recycling the worker process",
                    worker=self.worker.name,
                    reason=reason,
                )
                self.recycling = True
                self.stop()

    def _reason_to_recycle(self) -> str:
        most, largest = self._settings.max_jobs, self._settings.max_memory
        if most is not None and self.worker.jobs_finished >= most:
            return f"{self.worker.jobs_finished} jobs"
        if largest is not None and (used := _resident_mib()) >= largest:
            return f"{used} MiB"
        return ""


def _resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE_BYTES >> 20
