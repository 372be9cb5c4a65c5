"""Temporary servers without persistence. A server ends with the process that started it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import EmbeddedServerError
from headrace.local_server import keeper, server_process

START_TIMEOUT = 10.0
POLL = 0.005

OPTIONS = (*("--port", "0"), *("--unixsocket", server_process.SOCKET))
NO_PERSISTENCE = (*("--save", ""), *("--appendonly", "no"))


@contextmanager
def private_server(*options: str, binary: Path | None = None) -> Iterator[str]:
    """Run a temporary server on a unix socket and yield its URL.

    `options` are command-line options of the server. Raises EmbeddedServerError if the server does
    not start.
    """
    with scratch_directory() as home:
        socket = server_process.reachable_socket(home)
        program = str(binary or server_process.binary())
        with running_server(home, [program, *OPTIONS, *NO_PERSISTENCE, *options], socket):
            yield server_process.url_of(socket)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Yield an empty directory, in which `running_server` can run a server."""
    with tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as path:
        yield Path(path).resolve()


@contextmanager
def running_server(
    home: Path, command: Sequence[str], address: server_process.Address
) -> Iterator[None]:
    """Run a server in `home` until the `with` block or this process ends.

    The `with` block starts when the server replies.
    """
    log = home / server_process.LOG
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(home), *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=server_process.environment(),
            start_new_session=True,
        )
    try:
        _wait_for(process, address, log)
        yield
    finally:
        # Send a byte. Closing the pipe is not enough, because a forked child may have the pipe open
        # too.
        process.communicate(b".")


def _wait_for(process: subprocess.Popen[bytes], address: server_process.Address, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        reply = server_process.ping(address)
        if reply and not server_process.is_loading(reply):
            return
        time.sleep(POLL)
    raise EmbeddedServerError(
        f"a private server did not start; the end of its log:\n{server_process.tail(log)}"
    )
