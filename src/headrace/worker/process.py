"""A worker process from its start to its exit. The supervisor forks it."""

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
from headrace.errors import HeadraceError, InvalidArgument, ServerUnavailable
from headrace.operations.requests import load
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import drive_async
from headrace.worker.event_loop import new_event_loop
from headrace.worker.logs import Meter, log_event
from headrace.worker.poison import StartedJobs
from headrace.worker.settings import ServedQueue, WorkerSettings, load_app
from headrace.worker.supervised_process import (
    CANCEL_SECONDS,
    RELEASE_SECONDS,
    START,
    STOP,
    Hello,
    PipeEnds,
)
from headrace.worker.worker_loop import WorkerLoop

# Exit codes of a worker process. Any other code is a crash.
DRAINED, SERVER_AWAY, RECYCLED, UNUSABLE = 0, 69, 75, 78

# The scripts of the main loop: composed before the fork, loaded before the first job.
SCRIPTS = ("pop", "complete", "fail", "release", "check_leases", "heartbeat")

CHECK_SECONDS = 1.0
CRON_SECONDS = 30.0
# How often to look for unfinished Spark writes; the first time is at the start.
WRITES_SECONDS = 60.0
# How long the server may be silent before that is logged.
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
    """Work as a worker process until it is to stop, and return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if meter is not None:
        meter.begin(slot, settings.concurrency)
    found = _usable(settings)
    if found is None:
        return UNUSABLE
    # asyncio.run would wait for every task that does not let itself be cancelled.
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    working = loop.create_task(_work(*found, name, settings, pipes, meter, started_jobs))
    while True:
        try:
            return loop.run_until_complete(working)
        except ServerUnavailable as error:
            log_event(logging.ERROR, "cannot use the server; exiting", worker=name, reason=error)
            return SERVER_AWAY
        except (SystemExit, KeyboardInterrupt):
            # Raised in an asyncio task that a job has started. A job cannot end the process.
            if working.done():
                raise


def _usable(settings: WorkerSettings) -> tuple[App, tuple[ServedQueue, ...]] | None:
    """Return the app and the queues to serve; log the reason and return None if that fails."""
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
    """Return the queues of an app's tasks; raises InvalidArgument if it has no tasks."""
    names = {task.settings["queue"]: None for task in app.tasks.values()}
    if not names:
        raise InvalidArgument(
            f"app {app.name!r} has no tasks; import the modules with its tasks in the module of "
            "the app, or name the queues with --queues"
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
    await drive_async(client.core.transport, load(client.core, SCRIPTS))
    await put_crons(app, client)
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
    """Cancel stopped tasks and give them a second to clean up, but no more."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=CANCEL_SECONDS)


async def put_crons(app: App, client: AsyncClient) -> None:
    """Create or update the schedules of the app's cron tasks on the server."""
    for name, rule in app.crons.items():
        await drive_async(client.core.transport, app.tasks[name].schedule(client.core, **rule))


async def finish_writes(client: AsyncClient) -> None:
    """Finish Spark writes whose driver died. With a single shard the server does so itself."""
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
            "finished a Spark write that its driver left open",
            write=write.id,
            rows=write.rows,
            lost=write.lost,
        )


class ProcessLifetime:
    """Decides when a worker process ends: on a signal, with its supervisor, or to be recycled."""

    def __init__(
        self, app: App, client: AsyncClient, worker: WorkerLoop, settings: WorkerSettings
    ) -> None:
        self._app = app
        self._client = client
        self.worker = worker
        self.recycling = False
        # The result is False if the process is to stop before its session has started.
        self.session_started: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._settings = settings
        self._stopping = False
        self._stop_received = False
        self._working: asyncio.Future[None] | None = None

    async def work(self) -> None:
        """Work until every job has finished or is released, or the server does not answer."""
        watching = asyncio.create_task(self.watch())
        self._working = asyncio.ensure_future(self.worker.work())
        await asyncio.wait([self._working])
        watching.cancel()
        with suppress(asyncio.CancelledError):
            self._working.result()

    def stop(self) -> None:
        """Let running jobs finish; release them when the drain time is over."""
        if self._stopping:
            return
        self._stopping = True
        self._set_session_started(started=False)
        self.worker.stop()
        asyncio.get_running_loop().call_later(self._settings.drain, self._release_all)

    def read_supervisor(self, read_end: int) -> None:
        """Read a message of the supervisor. If it is gone, no process keeps the session alive."""
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
        if self._working is not None:
            asyncio.get_running_loop().call_later(RELEASE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        """Exit although the server does not answer. The jobs return when the session ends."""
        if self._working is not None and self._working.cancel():
            log_event(
                logging.WARNING,
                "server did not accept the releases in time; jobs return when the session ends",
                worker=self.worker.name,
            )

    async def watch(self) -> None:
        """Do periodic duties, and stop once the process has run enough jobs or grown too large."""
        crons_put_at = time.monotonic()
        writes_checked_at = -math.inf
        while not self._stopping:
            await asyncio.sleep(CHECK_SECONDS)
            if time.monotonic() > writes_checked_at + WRITES_SECONDS:
                writes_checked_at = time.monotonic()
                await finish_writes(self._client)
            if time.monotonic() > crons_put_at + CRON_SECONDS:
                # A server that has lost its data needs the schedules again.
                crons_put_at = time.monotonic()
                await put_crons(self._app, self._client)
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
