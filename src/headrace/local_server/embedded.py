"""The embedded server: a Valkey that lives in a directory and outlives whoever started it.

The server inherits a locked file and so holds the lock until its last breath, however it dies.
Lock free means no server; there is no other record, and so none that could be stale.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from headrace.errors import EmbeddedServerError
from headrace.local_server import server_process

LOCK = "server.lock"
PATIENCE = 10.0
POLL = 0.01

OPTIONS = (
    *("--port", "0"),
    *("--unixsocket", server_process.SOCKET),
    *("--unixsocketperm", "700"),
    *("--daemonize", "yes"),
    # Unless told, a daemon run by root writes its pid under /var/run, for all servers the same.
    *("--pidfile", "server.pid"),
    *("--logfile", server_process.LOG),
    *("--appendonly", "yes"),
    *("--appendfsync", "everysec"),
    *("--save", ""),
    *("--maxmemory-policy", "noeviction"),
)


@dataclass(frozen=True, slots=True)
class Status:
    """A running embedded server."""

    pid: int
    url: str
    directory: Path


def start(directory: Path | str = ".headrace") -> str:
    """The URL of the server in `directory`, started first if none runs."""
    home = Path(directory).resolve()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _start(home)
    except FileExistsError as error:
        raise EmbeddedServerError(f"{home} is a file, not a directory") from error
    except OSError as error:
        raise EmbeddedServerError(f"cannot start a server in {home}: {error.strerror}") from error


def stop(directory: Path | str = ".headrace") -> bool:
    """Save and shut down the server in `directory`; False if none ran."""
    home = Path(directory).resolve()
    try:
        return _stop(home) or _end_orphans(home)
    except OSError as error:
        raise EmbeddedServerError(f"cannot stop a server in {home}: {error.strerror}") from error


def status(directory: Path | str = ".headrace") -> Status | None:
    """The server that runs in `directory`, if one does."""
    home = Path(directory).resolve()
    socket = server_process.reachable_socket(home)
    try:
        pid = re.search(r"process_id:(\d+)", server_process.ask(socket, "INFO", "server"))
    except OSError:
        return None
    return Status(int(pid[1]), server_process.url_of(socket), home) if pid else None


def _start(home: Path) -> str:
    socket = server_process.reachable_socket(home)
    log_begins = _size(home / server_process.LOG)
    launched = False
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        reply = server_process.ping(socket)
        if server_process.is_loading(reply):
            # It reads as long as it must: only silence is a reason to give up.
            deadline = time.monotonic() + PATIENCE
        elif reply:
            return server_process.url_of(socket)
        else:
            with _lock(home) as lock:
                if lock and launched:
                    break
                if lock:
                    _launch(home, lock)
                    launched = True
        time.sleep(POLL)
    raise EmbeddedServerError(_complaint(home, log_begins, launched=launched))


def _complaint(home: Path, log_begins: int, *, launched: bool) -> str:
    if not launched:
        socket = home / server_process.SOCKET
        return f"a process holds {home / LOCK}, but no server answers on {socket}"
    said = server_process.tail(home / server_process.LOG, log_begins)
    return f"the server in {home} did not come up; the end of its log:\n{said}"


def _launch(home: Path, lock: IO[bytes]) -> None:
    _end_orphans(home)
    command = [str(server_process.binary()), *OPTIONS]
    try:
        done = subprocess.run(
            command,
            cwd=home,
            env=server_process.environment(),
            pass_fds=[lock.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise EmbeddedServerError(
            f"{command[0]} does not run here ({error.strerror}); "
            "run Redis or Valkey and pass its URL"
        ) from error
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip()
        raise EmbeddedServerError(f"the server in {home} refused to start: {said}")


def _stop(home: Path) -> bool:
    if not (home / LOCK).exists():
        return False
    socket = server_process.reachable_socket(home)
    reply = None
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with _lock(home) as lock:
            if lock:
                if socket.parent != home:
                    socket.parent.unlink(missing_ok=True)
                return reply is not None
        with suppress(FileNotFoundError, ConnectionRefusedError):
            reply = _ask_to_end(socket)
        time.sleep(POLL)
    raise EmbeddedServerError(f"the server in {home} does not stop: {reply or 'no answer'}")


def _ask_to_end(socket: Path) -> str:
    try:
        return server_process.ask(socket, "SHUTDOWN")
    except (TimeoutError, ConnectionResetError):
        return ""


def _end_orphans(home: Path) -> bool:
    """End servers whose directory was deleted under them: what they know is lost already.

    Nothing but /proc leads to them any more. Elsewhere than on Linux they stay.
    """
    found = False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            place = (process / "cwd").readlink()
            name = (process / "comm").read_text().strip()
            if (place, name) == (Path(f"{home} (deleted)"), "valkey-server"):
                os.kill(int(process.name), signal.SIGKILL)
                found = True
    return found


_locks: set[IO[bytes]] = set()


def _drop_locks() -> None:
    for file in _locks:
        file.close()
    _locks.clear()


# A child forked by another thread would inherit the lock, and keep it after the server is dead.
os.register_at_fork(after_in_child=_drop_locks)


@contextmanager
def _lock(home: Path) -> Iterator[IO[bytes] | None]:
    """The lock of `home`; None while a server, or somebody about to start one, holds it."""
    with (home / LOCK).open("ab") as file:
        if not _is_locked_by_us(file):
            yield None
            return
        _locks.add(file)
        try:
            yield file
        finally:
            _locks.discard(file)


def _is_locked_by_us(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
