"""Jobs in processes of their own: what crashes, leaks or hangs there can be killed there."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from headrace.app.tracing import RunSpan
from headrace.client.talks.popping import Popped
from headrace.worker.run import Crashed, Done, Failed, Snoozed

pack = msgspec.msgpack.encode
unpack = msgspec.msgpack.decode

LENGTH_BYTES = 4
LARGEST = 1 << 30
READY = b"!"
OUTCOMES: dict[str, type[Done | Failed | Snoozed]] = {
    kind.__name__: kind for kind in (Done, Failed, Snoozed)
}


class Isolated:
    """Processes that run one job at a time each; idle ones are kept for the next job."""

    def __init__(self, app_path: str, most: int) -> None:
        self._app_path = app_path
        self._idle: deque[Process] = deque()
        self._free = asyncio.Semaphore(most)
        # To load an app is work: begun all at once, processes would take longer than in turns.
        self._beginning = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(
        self, popped: Popped, span: RunSpan | None, on_begin: Callable[[], None]
    ) -> Done | Failed | Snoozed:
        """Runs a job; Crashed if its process died of it. Cancelled, the process is killed."""
        async with self._free:
            process = await self._process()
            try:
                await process.ready()
                on_begin()
                trace = None if span is None else span.carrier()
                kind, values = await process.ask([popped.id, popped.packed, popped.payload, trace])
            except (asyncio.IncompleteReadError, ConnectionError):
                raise Crashed(await process.obituary()) from None
            except BaseException:
                process.kill()
                raise
            self._idle.append(process)
            return OUTCOMES[kind](*values)

    async def _process(self) -> Process:
        if process := self._idle_one():
            return process
        async with self._beginning:
            # By now one may be done with its job.
            if process := self._idle_one():
                return process
            process = await Process.begun(self._app_path)
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                await process.ready()
            return process

    def _idle_one(self) -> Process | None:
        while self._idle:
            process = self._idle.pop()
            if process.lives():
                return process
            process.kill()
        return None

    async def close(self) -> None:
        """Ends the idle processes."""
        while self._idle:
            self._idle.pop().kill()


class Process:
    """A process, seen from the worker."""

    def __init__(self, child: subprocess.Popen[bytes], reader: Any, writer: Any) -> None:
        self._child = child
        self._reader = reader
        self._writer = writer
        self._is_ready = False

    @classmethod
    async def begun(cls, app_path: str) -> Process:
        ours, theirs = socket.socketpair()
        with theirs:
            child = _begin(app_path, theirs.fileno())
        reader, writer = await asyncio.open_connection(sock=ours, limit=LARGEST)
        return cls(child, reader, writer)

    async def ready(self) -> None:
        """Waits until the app is loaded there."""
        if not self._is_ready:
            await self._reader.readexactly(len(READY))
            self._is_ready = True

    async def ask(self, question: Any) -> Any:
        """Sends a job and waits for what came of it."""
        body = pack(question)
        self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
        await self._writer.drain()
        length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
        return unpack(await self._reader.readexactly(length))

    def lives(self) -> bool:
        return self._child.poll() is None

    async def obituary(self) -> str:
        """How the process died."""
        code = await asyncio.to_thread(self._child.wait)
        self._writer.close()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the process that ran it ended {how}"

    def kill(self) -> None:
        """Ends it, whatever it does."""
        self._writer.close()
        self._child.kill()
        self._child.wait()


def _begin(app_path: str, number: int) -> subprocess.Popen[bytes]:
    isolated_main = "headrace.worker.isolated_main"
    return subprocess.Popen(
        [sys.executable, "-m", isolated_main, app_path, str(number), str(os.getpid())],
        pass_fds=[number],
        stdin=subprocess.DEVNULL,
    )
