"""A server that persists its data, so that a test can kill and restart it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from headrace.local_server import server_process
from headrace.local_server.scratch import running_server, scratch_directory
from tests.support.processes import gone
from tests.support.servers import until

KEEPS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")


class Restartable:
    """A server that persists its data, and can be killed and started again."""

    def __init__(self, home: Path, servers: ExitStack) -> None:
        self.path = home / server_process.SOCKET
        self.url = server_process.url_of(self.path)
        self._home = home
        self._servers = servers

    def start(self, *options: str) -> None:
        command = [
            str(server_process.binary()),
            "--port",
            "0",
            "--unixsocket",
            server_process.SOCKET,
            *KEEPS,
        ]
        self._servers.enter_context(running_server(self._home, [*command, *options], self.path))

    def kill(self) -> Callable[[], None]:
        """Kill the server; return a function that starts it again."""
        pid = self._pid()
        os.kill(pid, signal.SIGKILL)
        until(lambda: gone(pid), "the server is dead")
        self.path.unlink()
        return self.start

    def stop(self) -> Callable[[], None]:
        """Stop the server process without ending it; return a function that continues it."""
        pid = self._pid()
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    def _pid(self) -> int:
        with redis.Redis.from_url(self.url) as server:
            return int(server.info("server")["process_id"])


@contextmanager
def restartable() -> Iterator[Restartable]:
    """Open a running server."""
    with scratch_directory() as home, ExitStack() as servers:
        server = Restartable(home, servers)
        server.start()
        yield server


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Run an action in another thread while the block runs."""
    thread = threading.Thread(target=action)
    thread.start()
    try:
        yield
    finally:
        thread.join()
