"""Throw-away servers: nothing is kept, and none outlives the process that wanted it."""

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

PATIENCE = 10.0
POLL = 0.005

FORGETFUL = (*("--save", ""), *("--appendonly", "no"))


@contextmanager
def private_server(*options: str, binary: Path | None = None) -> Iterator[str]:
    """The URL of a server of one's own, on a unix socket, without persistence."""
    with scratch_directory() as home:
        socket = server_process.reachable_socket(home)
        command = [
            str(binary or server_process.binary()),
            "--port",
            "0",
            "--unixsocket",
            server_process.SOCKET,
        ]
        with kept(home, [*command, *FORGETFUL, *options], socket):
            yield server_process.url_of(socket)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """An empty directory; what `kept` runs in it is removed together with it."""
    with tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as path:
        yield Path(path).resolve()


@contextmanager
def kept(home: Path, command: Sequence[str], address: server_process.Address) -> Iterator[None]:
    """Run a server in `home` until the block or this process ends; wait until it answers."""
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
        # A word, not only the closed pipe: a child forked meanwhile holds the pipe as well.
        process.communicate(b".")


def _wait_for(process: subprocess.Popen[bytes], address: server_process.Address, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        reply = server_process.ping(address)
        if reply and not server_process.is_loading(reply):
            return
        time.sleep(POLL)
    raise EmbeddedServerError(f"a private server did not come up:\n{server_process.tail(log)}")
