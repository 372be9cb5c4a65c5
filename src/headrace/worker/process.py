"""A worker process, from its first step to its exit: forked by the supervisor."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headrace.app.app import App
from headrace.client.client import AsyncClient
from headrace.worker.load import load_app
from headrace.worker.logs import say
from headrace.worker.settings import Served, WorkerSettings
from headrace.worker.worker import Worker

# How a process ends. Whatever else it ends with is a crash.
DRAINED, RECYCLED, UNUSABLE = 0, 75, 78

LOOK_EVERY = 1.0
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


def main(name: str, settings: WorkerSettings, line: Line) -> int:
    """The life of a worker process; returns how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        app = load_app(settings.app)
        queues = settings.queues or served_by(app)
        for task in app.tasks.values():
            task.signature.check()
    except BaseException:
        logging.getLogger("headrace.worker").exception("the app %s cannot be used", settings.app)
        return UNUSABLE
    return asyncio.run(_live(app, name, queues, settings, line))


def served_by(app: App) -> tuple[Served, ...]:
    """The queues of an app's tasks."""
    names = {task.settings["queue"]: None for task in app.tasks.values()}
    return tuple(Served(name) for name in names)


async def _live(
    app: App, name: str, queues: tuple[Served, ...], settings: WorkerSettings, line: Line
) -> int:
    client = await app.async_client()
    await put_crons(app, client)
    hello = Hello(app.url or "", app.name, [queue.name for queue in queues])
    os.write(line.writes, msgspec.json.encode(hello) + b"\n")
    loop = asyncio.get_running_loop()
    life = Life(Worker(app, client, name, queues, settings), settings)
    loop.add_signal_handler(signal.SIGTERM, life.stop)
    begun = loop.create_future()
    loop.add_reader(line.reads, life.hear_supervisor, line.reads, begun)
    if not await begun:
        return DRAINED
    watching = asyncio.create_task(life.watch())
    await life.worker.work()
    watching.cancel()
    await client.close()
    return RECYCLED if life.recycling else DRAINED


async def put_crons(app: App, client: AsyncClient) -> None:
    """Tells the server of the tasks that come again and again."""
    for name, rule in app.crons.items():
        await app.tasks[name].schedule(client, **rule)


class Life:
    """When a worker process ends: on a signal, with its supervisor, or to be replaced."""

    def __init__(self, worker: Worker, settings: WorkerSettings) -> None:
        self.worker = worker
        self.recycling = False
        self._settings = settings
        self._stopping = False

    def stop(self) -> None:
        """The first time lets what runs end; the second time, or after a while, gives it back."""
        if self._stopping:
            self.worker.give_back_everything()
            return
        self._stopping = True
        self.worker.stop()
        asyncio.get_running_loop().call_later(
            self._settings.drain, self.worker.give_back_everything
        )

    def hear_supervisor(self, reads: int, begun: asyncio.Future[bool]) -> None:
        """A byte says that the session has begun; the end of the pipe, that nobody keeps it."""
        if os.read(reads, 1):
            begun.set_result(True)
            return
        asyncio.get_running_loop().remove_reader(reads)
        if not begun.done():
            begun.set_result(False)
        say(logging.WARNING, "the supervisor is gone; everything is given back")
        self.worker.give_back_everything()

    async def watch(self) -> None:
        """Looks now and then whether the process has done or grown enough."""
        while not self._stopping:
            await asyncio.sleep(LOOK_EVERY)
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
