"""A worker process, from its first step to its exit: forked by the supervisor."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headrace.app.app import App
from headrace.client.client import AsyncClient
from headrace.engine.check import text
from headrace.errors import HeadraceError, InvalidArgument, ServerUnavailable
from headrace.operations.requests import load
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import drive_async
from headrace.worker.begun import Begun
from headrace.worker.load import load_app
from headrace.worker.logs import say
from headrace.worker.loop import new_loop
from headrace.worker.metering import Meter
from headrace.worker.settings import Served, WorkerSettings
from headrace.worker.worker import Worker

# How a process ends. Whatever else it ends with is a crash.
DRAINED, AWAY, RECYCLED, UNUSABLE = 0, 69, 75, 78

# What a supervisor says to a process: the session has begun; end, and said again: at once.
BEGIN, END = b"!", b"."

# What is called again and again: composed before processes are forked, loaded before they work.
SCRIPTS = ("pop", "complete", "fail", "release", "holds", "heartbeat")

LOOK_EVERY = 1.0
TELL_OF_CRONS = 30.0
# Writes from Spark that nobody sees to are looked for at the beginning, then so often.
LOOK_FOR_WRITES = 60.0
# How long nobody is told that the server does not answer.
PATIENCE = 1.0
# How long the server has to hear what was given back, and what was cancelled to end.
LAST_WORDS, FAREWELL = 5.0, 1.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Hello(msgspec.Struct):
    """What a process tells its supervisor before it begins: where its jobs are."""

    url: str
    namespace: str
    queues: list[str]


@dataclass(slots=True)
class Line:
    """The ends of the pipes between a process and its supervisor that this side holds."""

    reads: int
    writes: int

    def close(self) -> None:
        os.close(self.reads)
        os.close(self.writes)


def main(
    name: str,
    settings: WorkerSettings,
    line: Line,
    place: int,
    meter: Meter | None,
    begun: Begun,
) -> int:
    """The life of a worker process; returns how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if meter is not None:
        meter.begin(place, settings.concurrency)
    found = _usable(settings)
    if found is None:
        return UNUSABLE
    # Not asyncio.run: that waits for whatever does not let itself be cancelled.
    loop = new_loop()
    asyncio.set_event_loop(loop)
    living = loop.create_task(_live(*found, name, settings, line, meter, begun))
    while True:
        try:
            return loop.run_until_complete(living)
        except ServerUnavailable as error:
            say(logging.ERROR, "the server cannot be used", worker=name, why=error)
            return AWAY
        except (SystemExit, KeyboardInterrupt):
            # Raised in a task of a task, it stops the loop: that is not for a job to say.
            if living.done():
                raise


def _usable(settings: WorkerSettings) -> tuple[App, tuple[Served, ...]] | None:
    """The app and the queues to serve, unless something is wrong with them."""
    try:
        app = load_app(settings.app)
        queues = settings.queues or served_by(app)
        for queue in queues:
            text("the name of a queue", queue.name, app.limits.name)
        for task in app.tasks.values():
            task.signature.check()
    except HeadraceError as error:
        say(logging.ERROR, "the app cannot be used", app=settings.app, why=error)
        return None
    except BaseException:
        logging.getLogger("headrace.worker").exception("the app %s cannot be used", settings.app)
        return None
    return app, queues


def served_by(app: App) -> tuple[Served, ...]:
    """The queues of an app's tasks."""
    names = {task.settings["queue"]: None for task in app.tasks.values()}
    if not names:
        raise InvalidArgument(
            f"the app {app.name!r} has no tasks: import the modules that have them where the app "
            "is, or name queues with --queues"
        )
    return tuple(Served(name) for name in names)


async def _live(
    app: App,
    queues: tuple[Served, ...],
    name: str,
    settings: WorkerSettings,
    line: Line,
    meter: Meter | None,
    begun: Begun,
) -> int:
    client = await _connected(app, name)
    await drive_async(client.core.transport, load(client.core, SCRIPTS))
    await put_crons(app, client)
    loop = asyncio.get_running_loop()
    worker = Worker(app, client, name, queues, settings, meter, begun)
    life = Life(app, client, worker, settings)
    loop.add_signal_handler(signal.SIGTERM, life.stop)
    loop.add_reader(line.reads, life.hear_supervisor, line.reads)
    hello = Hello(app.url or "", app.place.namespace, [queue.name for queue in queues])
    os.write(line.writes, msgspec.json.encode(hello) + b"\n")
    if await life.begun:
        await life.work()
    await _cancel_the_rest()
    if app.telemetry is not None:
        app.telemetry.flush()
    return RECYCLED if life.recycling else DRAINED


