"""Run each isolated task in its own process, so that a crash or a kill affects no other job.

Each isolated process runs `python -m headrace.worker.isolation`. This program reads a job from a
socket, runs the job, sends back the outcome and waits for the next job.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
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

from headrace.app.app import App
from headrace.app.context import Context, enter
from headrace.app.tracing_hooks import RunSpan
from headrace.engine.record import decode_record
from headrace.operations.popping import Popped
from headrace.worker.settings import load_app
from headrace.worker.task_call import (
    Crashed,
    Done,
    Failed,
    Outcome,
    Run,
    Snoozed,
    outcome_of_call,
    read_call,
)

pack = msgspec.msgpack.encode
unpack = msgspec.msgpack.decode
Popen = subprocess.Popen[Any]

LENGTH_BYTES = 4
LARGEST_MESSAGE = 1 << 30
READY = b"!"
DEATH_POLL_SECONDS = 0.2
PR_SET_PDEATHSIG = 1
OUTCOMES: dict[str, type[Outcome]] = {kind.__name__: kind for kind in (Done, Failed, Snoozed)}


class IsolatedProcesses:
    """Runs jobs in processes, one job per process at a time, and reuses idle processes."""

    def __init__(self, app_path: str, most: int) -> None:
        self._app_path = app_path
        self._idle: deque[IsolatedProcess] = deque()
        self._free = asyncio.Semaphore(most)
        # Loading an app takes CPU time, so starting more processes than cores at once would delay
        # all of these processes.
        self._starting = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(
        self, popped: Popped, span: RunSpan | None, on_start: Callable[[], None]
    ) -> Outcome:
        """Run a job and return its outcome; raises Crashed if the process died.

        Cancelling this coroutine kills the process.
        """
        async with self._free:
            process = await self._take_process()
            try:
                await process.wait_until_ready()
                on_start()
                trace = None if span is None else span.carrier()
                kind, values = await process.ask([popped.id, popped.packed, popped.payload, trace])
            except (asyncio.IncompleteReadError, ConnectionError):
                raise Crashed(await process.cause_of_death()) from None
            except BaseException:
                process.kill()
                raise
            self._idle.append(process)
            return OUTCOMES[kind](*values)

    async def _take_process(self) -> IsolatedProcess:
        if process := self._take_idle():
            return process
        async with self._starting:
            # A process may have become idle while this call waited for the semaphore.
            if process := self._take_idle():
                return process
            process = await IsolatedProcess.start(self._app_path)
            try:
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    await process.wait_until_ready()
            except BaseException:
                process.kill()
                raise
            return process

    def _take_idle(self) -> IsolatedProcess | None:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive():
                return process
            process.kill()
        return None

    def close(self) -> None:
        """Kill the idle processes."""
        while self._idle:
            self._idle.pop().kill()


class IsolatedProcess:
    """The worker's handle for one isolated process."""

    def __init__(self, child: Popen, sock: socket.socket, reader: Any, writer: Any) -> None:
        self._child = child
        self._sock = sock
        self._reader = reader
        self._writer = writer
        self._is_ready = False
        self._watch = DeathWatch(child, self._shut_down_socket)

    @classmethod
    async def start(cls, app_path: str) -> IsolatedProcess:
        """Start a process, but do not wait until the process has loaded the app."""
        ours, theirs = socket.socketpair()
        with theirs:
            child = _start_program(app_path, theirs.fileno())
        try:
            reader, writer = await asyncio.open_connection(sock=ours, limit=LARGEST_MESSAGE)
        except BaseException:
            ours.close()
            _kill_group(child)
            raise
        return cls(child, ours, reader, writer)

    def _shut_down_socket(self) -> None:
        """End the connection of a dead process, because its children may hold the other end open.

        The worker can still read data that the process has sent.
        """
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    async def wait_until_ready(self) -> None:
        """Wait until the process has loaded the app."""
        if not self._is_ready:
            await self._reader.readexactly(len(READY))
            self._is_ready = True

    async def ask(self, question: Any) -> Any:
        """Send a job and return the reply."""
        body = pack(question)
        self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
        await self._writer.drain()
        length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
        return unpack(await self._reader.readexactly(length))

    def is_alive(self) -> bool:
        """Return whether the process is still running."""
        return not _is_dead(self._child)

    async def cause_of_death(self) -> str:
        """Wait until the process is dead, and describe how the process ended."""
        try:
            await asyncio.to_thread(_wait_for_death, self._child)
        finally:
            self.kill()
        code = self._child.returncode
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the isolated process that ran the job ended {how}"

    def kill(self) -> None:
        """Kill the process and all processes that it has started."""
        self._watch.close()
        self._writer.close()
        _kill_group(self._child)


