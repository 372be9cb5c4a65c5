"""Jobs in processes of their own: what crashes, leaks or hangs there can be killed there."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from headrace.app.tracing import RunSpan
from headrace.operations.popping import Popped
from headrace.worker.run import Crashed, Done, Failed, Snoozed

pack = msgspec.msgpack.encode
unpack = msgspec.msgpack.decode
Child = subprocess.Popen[Any]

LENGTH_BYTES = 4
LARGEST = 1 << 30
READY = b"!"
LOOK_EVERY = 0.2
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
            try:
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    await process.ready()
            except BaseException:
                process.kill()
                raise
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

    def __init__(self, child: Child, line: socket.socket, reader: Any, writer: Any) -> None:
        self._child = child
        self._line = line
        self._reader = reader
        self._writer = writer
        self._is_ready = False
        self._watch = Watch(child, self._hang_up)

    @classmethod
    async def begun(cls, app_path: str) -> Process:
        ours, theirs = socket.socketpair()
        with theirs:
            child = _begin(app_path, theirs.fileno())
        try:
            reader, writer = await asyncio.open_connection(sock=ours, limit=LARGEST)
        except BaseException:
            ours.close()
            _kill_all(child)
            raise
        return cls(child, ours, reader, writer)

    def _hang_up(self) -> None:
        """Its children may hold the other end: what it has sent is still read, no more comes."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

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
        return not _is_dead(self._child)

    async def obituary(self) -> str:
        """How the process died."""
        try:
            await asyncio.to_thread(_wait_for_death, self._child)
        finally:
            self.kill()
        code = self._child.returncode
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the process that ran it ended {how}"

    def kill(self) -> None:
        """Ends it, whatever it does, and all it has begun."""
        self._watch.close()
        self._writer.close()
        _kill_all(self._child)


class Watch:
    """Tells of the death of a process, once."""

    def __init__(self, child: Child, tell: Callable[[], None]) -> None:
        self._child = child
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._number = _number_of(child)
        if self._number is None:
            self._look()
        else:
            self._loop.add_reader(self._number, self._died)

    def _look(self) -> None:
        if _is_dead(self._child):
            self._died()
        else:
            self._timer = self._loop.call_later(LOOK_EVERY, self._look)

    def _died(self) -> None:
        self.close()
        self._tell()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        number, self._number = self._number, None
        if number is not None:
            self._loop.remove_reader(number)
            os.close(number)


def _number_of(child: Child) -> int | None:
    """What becomes readable when it dies; None where the system has no such thing."""
    try:
        return os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        return None


def _is_dead(child: Child) -> bool:
    return child.returncode is not None or _wait_for_death(child, os.WNOHANG)


def _wait_for_death(child: Child, how: int = 0) -> bool:
    # It is left to be waited for: until then its number is nobody else's.
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | how) is not None
    except ChildProcessError:
        return True


def _kill_all(child: Child) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _begin(app_path: str, number: int) -> Child:
    isolated_main = "headrace.worker.isolated_main"
    return subprocess.Popen(
        [sys.executable, "-m", isolated_main, app_path, str(number), str(os.getpid())],
        pass_fds=[number],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