async def _connected(app: App, name: str) -> AsyncClient:
    connecting = asyncio.ensure_future(app.async_client())
    await asyncio.wait([connecting], timeout=PATIENCE)
    if not connecting.done():
        say(logging.WARNING, "the server does not answer yet", worker=name)
    return await connecting


async def _cancel_the_rest() -> None:
    """What is still there was stopped: it may tidy up, but not hold the process."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=FAREWELL)


async def put_crons(app: App, client: AsyncClient) -> None:
    """Tells the server of the tasks that come again and again."""
    for name, rule in app.crons.items():
        await drive_async(client.core.transport, app.tasks[name].schedule(client.core, **rule))


async def finish_writes(client: AsyncClient) -> None:
    """Brings to their end writes from Spark whose driver died; one shard does so by itself."""
    if client.core.shards == 1:
        return
    try:
        finished = await drive_async(client.core.transport, recover_transactions(client.core))
    except HeadraceError as error:
        say(logging.WARNING, "a write from Spark cannot be brought to its end", why=error)
        return
    for write in finished:
        level = logging.ERROR if write.lost else logging.INFO
        say(
            level,
            "a write from Spark was left open",
            write=write.id,
            rows=write.rows,
            lost=write.lost,
        )


class Life:
    """When a worker process ends: on a signal, with its supervisor, or to be replaced."""

    def __init__(
        self, app: App, client: AsyncClient, worker: Worker, settings: WorkerSettings
    ) -> None:
        self._app = app
        self._client = client
        self.worker = worker
        self.recycling = False
        self.begun: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._settings = settings
        self._stopping = False
        self._told_to_end = False
        self._working: asyncio.Future[None] | None = None

    async def work(self) -> None:
        """Works until everything is over or given back, or nobody hears of that."""
        watching = asyncio.create_task(self.watch())
        self._working = asyncio.ensure_future(self.worker.work())
        await asyncio.wait([self._working])
        watching.cancel()
        with suppress(asyncio.CancelledError):
            self._working.result()

    def stop(self) -> None:
        """Lets what runs end; after a while gives it back."""
        if self._stopping:
            return
        self._stopping = True
        self._set_begun(begun=False)
        self.worker.stop()
        asyncio.get_running_loop().call_later(self._settings.drain, self._give_back)

    def hear_supervisor(self, reads: int) -> None:
        """What it says; the end of the pipe says that nobody keeps the session."""
        said = os.read(reads, 1)
        if said == BEGIN:
            self._set_begun(begun=True)
        elif said == END and not self._told_to_end:
            self._told_to_end = True
            self.stop()
        else:
            if not said:
                asyncio.get_running_loop().remove_reader(reads)
                say(logging.WARNING, "the supervisor is gone; everything is given back")
            self.stop()
            self._give_back()

    def _set_begun(self, *, begun: bool) -> None:
        if not self.begun.done():
            self.begun.set_result(begun)

    def _give_back(self) -> None:
        self.worker.give_back_everything()
        if self._working is not None:
            asyncio.get_running_loop().call_later(LAST_WORDS, self._leave_unsaid)

    def _leave_unsaid(self) -> None:
        """The server does not hear us: the end of the session says it all."""
        if self._working is not None and self._working.cancel():
            say(logging.WARNING, "the server was not told what was given back")

    async def watch(self) -> None:
        """Looks now and then whether the process has done or grown enough."""
        told_of_crons = time.monotonic()
        looked_for_writes = -math.inf
        while not self._stopping:
            await asyncio.sleep(LOOK_EVERY)
            if time.monotonic() > looked_for_writes + LOOK_FOR_WRITES:
                looked_for_writes = time.monotonic()
                await finish_writes(self._client)
            if time.monotonic() > told_of_crons + TELL_OF_CRONS:
                # A server that has lost its data must hear of them again.
                told_of_crons = time.monotonic()
                await put_crons(self._app, self._client)
            if why := self._why_recycle():
                say(logging.INFO, "recycled", worker=self.worker.name, why=why)
                self.recycling = True
                self.stop()

    def _why_recycle(self) -> str:
        most, largest = self._settings.max_jobs, self._settings.max_memory
        if most is not None and self.worker.jobs_ended >= most:
            return f"{self.worker.jobs_ended} jobs"
        if largest is not None and (used := _resident_mib()) >= largest:
            return f"{used} MiB"
        return ""


def _resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE_BYTES >> 20
