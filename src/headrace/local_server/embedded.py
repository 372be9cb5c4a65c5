"""The embedded server: a Valkey server with its data in a directory.

The server keeps running when the process that started it ends. The process that starts the server
locks a file, server.lock, and the server inherits the locked file. The kernel releases the lock
when the server ends, even if the server is killed. So a free lock means that no server runs. Unlike
a pid file, the lock cannot be stale.
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
from headrace.local_server.private_directory import NAME, check_owner, make_private

LOCK = "server.lock"
REPLY_TIMEOUT = 10.0
POLL = 0.01

OPTIONS = (
    *("--port", "0"),
    *("--unixsocket", server_process.SOCKET),
    *("--unixsocketperm", "700"),
    *("--daemonize", "yes"),
    # By default, all servers that root starts would share one pid file in /var/run.
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


def start(directory: Path | str = NAME) -> str:
    """Return the URL of the server in `directory`; start the server if none runs.

    Raises EmbeddedServerError if the server does not start.
    """
    home = Path(directory).resolve()
    try:
        make_private(home)
        return _start(home)
    except FileExistsError as error:
        raise EmbeddedServerError(
            f"cannot start a server in {home}: it is a file, not a directory"
        ) from error
    except OSError as error:
        raise EmbeddedServerError(f"cannot start a server in {home}: {error.strerror}") from error


def stop(directory: Path | str = NAME) -> bool:
    """Save the data and shut down the server in `directory`; return False if no server ran."""
    home = Path(directory).resolve()
    check_owner(home)
    try:
        return _stop(home) or _kill_orphans(home)
    except OSError as error:
        raise EmbeddedServerError(f"cannot stop a server in {home}: {error.strerror}") from error


def status(directory: Path | str = NAME) -> Status | None:
    """Return the server that runs in `directory`, or None.

    Raises EmbeddedServerError if another user owns the directory or may write to it.
    """
    home = Path(directory).resolve()
    check_owner(home)
    socket = server_process.reachable_socket(home)
    try:
        pid = re.search(r"process_id:(\d+)", server_process.ask(socket, "INFO", "server"))
    except OSError:
        return None
    return Status(int(pid[1]), server_process.url_of(socket), home) if pid else None


def _start(home: Path) -> str:
    socket = server_process.reachable_socket(home)
    log = home / server_process.LOG
    log_begins = log.stat().st_size if log.exists() else 0
    launched = False
    deadline = time.monotonic() + REPLY_TIMEOUT
    while time.monotonic() < deadline:
        reply = server_process.ping(socket)
        if server_process.is_loading(reply):
            # Loading the data may take a long time, so keep waiting while the server replies.
            deadline = time.monotonic() + REPLY_TIMEOUT
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
    raise EmbeddedServerError(_start_error(home, log_begins, launched=launched))


def _start_error(home: Path, log_begins: int, *, launched: bool) -> str:
    if not launched:
        socket = home / server_process.SOCKET
        return f"a process holds {home / LOCK}, but no server replies on {socket}; end that process"
    log = server_process.tail(home / server_process.LOG, log_begins)
    return f"the server in {home} did not start; the end of its log:\n{log}"


def _launch(home: Path, lock: IO[bytes]) -> None:
    _kill_orphans(home)
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
            # The directory may be readable to other users, but its data must not be.
            umask=0o077,
        )
    except OSError as error:
        raise EmbeddedServerError(
            f"cannot run {command[0]} ({error.strerror}); "
            "start a Redis or Valkey server and pass its URL"
        ) from error
    if done.returncode:
        output = done.stdout.decode(errors="replace").strip()
        raise EmbeddedServerError(f"the server in {home} did not start: {output}")


def _stop(home: Path) -> bool:
    if not (home / LOCK).exists():
        return False
    socket = server_process.reachable_socket(home)
    reply = None
    deadline = time.monotonic() + REPLY_TIMEOUT
    while time.monotonic() < deadline:
        with _lock(home) as lock:
            if lock:
                if socket.parent != home:
                    socket.parent.unlink(missing_ok=True)
                return reply is not None
        with suppress(FileNotFoundError, ConnectionRefusedError):
            reply = _send_shutdown(socket)
        time.sleep(POLL)
    raise EmbeddedServerError(
        f"the server in {home} did not stop within {REPLY_TIMEOUT:.0f} s: {reply or 'no reply'}"
    )


def _send_shutdown(socket: Path) -> str:
    try:
        return server_process.ask(socket, "SHUTDOWN")
    except (TimeoutError, ConnectionResetError):
        return ""


def _kill_orphans(home: Path) -> bool:
    """Kill servers whose directory was deleted; their data is already lost.

    Such a server can be found only through /proc, so this function works only on Linux.
    """
    found = False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            directory = (process / "cwd").readlink()
            name = (process / "comm").read_text().strip()
            if (directory, name) == (Path(f"{home} (deleted)"), "valkey-server"):
                os.kill(int(process.name), signal.SIGKILL)
                found = True
    return found


_locks: set[IO[bytes]] = set()


def _drop_locks() -> None:
    for file in _locks:
        file.close()
    _locks.clear()


# If another thread forks, the child inherits the open lock file. The child closes the file, because
# otherwise the lock would remain after the server ends.
os.register_at_fork(after_in_child=_drop_locks)


@contextmanager
def _lock(home: Path) -> Iterator[IO[bytes] | None]:
    """Yield the lock of `home`, or None if another process holds the lock.

    A running server holds the lock. A process that starts a server also holds the lock.
    """
    with (home / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        _locks.add(file)
        try:
            yield file
        finally:
            _locks.discard(file)