class DeathWatch:
    """Calls a function once when a process dies."""

    def __init__(self, child: Popen, on_death: Callable[[], None]) -> None:
        self._child = child
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd = _open_pidfd(child)
        if self._pidfd is None:
            self._poll()
        else:
            self._loop.add_reader(self._pidfd, self._died)

    def _poll(self) -> None:
        if _is_dead(self._child):
            self._died()
        else:
            self._timer = self._loop.call_later(DEATH_POLL_SECONDS, self._poll)

    def _died(self) -> None:
        self.close()
        self._on_death()

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        pidfd, self._pidfd = self._pidfd, None
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)


def _open_pidfd(child: Popen) -> int | None:
    """Return a pidfd, which is readable once the process is dead; None if the OS has no pidfds."""
    try:
        return os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        return None


def _is_dead(child: Popen) -> bool:
    return child.returncode is not None or _wait_for_death(child, os.WNOHANG)


def _wait_for_death(child: Popen, flags: int = 0) -> bool:
    # The process stays unreaped (WNOWAIT), so that its pid is not reused before _kill_group.
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | flags) is not None
    except ChildProcessError:
        return True


def _kill_group(child: Popen) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _start_program(app_path: str, socket_number: int) -> Popen:
    program = [sys.executable, "-m", "headrace.worker.isolation"]
    return subprocess.Popen(
        [*program, app_path, str(socket_number), str(os.getpid())],
        pass_fds=[socket_number],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


# the program


def main() -> None:
    """Run jobs for the worker at the other end of a socket until the socket closes."""
    app_path, socket_number, worker_pid = sys.argv[1:]
    _die_with(int(worker_pid))
    # If a signal is sent to the whole process group, only the worker reacts to the signal. The
    # worker then closes the socket after the job has ended, and this process exits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)
    app = load_app(app_path)
    with socket.socket(fileno=int(socket_number)) as sock, sock.makefile("rwb") as stream:
        stream.write(READY)
        stream.flush()
        while head := stream.read(LENGTH_BYTES):
            job_id, packed, payload, trace = unpack(stream.read(int.from_bytes(head, "big")))
            popped = Popped(job_id, decode_record(packed), packed, payload)
            outcome = run_isolated(app, popped, trace)
            values = [_valid(getattr(outcome, name)) for name in outcome.__dataclass_fields__]
            body = pack((type(outcome).__name__, values))
            stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
            stream.flush()


def _valid(value: Any) -> Any:
    """Replace invalid Unicode in a string.

    The messages of users' exceptions may contain invalid Unicode.
    """
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _die_with(worker_pid: int) -> None:
    """Let the kernel kill this process if the worker dies.

    Another worker then runs the job, so this process must not go on running the job.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != worker_pid:
        sys.exit(1)


def run_isolated(app: App, popped: Popped, trace: dict[str, str] | None) -> Outcome:
    """Run a job in this process and return the outcome, for the worker to send to the server."""
    run = Run(popped, Context(app, popped))
    if trace is not None and app.telemetry is not None:
        run.context.span = app.telemetry.join_run(trace)
    try:
        call = read_call(app, run)
        enter(run.context)
        value: Any = call.task.function(**call.arguments)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
    except Exception as error:  # noqa: BLE001 - every error is the job's outcome
        return outcome_of_call(app, run, None, error)
    return outcome_of_call(app, run, value, None)


if __name__ == "__main__":
    main()
